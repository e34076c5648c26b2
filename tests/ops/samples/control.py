"""Samples of control flow: effects, branches, loops, Python calls."""

import numpy

import daskvars as dv
from daskvars.graph.interpreter import apply, apply_op
from daskvars.ops.control import (
    cond as branching,
    dependencies as control,
    subgraphs as bodies,
    while_loop as looping,
)
from daskvars.ops.nn import weighting
from daskvars.ops.state import assign
from tests.ops.sample import Sample

X = numpy.array([[0.5, -1.0], [2.0, 0.25], [1.5, 3.0]])


def double(x):
    return x * 2


def printed(x):
    with dv.control_dependencies([dv.print("x:", {"x": x, "shape": [dv.shape(x)]})]):
        return dv.identity(x)


def asserted(x):
    with dv.control_dependencies([control.Assert(dv.reduce_all(x < 10.0), [x])]):
        return dv.identity(x)


def weighed(x):
    w = dv.reshape(dv.shape(x), [-1])
    check = apply_op(weighting.ASSERT_BROADCASTABLE, weights_shape=w, values_shape=w)
    with dv.control_dependencies([check]):
        return dv.identity(x)


def after_nothing(x):
    with dv.control_dependencies([apply_op(control.NO_OP)]):
        return dv.identity(x)


def branch(x):
    y = dv.reduce_sum(x)
    return branching.cond(y > 100.0, lambda: x * y, lambda: dv.square(x) * y)


def one_side(x):
    small = branching.one_side(x, dv.reduce_sum(dv.abs(x)) < 100.0, True)
    return dv.square(small) + small


def power(x):
    steps = dv.constant(0)
    return looping.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x + 1.0), (steps, x))[1]


@dv.custom_gradient
def cubed(x):
    return (x * x * x, x + 1.0), lambda dy, dz: 3.0 * dv.conj(x * x) * dy + dz


SAMPLES = [
    Sample("CustomGradient", lambda x: list(cubed(x)), (X,), (0,)),
    Sample("NoOp", after_nothing, (X,)),
    Sample("Assert", asserted, (X,)),
    Sample("PrintV2", printed, (X,)),
    Sample("AssertBroadcastable", weighed, (X,)),
    Sample("Print", lambda x: control.Print(x, [dv.shape(x)], "shape "), (X,), (0,)),
    Sample("PrintFirst", lambda x: control.Print(x, [dv.shape(x)], first_n=1), (X,), (0,)),
    Sample("Timestamp", lambda x: x + dv.cast(dv.timestamp() < 1e9, x.dtype), (X,), (0,)),
    Sample("RunNumber", lambda x: x + dv.cast(apply(control.RUN_NUMBER), x.dtype), (X,)),
    Sample("SwitchSide", one_side, (X,), (0,)),
    Sample("CheckNumerics", lambda x: control.check_numerics(x, "x"), (X,), (0,)),
    Sample("PyFunc", lambda x: control.py_func(double, [x], dv.float64), (X,), complex=False),
    Sample(
        "PyFuncStateless",
        lambda x: control.py_func(double, [x], dv.float64, False),
        (X,),
        complex=False,
    ),
    Sample("If", branch, (X,), (0,)),
    Sample("ReadPassedIn", lambda x: assign.value_passed_in(x) * x, (X,), (0,)),
    Sample("KeptRead", lambda x: apply(bodies.KEPT_READ, dv.stop_gradient(x), x), (X,), (0,)),
    Sample("While", power, (X,), (0,)),
]
