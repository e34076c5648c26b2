"""What a region that came as data may be, checked before anything is made of it."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy

from daskvars.errors import invalid
from daskvars.remote.regions.pieces import are_sound
from daskvars.remote.regions.region_program import Call, RegionProgram

MAX_INPUTS = 1 << 20


def check_region(program: RegionProgram) -> None:
    """Raise InvalidArgumentError, naming the field, unless a region can be compiled.

    Registers are integers, each made before it is used; keywords are names.
    """
    label = program.label
    if not isinstance(label, str) or "\0" in label:
        _refuse("?", "label", label)
    if not _is_register(program.num_inputs) or program.num_inputs > MAX_INPUTS:
        _refuse(label, "num_inputs", program.num_inputs)
    made = set(range(program.num_inputs))
    if not isinstance(program.constants, dict) or not all(map(_is_register, program.constants)):
        _refuse(label, "constants", program.constants)
    made.update(program.constants)
    if not isinstance(program.calls, tuple):
        _refuse(label, "calls", program.calls)
    for call in program.calls:
        _check_call(label, call, made)
    if not _are_registers(program.outputs, made):
        _refuse(label, "outputs", program.outputs)
    check_positions(program, "copied", program.copied)
    into = program.into
    if not isinstance(into, dict) or not _are_registers((*into, *into.values()), made):
        _refuse(label, "into", into)


def check_positions(program: RegionProgram, field: str, positions: Any) -> None:
    """Raise InvalidArgumentError, naming `field`, unless outputs have these positions."""
    if not _are_registers(positions, set(range(len(program.outputs)))):
        _refuse(program.label, field, positions)


def _check_call(label: str, call: Call, made: set[int]) -> None:
    if not hasattr(call, "_asdict"):
        _refuse(label, "calls", call)
    args, outs, operands = call.args, call.outs, call.operands
    if not isinstance(outs, tuple) or not all(map(_is_register, outs)):
        _refuse(f"{label}: {call.name!r}", "outs", outs)
    sound = {
        "kernel": callable(call.kernel)
        or (isinstance(call.kernel, str) and callable(getattr(numpy, call.kernel, None))),
        "args": _are_registers(args, made),
        "attrs": isinstance(call.attrs, dict) and all(map(_is_keyword, call.attrs)),
        "operands": isinstance(operands, tuple)
        and all(map(_is_keyword, operands))
        and isinstance(args, tuple)
        and len(operands) <= len(args),
        "block": call.block == -1 or _are_registers((call.block,), made),
        "name": isinstance(call.name, str),
        "views": isinstance(call.views, int) and call.views >= 0,
        "in_place": call.in_place is None or callable(call.in_place),
        "check": call.check is None or callable(call.check),
        "shapes": isinstance(call.shapes, tuple)
        and all(map(_is_shape, call.shapes))
        and (not call.elementwise or len(call.shapes) >= len(outs)),
        "dtypes": isinstance(call.dtypes, tuple)
        and all(map(_is_dtype, call.dtypes))
        and (not call.elementwise or len(call.dtypes) >= len(outs)),
        "pieces": call.pieces is None or are_sound(call.pieces, len(args)),
    }
    for field, is_sound in sound.items():
        if not is_sound:
            _refuse(f"{label}: {call.name!r}", field, getattr(call, field))
    made.update(outs)


def _is_register(value: Any) -> bool:
    return type(value) is int and value >= 0


def _are_registers(values: Any, made: set[int]) -> bool:
    return isinstance(values, tuple) and (
        not values or ({int}.issuperset(map(type, values)) and made.issuperset(values))
    )


def _is_keyword(value: Any) -> bool:
    return isinstance(value, str) and value.isidentifier()


def _is_dtype(value: Any) -> bool:
    return value is None or isinstance(value, numpy.dtype)


def _is_shape(value: Any) -> bool:
    return value is None or (
        isinstance(value, tuple) and all(n is None or (type(n) is int and n >= 0) for n in value)
    )


def _refuse(label: Any, field: str, found: Any) -> NoReturn:
    text = repr(found)
    raise invalid(f"region {label}: {field!r} is {text if len(text) <= 80 else text[:77] + '...'}")
