"""Declared arguments of layers: attributes, docstrings, errors, and classes made from them."""

import inspect

import pytest

import daskvars as dv
from daskvars.layers.arguments import DeclaredLayer

DECLARED = [
    value
    for name in dv.layers.__all__
    if inspect.isclass(value := getattr(dv.layers, name)) and issubclass(value, DeclaredLayer)
]


def test_there_are_declared_layers():
    assert {dv.layers.Dense, dv.layers.Conv2D, dv.layers.BatchNormalization} <= set(DECLARED)


@pytest.mark.parametrize("layer_class", DECLARED)
def test_the_docstring_of_the_class_says_what_each_argument_is(layer_class):
    declared = next(c for c in layer_class.__mro__ if "__init__" in vars(c))
    for name in list(inspect.signature(layer_class).parameters)[:-1]:  # not **kwargs
        assert f"\n  {name}: " in declared.__doc__


@pytest.mark.parametrize("layer_class", DECLARED)
def test_arguments_are_attributes(layer_class):
    parameters = list(inspect.signature(layer_class).parameters.values())
    given = {p.name: 2 for p in parameters if p.default is p.empty and p.kind is not p.VAR_KEYWORD}
    layer = layer_class(**given)
    for parameter in parameters[:-1]:
        assert hasattr(layer, parameter.name)


def test_a_wrong_argument_is_a_type_error():
    with pytest.raises(TypeError, match=r"Dense\(\) missing a required argument: 'units'"):
        dv.layers.Dense()
    with pytest.raises(TypeError, match=r"unit.*of Dense"):
        dv.layers.Dense(2, unit=3)


def test_a_class_of_ones_own_calls_the_constructor():
    class Twice(dv.layers.Dense):
        def __init__(self, size):
            super().__init__(2 * size, "relu", name="twice")

    layer = Twice(3)
    assert (layer.units, layer.use_bias) == (6, True)
    assert layer(dv.ones([1, 2])).shape.as_list() == [1, 6]
