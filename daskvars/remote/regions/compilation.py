"""Region programs compiled into one Python function.

A `RegionProgram` is what travels to a worker and what is cached; `compiled` turns it, once per
process, into straight-line Python: one line per kernel call, locals for registers, dead registers
released by `del`. That costs about 0.1 us a call over the kernel itself, where an interpreting loop
costs 0.4-0.9 us. Only register numbers enter the source text (`daskvars.remote.regions.codegen`).

Ufuncs write into the memory of an argument that dies at that call (`AliasAnalysis.reusable`). A
chain of elementwise calls on large arrays runs tile by tile (`daskvars.remote.regions.chains`).

A worker's regions are compiled with a `Meter` (0.1 us more a call): Dask's dashboard shows what
the kernels took.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy

from daskvars.backend import FUSIBLE
from daskvars.device_array import as_input, choosing
from daskvars.errors import InvalidArgumentError, OpError, ResourceExhaustedError
from daskvars.remote.regions.aliasing import AliasAnalysis
from daskvars.remote.regions.chains import device_chains, tiling
from daskvars.remote.regions.chains.chain_groups import Group, groups, together
from daskvars.remote.regions.chains.recomputation import recomputed
from daskvars.remote.regions.codegen import defined, name, names, naming
from daskvars.remote.regions.pieces import InPieces
from daskvars.remote.regions.region_check import check_region
from daskvars.remote.regions.region_program import Call, RegionProgram, operand
from daskvars.remote.regions.result_check import checked
from daskvars.remote.regions.several import SeveralRegion
from daskvars.remote.regions.turns import APART, turns_apart
from daskvars.remote.tracing import Labels, Meter, layer_of, scope_of
from daskvars.shape_arithmetic import is_known


def ordered(xp: Any, value: Any) -> Any:
    """Return a result in C order: a sum's bits must not tell whether a block moved or was kept."""
    if isinstance(value, xp.ndarray) and not value.flags.c_contiguous:
        return xp.ascontiguousarray(value)
    return value


def separate(xp: Any, value: Any) -> Any:
    """Return an array as one of its own; what is no array is immutable, and stays as it is."""
    return xp.array(value, order="C") if hasattr(value, "dtype") else value


def fitting(xp: Any, out: Any, *others: Any) -> Any:
    """Return `out` if a ufunc's result on it and the `others` has its shape, else None."""
    if not isinstance(out, xp.ndarray):
        return None
    shape, rank = out.shape, out.ndim
    for other in others:
        if other.shape != shape and (other.size != 1 or other.ndim > rank):
            return None
    return out


def compiled(program: RegionProgram, xp: Any, meter: Meter | None = None) -> Callable[..., tuple]:
    """Return the function of a region for one array namespace, compiled on first use.

    Args:
      program: the region.
      xp: the array namespace.
      meter: is told what the kernels took, each time the function has returned.
    """
    key = (xp.__name__, meter)
    found = program.cache.get(key)
    if found is None:
        found = program.cache[key] = _compile(program, xp, meter)
    return found


def several(program: RegionProgram, meter: Meter | None = None) -> SeveralRegion:
    """Return a region as what is called for several elements at once."""
    return SeveralRegion(program, lambda call: kernel_of(call, numpy), meter)


def _compile(program: RegionProgram, xp: Any, meter: Meter | None) -> Callable[..., tuple]:
    check_region(program)
    source = _CodeWriter(program, xp, meter)
    filename = f"<region {program.label} {id(program):#x}>"
    function = defined("region", source.text(), source.scope, filename)
    lines, calls = source.lines, source.calls

    def region(*inputs: Any) -> tuple:
        try:
            return function(*inputs)
        except Exception as error:
            named = error_of_call(error, filename, lines, calls)
            if named is error:  # by the region of a body: an error must not be its own cause
                raise
            raise named from error

    return region


