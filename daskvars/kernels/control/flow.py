"""Kernels of branches, loops, printing and calling Python.

A branch is a compiled region that takes all inputs of its operation: arguments, then the
variables that any branch uses, then random keys. It gives its results, then the new values of
the variables that any branch writes (`written` holds their positions among the inputs).
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any

import numpy

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import as_given, host_kernel
from daskvars.dtypes import DType, check_unmasked
from daskvars.errors import OpError, UnimplementedError, invalid, kind_of
from daskvars.kernels.control.printing import summarized
from daskvars.kernels.control.summed_products import SummedProducts
from daskvars.kernels.control.tensor_lists import History

in_python = ContextVar("in_python", default=False)  # whether a function that a run calls is here
TURN_BITS = 40  # from which on a random key has the turn of a loop; before is the number of the run


def cond(
    xp: ArrayModule, pred: Any, *args: Any, branches: Sequence[Callable], **notes: Any
) -> tuple:
    """Run ``branches[0]`` where `pred` is true, else ``branches[1]``."""
    return branches[0 if truth(pred) else 1](pred, *args)


def truth(pred: Any) -> bool:
    """Return whether a predicate is true. Raises InvalidArgumentError where it is no scalar."""
    if getattr(pred, "ndim", 0):
        raise invalid(f"the condition must be a scalar bool, but has shape {pred.shape}")
    return bool(pred)


def switch(xp: ArrayModule, data: Array, pred: Any, *, side: bool) -> Array:
    """Give `data` where `pred` is `side`.

    Raises:
      InvalidArgumentError: it is the other: nothing takes this way.
    """
    if truth(pred) is not side:
        raise invalid(
            f"Retval[0] does not have value: it is there only where the predicate is {side}, and "
            f"that is {not side}. Merge it with what is there otherwise, or use cond(...)"
        )
    return data


def while_loop(
    xp: ArrayModule,
    *args: Any,
    branches: Sequence[Callable],
    num_vars: int,
    maximum: int | None,
    written: Sequence[int],
    keyed: Sequence[int],
    used: Sequence[bool],
    kept: Sequence[int] = (),
    saved: int = 0,
    ranks: Sequence[int] = (),
    together: Callable | None = None,
) -> tuple:
    """Run ``branches[1]`` on the first `num_vars` inputs while ``branches[0]`` gives true.

    `together` makes the first turns, if they do not need one another, and says how many.

    Returns:
      The variables, the history (for each iteration their values before it, what it `kept` and
      `saved` for its gradient, where the history is used), and the new values of the state written.
    """
    test, body = branches
    values, end = list(args), num_vars + len(kept) + saved
    keys = [values[k] for k in keyed]
    history = History(ranks=ranks) if used[num_vars] else None
    iteration = 0 if together is None else together(values, history, test, maximum)
    for position, key in zip(keyed, keys, strict=True):
        values[position] = advanced(key, iteration)
    while (maximum is None or iteration < maximum) and truth(test(*values)[0]):
        results = body(*values)
        if history is not None:
            history.turns.append((*values[:num_vars], *results[num_vars:end]))
        values[:num_vars] = results[:num_vars]
        for position, new in zip(written, results[end:], strict=True):
            values[position] = new
        iteration += 1
        for position, key in zip(keyed, keys, strict=True):
            values[position] = advanced(key, iteration)
    if not iteration:  # a result is in memory of its own, as those of the body are
        values = [_own(xp, value) for value in values]
    return (*values[:num_vars], history, *(values[position] for position in written))


def advanced(key: tuple[int, int], iteration: int) -> tuple[int, int]:
    """Return the random key of one iteration of a loop."""
    return key[0], (key[1] + (iteration << TURN_BITS)) % (1 << 64)


def while_gradient(
    xp: ArrayModule,
    history: History,
    *args: Any,
    branches: Sequence[Callable],
    num_grads: int,
    num_sums: int,
    num_rows: int = 0,
    keyed: Sequence[int],
    products: Sequence[tuple[int, tuple[int, int]]] = (),
    together: Callable | None = None,
    **notes: Any,
) -> tuple:
    """Run the loop backward: ``branches[0]`` gives gradients of one iteration's inputs.

    `together` gives what it would, turn by turn, if turns do not need one another.

    Of sums that are `products` (which, and the axes that these are summed over) it gives, after all
    others, the factors; the next branches multiply them.

    `args` are the gradients of the loop's results (`num_grads`), zeros to sum the gradients of
    captured values into (`num_sums`), arrays without rows to put the rows of sparse gradients
    after (`num_rows`), the captured values, and random keys.
    """
    body, *multiply = branches
    last = num_grads + num_sums
    first = last + num_rows
    grads, sums = list(args[:num_grads]), list(args[num_grads:last])
    empty, rest = args[last:first], list(args[first:])
    rows = [[array] for array in empty]
    keys = [args[k - 1] for k in keyed]
    of_factors = {
        place: SummedProducts(xp, product, axes)
        for (place, axes), product in zip(products, multiply, strict=True)
    }
    others = [place for place in range(num_sums) if place not in of_factors]
    end = num_grads + len(others)
    own = False

    def turn(iteration: int) -> tuple:
        for position, key in zip(keyed, keys, strict=True):
            rest[position - first - 1] = advanced(key, iteration)
        return body(history.turns[iteration], *grads, *sums, *empty, *rest)

    backward = range(len(history.turns) - 1, -1, -1)
    for results in map(turn, backward) if together is None else together(history, args, turn):
        grads = list(results[:num_grads])
        for place, result in zip(others, results[num_grads:end], strict=True):
            total = sums[place]
            # From the second turn on a sum is in memory of its own.
            in_place = own and isinstance(total, xp.ndarray)
            sums[place] = xp.add(total, result, out=total) if in_place else total + result
        for parts, part in zip(rows, results[end:], strict=False):
            parts.append(part)
        factors = iter(results[end + num_rows :])
        for found in of_factors.values():
            found.add(next(factors), next(factors))
        own = True
    if not own:
        grads, sums = [[_own(xp, value) for value in found] for found in (grads, sums)]
    for place, found in of_factors.items():
        sums[place] = found.total(sums[place])
    return (*grads, *sums, *(xp.concatenate(parts) for parts in rows))


def _own(xp: ArrayModule, value: Array) -> Array:
    return value.copy() if isinstance(value, xp.ndarray) else value


def history_item(xp: ArrayModule, values: tuple, *, index: int) -> Array:
    """Give one loop variable's value before an iteration."""
    return values[index]


