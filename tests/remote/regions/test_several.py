"""Regions called for several elements at once, and what their registers hold."""

import numpy as np
import pytest

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.array import movement, slicing
from daskvars.kernels.control import flow
from daskvars.kernels.nn import convolution
from daskvars.kernels.random.distributions import random_uniform
from daskvars.remote.regions.compilation import compiled, several
from daskvars.remote.regions.region_program import Call
from daskvars.remote.regions.several import Each, each_of
from daskvars.remote.regions.stacked_kernels import LEAST_STREAMS, Stacked, keys_of
from tests.remote.regions.programs import FLOAT, elementwise, region

COUNT = LEAST_STREAMS
ROWS = np.random.default_rng(1).random((COUNT, 6, 5), dtype=np.float32)


def call(kernel, args, out, operands=(), **attrs):
    return Call(kernel, tuple(args), (out,), attrs, tuple(operands))


def assert_as_each(program, inputs):
    """A region gives for several elements what it gives for each; return what registers hold."""
    found = several(program)(COUNT, inputs)
    rows = zip(*[each_of(value, COUNT) for value in inputs], strict=True)
    wanted = [compiled(program, np)(*row) for row in rows]
    for values, column in zip(found, zip(*wanted, strict=True), strict=True):
        for value, other in zip(each_of(values, COUNT), column, strict=True):
            np.testing.assert_array_equal(value, other, strict=True)
    return found


def test_a_kernel_with_a_rule_is_called_once_and_others_for_each():
    shapes = []

    def noted(xp, x):
        shapes.append(x.shape)
        return x[::-1]

    program = region(1, [elementwise(noted, [0], 1), call(noted, [1], 2)], [2])
    (found,) = several(program)(COUNT, [Stacked(ROWS)])
    assert shapes == [ROWS.shape, *[(6, 5)] * COUNT]
    np.testing.assert_array_equal(found.each(), ROWS[::-1, ::-1])


def test_a_kernel_of_a_user_is_called_for_each():
    """It may go by the rank that it was written for."""

    def by_rank(xp, x):
        return x * xp.arange(x.shape[0], dtype=x.dtype)[:, None]

    untrusted = elementwise(by_rank, [0], 1)._replace(trusted=False)
    assert_as_each(region(1, [untrusted], [1]), [Stacked(ROWS)])


def test_what_is_the_same_for_all_is_computed_once():
    doubled = elementwise("add", [1, 1], 2)
    program = region(2, [doubled, elementwise("multiply", [0, 2], 3)], [2, 3])
    same, differs = assert_as_each(program, [Stacked(ROWS), ROWS[0]])
    assert isinstance(same, np.ndarray)
    assert isinstance(differs, Stacked)


def test_ranks_are_those_of_elements():
    program = region(2, [elementwise("subtract", [0, 1], 2)], [2])
    assert_as_each(program, [Stacked(ROWS), Stacked(ROWS[:, 0])])
    assert_as_each(program, [Stacked(ROWS[:, 0, 0]), Stacked(ROWS)])