def error_of_call(
    error: Exception, filename: str, lines: dict[int, int], calls: Sequence[Call]
) -> Any:
    """Return the error of a kernel with the name of the operation whose call failed."""
    trace, index = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == filename:
            index = lines.get(trace.tb_lineno)
        trace = trace.tb_next
    op = calls[index].name if index is not None else "?"
    if isinstance(error, OpError):
        if "[op " in error.message:
            return error
        return type(error)(error.node_def, error.op or op, f"{error.message} [op {op!r}]")
    if isinstance(error, MemoryError):  # NumPy's and CuPy's say how many bytes, NumPy's of what
        return ResourceExhaustedError(
            None,
            op,
            f"{error or 'out of memory'} [op {op!r}]; cut what is so large in chunks, or "
            "use more workers, or ones with more memory",
        )
    return InvalidArgumentError(None, op, f"{type(error).__name__}: {error} [op {op!r}]")


class _CodeWriter:
    """Writes the Python text of a region."""

    def __init__(self, program: RegionProgram, xp: Any, meter: Meter | None) -> None:
        self.program = program
        self.xp = xp
        self.meter = meter
        # Threads share the chains; where kernels are timed, one by one.
        self.is_shared = xp is numpy and meter is None
        self.kernels: list[str] = []  # that are metered, and their operations
        self.operations: list[str] = []
        self.scope: dict[str, Any] = {
            "operand": operand,
            "ordered": partial(ordered, xp),
            "separate": partial(separate, xp),
            "fitting": partial(fitting, xp),
        }
        self.lines: dict[int, int] = {}  # line of the text -> index of the call
        self.body: list[str] = []
        self.calls = recomputed(program, self._chains)
        if self.is_shared:
            self.calls = together(program, self.calls, self._chains(self.calls))
        self.last_use = self._last_uses()
        self.memory = AliasAnalysis(self.calls)

    def _last_uses(self) -> dict[int, int]:
        last = dict.fromkeys(range(self.program.num_inputs), -1)
        for i, call in enumerate(self.calls):
            for register in (*call.args, call.block):
                last[register] = i
            for register in call.outs:  # what is written over is needed until then
                if register in self.program.into:
                    last[self.program.into[register]] = i
        for register in self.program.outputs:
            last[register] = len(self.calls)
        return last

    def text(self) -> list[str]:
        program = self.program
        for register, value in program.constants.items():
            self.scope[name(register)] = as_input(self.xp, value)
        if self.meter is not None:
            self.scope["now"] = time.perf_counter
            self.body += ["    times = [now()]", "    tick = times.append"]
        chains = self._chains(self.calls)
        found = (
            groups(program, self.calls, chains, self.memory.root)
            if self.is_shared
            else {start: Group(end, [self.calls[start:end]]) for start, end in chains.items()}
        )
        i = 0
        while i < len(self.calls):
            group = found.get(i)
            if group is None:
                self._call(i)
                i += 1
            else:
                self._group(i, group)
                i = group.end
        results = []
        for position, register in enumerate(program.outputs):
            copied = position in program.copied
            results.append(f"{'separate' if copied else 'ordered'}({name(register)})")
        returned = ", ".join(results) + ("," if results else "")
        if self.meter is not None:
            self.scope["meter"] = partial(self.meter, self._labels())
            self.body.append("    meter(times)")
        head = f"def region({names(range(program.num_inputs))}):"
        return [head, *self.body, f"    return ({returned})"]

    def _chains(self, calls: Sequence[Call]) -> dict[int, int]:
        """Return start -> end of each run of calls that are made as one."""
        if self.xp is numpy:
            return tiling.chains(calls, self.program.into)
        return device_chains.chains(calls, lambda call: is_fusible(call, self.xp))

    def _emit(self, text: str, index: int) -> None:
        self.body.append(f"    {text}")
        self.lines[len(self.body) + 1] = index

    def _emit_kernel(self, text: str, index: int, label: Any, num_calls: int = 1) -> None:
        self._emit(text, index)
        if self.meter is not None:
            kernel = label if isinstance(label, str) else getattr(label, "__name__", "kernel")
            calls = self.calls[index : index + num_calls]
            self.kernels.append(kernel)
            self.operations.append(", ".join(dict.fromkeys(call.name for call in calls)))
            self.body.append("    tick(now())")

    def _labels(self) -> Labels:
        layers = tuple(layer_of(scope_of(operation)) for operation in self.operations)
        facts = tuple({"kernel": kernel} for kernel in self.kernels)
        return Labels(tuple(self.kernels), tuple(self.operations), layers, facts)

    def _call(self, i: int) -> None:
        call = self.calls[i]
        first = len(call.args) - len(call.operands)  # of those that are attributes
        arguments = [*map(name, call.args[:first]), *map(self._operand, call.args[first:])]
        if call.block >= 0:
            arguments.append(f"**{name(call.block)}")
        target = self._target(i, call)
        if target is None:
            self._call_beside(i, call, arguments)
        else:
            self._call_in_place(i, call, arguments, target)
        dead = self._dead_after(i, call)
        if dead:
            self._emit(f"del {names(dead)}", i)

    def _target(self, i: int, call: Call) -> int | None:
        """Return the register that a call changes to its result, if it makes no new array."""
        if call.outs and call.outs[0] in self.program.into:
            return self.program.into[call.outs[0]]
        if call.in_place is None or not is_known(call.shapes[0]):
            return None
        return self.memory.reusable(call, call.args[:1], i, i + 1, self.last_use)

    def _call_beside(self, i: int, call: Call, arguments: list[str]) -> None:
        """Write the result into new memory, or into that of an argument that nobody reads later."""
        function = self._function(i, call)
        reused = self._reused(i, call)
        if reused is not None and is_known(call.shapes[0]):
            arguments.append(f"out={name(reused)}")
        elif reused is not None:
            others = [register for register in call.args if register != reused]
            arguments.append(f"out=fitting({names([reused, *others])})")
        targets = names(call.outs) or "_"
        comma = "," if call.multiple and len(call.outs) == 1 else ""
        text = f"{targets}{comma} = {function}({', '.join(arguments)})"
        self._emit_kernel(text, i, call.kernel)

    def _operand(self, register: int) -> str:
        """Return the text for an attribute in a register: a constant is converted once."""
        if register not in self.program.constants:
            return f"operand({name(register)})"
        self.scope[name(register, "a")] = operand(self.program.constants[register])
        return name(register, "a")

    def _call_in_place(self, i: int, call: Call, arguments: list[str], target: int) -> None:
        """Write the result into the memory of `target`; the result is that from then on."""
        out = call.outs[0]
        if call.in_place is not None:
            function = name(i, "k")
            kernel = partial(call.in_place, self.xp, **call.attrs)
            self.scope[function] = naming(kernel, call.operands) if call.operands else kernel
            self._emit_kernel(f"{function}({', '.join(arguments)})", i, call.in_place)
        else:
            text = f"{self._function(i, call)}({', '.join(arguments)}, out={name(target)})"
            self._emit_kernel(text, i, call.kernel)
        self._emit(f"{name(out)} = {name(target)}", i)

    def _dead_after(self, i: int, call: Call) -> list[int]:
        constants = self.program.constants
        registers = dict.fromkeys((*call.args, *call.outs))
        return [s for s in registers if self.last_use.get(s, -1) <= i and s not in constants]

    def _function(self, i: int, call: Call) -> str:
        """Bind the kernel under a name of its own and return that name."""
        function = name(i, "k")
        kernel = kernel_of(call, self.xp)
        if call.promised and not self.program.into:
            kernel = checked(kernel, call.promised, call.multiple, self.scope, function)
        self.scope[function] = kernel
        return function

    def _reused(self, i: int, call: Call) -> int | None:
        """Return the register whose memory a ufunc may write its result into, if any."""
        if not is_ufunc(call, self.xp) or call.block >= 0:
            return None
        return self.memory.reusable(call, call.args, i, i + 1, self.last_use)

    def _group(self, start: int, group: Group) -> None:
        end = group.end
        parts = [self._chain(part, start, group) for part in group.parts]
        chain = parts[0] if len(parts) == 1 else tiling.SideBySide(parts)
        function = name(start, "c")
        self.scope[function] = chain.function
        comma = "," if len(chain.outputs) == 1 else ""
        text = f"{names(chain.outputs)}{comma} = {function}({names(chain.inputs)})"
        self._emit_kernel(text, start, "elementwise", end - start)
        constants = self.program.constants
        inputs = dict.fromkeys(chain.inputs)
        dead = [s for s in inputs if self.last_use[s] < end and s not in constants]
        if dead:
            self._emit(f"del {names(dead)}", start)

    def _chain(self, calls: Sequence[Call], start: int, group: Group) -> Any:
        """Return the chain of one part of a group that begins at a call."""
        outputs = [c.outs[0] for c in calls if self.last_use.get(c.outs[0], -1) >= group.end]
        if self.xp is not numpy:
            return device_chains.DeviceChain(self.xp, calls, outputs)
        into = dict(self.program.into)
        made = {call.outs[0] for call in calls}
        others = {r for part in group.parts if part is not calls for c in part for r in c.args}
        read = {  # in order, when last
            register: number
            for number, call in enumerate(calls)
            for register in call.args
            if register not in made and register not in others
        }
        free = dict.fromkeys(read)
        for number, call in enumerate(calls):
            out = call.outs[0]
            if out in outputs and out not in into and call.elementwise:
                # What is read later would have to be copied over at the end of a tile.
                done = [register for register in free if read[register] <= number]
                reused = self.memory.reusable(call, done, start, group.end, self.last_use)
                if reused is not None:
                    into[out] = reused
                    del free[reused]
        return tiling.Chain(calls, outputs, into)


