"""Samples of the ops on variables: each assigns a variable first, then changes it."""

import numpy

import daskvars as dv
from daskvars.graph.interpreter import builder_for
from daskvars.ops.state import assign
from daskvars.ops.state.slice_assign import strided_slice_assign
from tests.ops.sample import Sample

X = numpy.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
ROWS = numpy.array([[10.0, 20.0], [30.0, 40.0]])
IDS = numpy.array([2, 0])
COORDINATES = numpy.array([[2, 1], [0, 0]])
NO_MASKS = dict.fromkeys(("begin_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0)


def then(change, name="v"):
    """Return a call that assigns its first input to a variable and then changes that."""

    def call(x, *args):
        shape = tuple(None if d is None else int(d) for d in x.shape.as_list())
        builder = builder_for(())
        handle = assign.variable_handle(builder, builder.claim(f"sample/{name}"), x.dtype, shape)
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
    *(
        Sample(
            f"Scatter{kind.capitalize()}",
            then(getattr(assign, f"scatter_{kind}")),
            (table, numpy.array(ids), numpy.ones((*numpy.shape(ids), *table.shape[1:]))),
            id=f"{table.ndim}d by {numpy.ndim(ids)}d",
        )
        for kind in ("update", "add", "max")
        for table in (X, X[:, 0])
        for ids in (2, [2], [[2], [0]], [[[2, 0]]])
    ),
    *(
        Sample(
            f"ScatterNd{kind.capitalize()}",
            then(getattr(dv, f"scatter_nd_{kind}")),
            (X, COORDINATES, numpy.array([10.0, 20.0])),
        )
        for kind in ("update", "add", "sub")
    ),
    Sample(
        "ScatterNdUpdate",
        then(dv.batch_scatter_update),
        (X, numpy.array([[1], [0], [1]]), numpy.array([[10.0], [20.0], [30.0]])),
        id="batch",
    ),
    Sample(
        "StridedSliceAssign",
        then(
            lambda v, value: strided_slice_assign(
                v, value, begin=(2, 0), end=(0, 1), strides=(-2, 1), end_mask=1, **NO_MASKS
            )
        ),
        (X, numpy.array([[10.0], [20.0]])),
    ),
]