def test_attributes_may_differ_from_element_to_element():
    begin = np.stack([np.arange(COUNT) % 4, np.arange(COUNT) % 3], axis=1)
    cut = call(slicing.slice_array, [0, 1], 2, ["begin"], size=(2, 2))
    (found,) = assert_as_each(region(2, [cut], [2]), [Stacked(ROWS), Stacked(begin)])
    assert isinstance(found, Stacked)
    size = np.stack([np.arange(COUNT) % 3, np.arange(COUNT) % 2], axis=1)
    cut = call(slicing.slice_array, [0, 1], 2, ["size"], begin=(1, 1))
    program = region(2, [cut, elementwise("add", [2, 2], 3)], [3])
    (found,) = assert_as_each(program, [Stacked(ROWS), Stacked(size)])
    assert isinstance(found, Each)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_images_are_convolved_together_where_their_products_are_their_own(data_format):
    draw, size = np.random.default_rng(2), (2, 12, 11, 3)
    size = size if data_format == "NHWC" else (2, 3, 12, 11)
    images = draw.random((COUNT, *size), dtype=np.float32)
    filters = draw.random((COUNT, 3, 3, 3, 4), dtype=np.float32)
    attrs = {"strides": (1, 1, 1, 1), "padding": "SAME", "data_format": data_format}
    program = region(2, [call(convolution.conv2d, [0, 1], 2, **attrs)], [2])
    for given in ([images, filters], [images, filters[0]], [images[0], filters]):
        stacked = [Stacked(x) if len(x) == COUNT else x for x in given]
        (found,) = assert_as_each(program, stacked)
        assert isinstance(found, Stacked)
    (found,) = assert_as_each(program, [Stacked(images), filters[0, :1, :1]])
    assert isinstance(found, Each)


def test_random_numbers_are_of_each_element():
    draws = [
        call(random_uniform, [0], 2, shape=(), dtype="float32"),
        call(random_uniform, [1], 3, shape=(3,), dtype="int32", minval=0, maxval=9),
        call(random_uniform, [1], 4, shape=(30,), dtype="float64"),
        call(random_uniform, [1], 5, shape=(33,), dtype="float64"),
    ]
    keys = keys_of([5, 6], range(10, 10 + COUNT))
    *few, many = assert_as_each(region(2, draws, [2, 3, 4, 5]), keys)
    assert all(isinstance(found, Stacked) for found in few)
    assert isinstance(many, Each)


def branched(yes, no):
    """Return a region of a condition: it takes a predicate, an array and a random key."""
    return region(
        3, [Call(flow.cond, (0, 1, 2), (3,), {"branches": (yes, no)}, multiple=True)], [3]
    )


@pytest.mark.parametrize("wanted", ["some", "all", "none"])
def test_of_a_condition_each_branch_is_gone_through_for_the_elements_that_take_it(wanted):
    which = {"some": np.arange(COUNT) % 3 > 0, "all": np.ones(COUNT, bool)}
    given = [
        Stacked(which.get(wanted, np.zeros(COUNT, bool))),
        Stacked(ROWS),
        *keys_of([7], range(COUNT)),
    ]
    drawn = call(random_uniform, [2], 3, shape=(), dtype="float32")
    changed = region(3, [drawn, elementwise("multiply", [1, 3], 4)], [4])
    as_it_is = region(3, [], [1])
    inner = branched(changed, as_it_is)
    for branches in [
        (changed, as_it_is),
        (as_it_is, changed),
        (as_it_is, as_it_is),
        (inner, changed),
    ]:
        (found,) = assert_as_each(branched(*branches), given)
        assert as_array(found).shape == ROWS.shape


def as_array(value):
    return value.array[value.places] if hasattr(value, "places") else value.array


def test_an_error_of_one_element_is_one_of_all():
    def refusing(xp, x):
        if x[0, 0] == ROWS[5, 0, 0]:
            raise InvalidArgumentError(None, None, "not this one")
        return x

    with pytest.raises(InvalidArgumentError, match="not this one"):
        several(region(1, [call(refusing, [0], 1)], [1]))(COUNT, [Stacked(ROWS)])


def test_a_rule_that_breaks_a_promise_is_told():
    wrong = call("expand_dims", [0], 1, axis=0)._replace(promised=((FLOAT, (6, 5)),))
    with pytest.raises(InvalidArgumentError, match="its infer promised"):
        several(region(1, [wrong], [1]))(COUNT, [Stacked(ROWS)])


def test_how_large_an_element_is_becomes_known():
    tiled = several(region(1, [call(movement.tile, [0], 1, multiples=(2, 3))], [1]))
    tiled(COUNT, [Stacked(ROWS)])
    assert tiled.largest_bytes == 6 * ROWS[0].nbytes
