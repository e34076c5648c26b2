"""Samples of the ops on variables: each assigns a variable first, then changes it."""

import numpy

import daskvars as dv
from daskvars.ops import assign
from tests.ops.sample import Sample

X = numpy.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
ROWS = numpy.array([[10.0, 20.0], [30.0, 40.0]])
IDS = numpy.array([2, 0])


def then(change, name="v"):
    """Return a call that assigns its first input to a variable and then changes that."""

    def call(x, *args):
        shape = tuple(None if d is None else int(d) for d in x.shape.as_list())
        handle = assign.variable_handle(f"sample/{name}", x.dtype, shape)
        with dv.control_dependencies([assign.assign(handle, x)]):
            return change(handle, *args)

    return call


SAMPLES = [
    Sample("Assign", then(assign.assign), (X, X + 1.0)),
    Sample("ReadVariable", then(assign.read_variable), (X,)),
    Sample("AssignAdd", then(assign.assign_add), (X, X)),
    Sample("AssignSub", then(assign.assign_sub), (X, 2 * X)),
    Sample("IsVariableInitialized", then(assign.is_variable_initialized), (X,)),
    Sample("CountUpTo", then(lambda v: assign.count_up_to(v, 9)), (numpy.int64(3),)),
    *(
        Sample(
            f"Scatter{kind.capitalize()}", then(getattr(assign, f"scatter_{kind}")), (X, IDS, ROWS)
        )
        for kind in ("update", "add", "sub", "mul", "div", "min", "max")
    ),
]