@host_kernel
def write(xp: ArrayModule, x: Array, *data: Any, message: str, summarize: int | None) -> Array:
    """Print `data` to standard error and give `x`."""
    text = "".join(summarized(data, summarize))
    print(f"{message}{text}", file=sys.stderr)
    return x


@host_kernel
def write_first(
    xp: ArrayModule,
    x: Array,
    number: Array,
    *data: Any,
    message: str,
    summarize: int | None,
    first_n: int,
) -> Array:
    """Do as `write` where the number of the run is less than `first_n`, and give `x`."""
    return write(xp, x, *data, message=message, summarize=summarize) if number < first_n else x


def run_number(xp: ArrayModule, key: tuple[int, int]) -> Array:
    """Give how often an operation ran before, a turn of a loop counting as a run."""
    turns, runs = divmod(key[1], 1 << TURN_BITS)
    return xp.asarray(turns + runs, "int64")


@host_kernel
def call_python(xp: ArrayModule, *args: Any, function: Callable, dtypes: Sequence[Any]) -> tuple:
    """Call a Python function on arrays; its results are converted to `dtypes`.

    A scalar is a NumPy scalar, or bytes, as in TensorFlow: programs have them as keys of dicts. The
    function may write into its arguments and keep them, and what it returns: they are copies.

    Raises:
      OpError: what the function raises, as the class that TensorFlow has for it.
    """
    context = copy_context()  # a copy, so that nothing which breaks this off leaves the mark
    context.run(in_python.set, True)
    try:
        results = context.run(function, *[as_given(_own(xp, value)) for value in args])
    except OpError:
        raise
    except Exception as error:
        trace = error.__traceback__ and error.__traceback__.tb_next  # from the function on
        lines = "".join(traceback.format_exception(type(error), error, trace))
        raise kind_of(error).saying(f"{type(error).__name__}: {error}\n{lines}") from error
    if results is None:
        results = ()
    elif not isinstance(results, list | tuple):
        results = (results,)
    if len(results) != len(dtypes):
        raise invalid(
            f"py_func returned {len(results)} values, but {len(dtypes)} were declared in Tout"
        )
    return tuple([_result(*pair) for pair in zip(results, dtypes, strict=True)])


@host_kernel
def begin_python(xp: ArrayModule, *args: Any, function: Callable, dtypes: Sequence[Any]) -> Future:
    """Begin what `call_python` does, in a thread of its own, on the arrays as they are now."""
    pool = ThreadPoolExecutor(1, thread_name_prefix="daskvars-python")
    call = partial(call_python, xp, *[_own(xp, value) for value in args])
    begun = pool.submit(copy_context().run, call, function=function, dtypes=dtypes)
    pool.shutdown(wait=False)  # its thread ends with the call
    return begun


@host_kernel
def finish_python(xp: ArrayModule, begun: Future, *others: Future) -> tuple:
    """Give the results of a call that was begun; if it fails, once `others` have ended."""
    try:
        return begun.result()
    except Exception:
        wait(others)
        raise


PYTHON_BESIDE = begin_python, finish_python


def _result(result: Any, dtype: DType) -> Array:
    """Return a result of a Python function as an array; text becomes bytes."""
    check_unmasked(result, "a result of py_func")
    array = numpy.asarray(result)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.kind == "V":
        raise UnimplementedError.saying(
            f"Unsupported numpy type {array.dtype}: py_func returned it"
        )
    if array.dtype.kind in "USO":
        items = [item.encode() if isinstance(item, str) else item for item in array.flat]
        other = next((type(item).__name__ for item in items if not isinstance(item, bytes)), None)
        if other is not None:
            raise UnimplementedError.saying(f"Unsupported object type {other}: py_func returned it")
        texts = numpy.empty(len(items), dtype=object)
        texts[:] = items
        array = texts.reshape(array.shape)
    if array.dtype != dtype.np:
        raise invalid(
            f"py_func returned a value of dtype {array.dtype}, but {dtype.name} was declared"
        )
    return array.copy() if array is result or array.base is not None else array