def kernel_of(call: Call, xp: Any) -> Callable[..., Any]:
    """Return the function that a call is of, with its attributes."""
    bound = _bound(call, xp)
    if call.pieces is not None and xp is numpy:
        takes_out = "out" in (getattr(call.kernel, "__kwdefaults__", None) or ())
        bound = InPieces(bound, call.pieces, takes_out=takes_out)
    if xp is not numpy and not call.attrs.keys() & {"branches", "variants"}:
        bound = choosing(xp, bound, _bound(call, numpy))
    return naming(bound, call.operands) if call.operands else bound


def _bound(call: Call, xp: Any) -> Callable[..., Any]:
    if isinstance(call.kernel, str):
        function = getattr(xp, call.kernel)
        if _gives_objects(call):
            function = partial(_as_array, function)
        return partial(function, **call.attrs) if call.attrs else function
    variants = call.attrs.get("variants")
    if variants is None:
        function = _with_branches(call.kernel, xp, call.attrs)
        if xp is not numpy and is_made_of_ufuncs(call):
            return xp.fuse(kernel_name=f"daskvars_{call.kernel.__name__}")(function)
        return function
    kernels = [_with_branches(call.kernel, xp, attrs) for attrs in variants]
    return lambda *args, variant: kernels[variant](*args)


