"""Samples of lists of tensors: each op between making a list and stacking it."""

import numpy

import daskvars as dv
from daskvars.graph.interpreter import apply
from daskvars.ops.control import tensor_lists as lists
from tests.ops.sample import Sample

X = numpy.array([[0.5, -1.0], [2.0, 0.25], [1.5, 3.0]])
Y = numpy.array([[1.0, 2.0], [-2.0, 0.5], [0.25, 4.0]])
ORDER = numpy.array([2, 0, 2], "int32")
PLACES = numpy.array([1, 2, 0], "int32")
LENGTHS = numpy.array([1, 2], "int32")


def array(x, size=3):
    return dv.TensorArray(x.dtype, size=size, clear_after_read=False, element_shape=x.shape[1:])


def written(x, y):
    return array(x).write(1, x[0]).write(0, x[1] * y[0]).write(2, x[2])


def split(x):
    return dv.TensorArray(x.dtype, size=2, infer_shape=False).split(x, LENGTHS)


def item(items, i):
    return items.read(i)


def once(x):
    """An array of rows of `x`, each of which may be read once."""
    return dv.TensorArray(x.dtype, size=3, element_shape=x.shape[1:]).unstack(x)


def read_and_written(x):
    items = dv.TensorArray(x.dtype, size=2, element_shape=x.shape[1:]).write(0, x[0])
    return items.read(0) * items.write(1, x[1]).read(1)


def slopes(x):
    slopes = array(x).unstack(x).grad("y")
    return slopes.write(1, x[0]).write(1, x[1] * x[0]).unstack(x)


def rows_like(x):
    return dv.cast(dv.constant(X), x.dtype)


def list_of(x, items):
    """The rows of a list of a gradient, of the shape of X and the dtype of `x`."""
    return apply(lists.ROWS_LIKE, items, rows_like(x))


SAMPLES = [
    Sample("ListReserve", lambda x: array(x).size() + dv.cast(dv.reduce_sum(x), dv.int32), (X,)),
    Sample("ListSize", lambda x: array(x).unstack(x).size(), (X,)),
    Sample("ListWrite", lambda x, y: written(x, y).stack(), (X, Y), (0, 1)),
    Sample("ListStack", lambda x, y: written(x, y).stack() * x, (X, Y), (0, 1), id="times"),
    Sample("ListRead", lambda x: item(array(x).unstack(x), 2) * x[0], (X,), (0,)),
    Sample("ListUnstack", lambda x: array(x).unstack(x).stack() * x, (X,), (0,)),
    Sample("ListGather", lambda x: array(x).unstack(x).gather(ORDER), (X,), (0,)),
    Sample("ListScatter", lambda x: array(x).scatter(PLACES, x).stack(), (X,), (0,)),
    Sample("ListZeros", lambda x: array(x).unstack(x).grad("y").write(1, x[0]).stack() + x, (X,)),
    Sample("ListSplit", lambda x: item(split(x), 1) * x[0], (X,), (0,)),
    Sample("ListConcat", lambda x: split(x * x).concat(), (X,), (0,)),
    # what changes in a run
    Sample("ListReadOnce", lambda x: item(once(x), 2) * x[0], (X,), (0,)),
    Sample("ListReadOnce", lambda x: once(x).stack() * x, (X,), (0,), id="all"),
    Sample("ListNotRead", read_and_written, (X,), (0,)),
    Sample("ListPresent", lambda x: slopes(x).gather(ORDER[:2]) * x[:2], (X,), (0,)),
    Sample("ListAggregate", lambda x: slopes(x).stack() * x, (X,), (0,)),
    # what gradients are made of
    Sample(
        "ListAdd",
        lambda x, y: list_of(
            x,
            lists.list_sum(
                [
                    apply(lists.LIST_OF_ROWS, x),
                    apply(lists.ONLY_ITEM, 1, y[0]),
                    apply(lists.ONLY_ITEM, 1, y[1]),
                ]
            ),
        ),
        (X, Y),
        (0, 1),
    ),
    Sample("ListOfItem", lambda x: list_of(x, apply(lists.ONLY_ITEM, 1, x[0])), (X,), (0,)),
    Sample("ListOfRows", lambda x: list_of(x, apply(lists.LIST_OF_ROWS, x)), (X,), (0,)),
    Sample("ListRowsLike", lambda x: list_of(x, apply(lists.ONLY_ITEM, 2, x[1])), (X,), (0,)),
    Sample(
        "ListItemLike",
        lambda x: apply(lists.ITEM_LIKE, apply(lists.LIST_OF_ROWS, x), 1, x[0]),
        (X,),
        (0,),
    ),
    Sample("ListOfPicked", lambda x: list_of(x, apply(lists.LIST_OF_PICKED, ORDER, x)), (X,), (0,)),
    Sample(
        "ListPickedLike",
        lambda x: apply(lists.PICKED_LIKE, apply(lists.LIST_OF_ROWS, x), ORDER, rows_like(x)),
        (X,),
        (0,),
    ),
    Sample(
        "ListJoinedLike",
        lambda x: apply(lists.JOINED_LIKE, apply(lists.ONLY_ITEM, 1, x[1:]), rows_like(x), LENGTHS),
        (X,),
    ),
    Sample(
        "ListOfJoined",
        lambda x: apply(lists.ITEM_LIKE, apply(lists.LIST_OF_JOINED, x, split(x).flow), 1, x[1:]),
        (X,),
    ),
]
