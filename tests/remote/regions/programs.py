"""Regions that tests make by hand, and what their calls give one after the other."""

from __future__ import annotations

from functools import partial

import numpy as np

from daskvars.kernels.array.movement import broadcast_to
from daskvars.remote.regions.region_program import Call, RegionProgram

FLOAT = np.dtype(np.float32)
SHAPE = (6, 5)


def elementwise(kernel, args, out, shape=SHAPE):
    return Call(kernel, tuple(args), (out,), {}, elementwise=True, shapes=(shape,), dtypes=(FLOAT,))


def barrier(xp, x):
    return x + xp.mean(x)


def between(arg, out, shape=SHAPE):
    """Return a call that ends a chain."""
    return Call(barrier, (arg,), (out,), {}, shapes=(shape,), dtypes=(FLOAT,))


def repeated(arg, out, shape=SHAPE):
    """Return a call that broadcasts."""
    attrs = {"shape": shape}
    return Call(broadcast_to, (arg,), (out,), attrs, shapes=(shape,), dtypes=(FLOAT,), fresh=True)


def region(num_inputs, calls, outputs, constants=None, input_shapes=None, into=None):
    shapes = input_shapes or (SHAPE,) * num_inputs
    return RegionProgram(
        "r", num_inputs, constants or {}, tuple(calls), tuple(outputs), (), shapes, into or {}
    )


def one_by_one(program, inputs):
    values = dict(enumerate(inputs)) | program.constants
    for call in program.calls:
        arguments = [values[register] for register in call.args]
        kernel = call.kernel
        found = getattr(np, kernel) if isinstance(kernel, str) else partial(kernel, np)
        values[call.outs[0]] = found(*arguments, **call.attrs)
    return [values[register] for register in program.outputs]