def _gives_objects(call: Call) -> bool:
    return any(dtype is not None and numpy.dtype(dtype).hasobject for dtype in call.dtypes)


def _as_array(function: Callable[..., Any], *args: Any, **attrs: Any) -> Any:
    """Return what a ufunc gives as an array: of objects without a dimension it is one of them."""
    return numpy.asarray(function(*args, **attrs), object)


def _with_branches(kernel: Callable[..., Any], xp: Any, attrs: dict[str, Any]) -> Any:
    """Return a kernel with its attributes, its branches compiled."""
    bound = {
        k: tuple(compiled(b, xp) for b in v) if k == "branches" else v for k, v in attrs.items()
    }
    if bound.pop(APART, False) and xp is numpy:
        bound["together"] = turns_apart(attrs, several)
    return partial(kernel, xp, **bound)


def is_ufunc(call: Call, xp: Any) -> bool:
    """Return whether a call is one ufunc without attributes: it takes ``out`` and can be tiled."""
    return (
        call.elementwise
        and isinstance(call.kernel, str)
        and not call.attrs
        and not _gives_objects(call)
        and isinstance(
            getattr(xp, call.kernel, None), (numpy.ufunc, getattr(xp, "ufunc", numpy.ufunc))
        )
    )


def is_fusible(call: Call, xp: Any) -> bool:
    """Return whether a call may be a part of one kernel of a GPU, with others of its shape."""
    plain = not call.operands and call.block < 0 and len(call.outs) == 1
    return plain and is_known(call.shapes[0]) and (is_ufunc(call, xp) or is_made_of_ufuncs(call))


def is_made_of_ufuncs(call: Call) -> bool:
    """Return whether a call is of a kernel that calls ufuncs alone, on dtypes of every GPU."""
    return (
        call.elementwise
        and not isinstance(call.kernel, str)
        and call.kernel in FUSIBLE
        and call.dtypes[0] is not None
        and call.dtypes[0].kind == "f"
    )
