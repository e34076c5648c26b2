"""What slim's layers with weights are, declared once.

A layer of slim is a layer of the core whose variables have other names and are model variables, and
then a normalizer or a bias, an activation, and collections for variables and outputs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.layers.convolution.separable import SeparableConvolution
from daskvars.ops.nn.activation import relu
from daskvars.surface.signatures import Argument, Family
from daskvars.v1.contrib.arg_scopes import add_arg_scope
from daskvars.v1.contrib.networks.collected import (
    add_to_collections,
    collect_named_outputs,
    get_variable_collections,
)
from daskvars.v1.contrib.variables.model_variables import model_variable
from daskvars.variables.initializers import VarianceScaling, Zeros
from daskvars.variables.scopes.variable_scope import variable_scope

XAVIER, ZEROS = VarianceScaling(1.0, "fan_avg", "uniform"), Zeros()
FUNCTION = "Callable[..., Any] | None"
SHARED = {
    "activation_fn": Argument("function of the output; None leaves it as it is.", relu, FUNCTION),
    "normalizer_fn": Argument(
        "function that takes the place of the bias, as `batch_norm` does.", None, FUNCTION
    ),
    "normalizer_params": Argument("its other arguments, a dict.", None, "dict[str, Any] | None"),
    "weights_initializer": Argument("initializer of the weights.", XAVIER, "Any"),
    "weights_regularizer": Argument("function of the weights that gives a loss.", None, FUNCTION),
    "biases_initializer": Argument("initializer of the biases; None for no biases.", ZEROS, "Any"),
    "biases_regularizer": Argument("function of the biases that gives a loss.", None, FUNCTION),
    "reuse": Argument("whether its variables exist; needs a `scope`.", None, "Any"),
    "variables_collections": Argument(
        'collections for all variables, or a dict of them by kind, as "weights".', None, "Any"
    ),
    "outputs_collections": Argument("collections for the output.", None, "Any"),
    "trainable": Argument("whether its variables are trained.", True, "bool"),
    "scope": Argument(
        "name or `VariableScope` for its variables, by default {default!r} made unique.",
        None,
        "Any",
    ),
    "data_format": Argument('"NHWC" or "NCHW", or such of the rank.', None, "str | None"),
    "stride": Argument("distance between windows, one or one for each dimension.", 1, "Any"),
    "padding": Argument('"SAME" or "VALID".', "SAME", "str"),
    "rate": Argument("distance between the taps of a window, likewise.", 1, "Any"),
    "kernel_size": Argument("size of the window, one or one for each dimension.", type="Any"),
    "num_outputs": Argument("number of channels of the output.", type="int"),
    "inputs": Argument("[batch, ..., channels] floating."),
}
LAYERS = Family(
    SHARED,
    returns="[batch, ..., channels], of the inputs' dtype; with weights ``num_outputs`` channels.",
    result="Tensor",
)
WEIGHTED = (
    "activation_fn normalizer_fn normalizer_params weights_initializer weights_regularizer "
    "biases_initializer biases_regularizer reuse variables_collections outputs_collections "
    "trainable scope"
)
COMMON = "reuse variables_collections outputs_collections trainable"


def model_variable_getter(rename: Mapping[str, str]) -> Callable[..., Any]:
    """Return a custom getter whose variables are model variables, some under another name."""

    def getter(
        getter: Callable[..., Any],
        name: str,
        reuse: Any = None,
        validate_shape: bool = True,
        constraint: Any = None,
        chunks: Any = None,
        **arguments: Any,
    ) -> Any:
        before, slash, last = name.rpartition("/")
        rest = {"validate_shape": validate_shape, "constraint": constraint}
        if chunks is not None:
            rest["chunks"] = chunks
        named = f"{before}{slash}{rename.get(last, last)}"
        return model_variable(named, custom_getter=functools.partial(getter, **rest), **arguments)

    return getter


# Names of variables of the core's layers, and slim's.
NAMES = {
    "bias": "biases",
    "kernel": "weights",
    "depthwise_kernel": "depthwise_weights",
    "pointwise_kernel": "pointwise_weights",
}


def weighted(
    default: str,
    order: str,
    rename: Callable[[dict[str, Any]], Mapping[str, str]] = lambda _: NAMES,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a layer with weights of a function that gives the core's layer.

    Args:
      default: name of its scope.
      order: its arguments, those of `WEIGHTED` last.
      rename: function of all arguments that gives the names of variables of the core's layer, and
        what they are called.

    Returns:
      A decorator of a function of the layer's own arguments and the inputs as a tensor that gives
      the class of the core's layer and arguments for it.
    """

    def decorate(own: Callable[..., Any]) -> Callable[..., Any]:
        names = own.__code__.co_varnames[: own.__code__.co_argcount]

        def call(given: dict[str, Any]) -> Any:
            getter = model_variable_getter(rename(given))
            inputs = given["inputs"]
            with variable_scope(
                given["scope"], default, [inputs], reuse=given["reuse"], custom_getter=getter
            ) as scope:
                given["inputs"] = convert_to_tensor(inputs)
                layer_class, arguments = own(**{name: given[name] for name in names})
                layer = _made(layer_class, arguments, given, scope)
                outputs = layer(given["inputs"])
                _collect(layer, given["variables_collections"])
                if given["normalizer_fn"] is not None:
                    outputs = given["normalizer_fn"](outputs, **given["normalizer_params"] or {})
                return activated(outputs, given, scope)

        return add_arg_scope(LAYERS.member(own, call, _order(own, order), default=default))

    return decorate


def _order(own: Callable[..., Any], order: str) -> str:
    """Return the order with the defaults that all layers share, where the function has none."""
    mine = inspect.signature(own).parameters
    words = []
    for word in order.split():
        default = SHARED[word].default if word in SHARED else inspect.Parameter.empty
        is_shared = word in mine and mine[word].default is inspect.Parameter.empty
        is_shared = is_shared and default is not inspect.Parameter.empty
        words.append(f"{word}={default!r}" if is_shared else word)
    return " ".join(words)


def _made(layer_class: Any, arguments: dict[str, Any], given: dict[str, Any], scope: Any) -> Any:
    """Return the layer of the core, with the arguments that all have."""
    kernels: tuple[str, ...] = ("kernel",)
    if issubclass(layer_class, SeparableConvolution):
        kernels = ("depthwise", "pointwise")
    for kernel in kernels:
        arguments.setdefault(f"{kernel}_initializer", given["weights_initializer"])
        arguments.setdefault(f"{kernel}_regularizer", given["weights_regularizer"])
    return layer_class(
        **arguments,
        use_bias=not given["normalizer_fn"] and given["biases_initializer"] is not None,
        bias_initializer=given["biases_initializer"],
        bias_regularizer=given["biases_regularizer"],
        trainable=given["trainable"],
        name=scope.name,
        _scope=scope,
        _reuse=given["reuse"],
    )


def _collect(layer: Any, collections: Any) -> None:
    """Add the variables of a layer to the collections for their kinds."""
    for name in ("kernel", "depthwise_kernel", "pointwise_kernel"):
        if getattr(layer, name, None) is not None:
            add_to_collections(getattr(layer, name), collections, "weights")
    if layer.bias is not None:
        add_to_collections(layer.bias, collections, "biases")


def activated(outputs: Any, given: Mapping[str, Any], scope: Any) -> Any:
    """Return a layer's output after its activation, added to the collections for outputs."""
    if given["activation_fn"] is not None:
        outputs = given["activation_fn"](outputs)
    name = getattr(scope, "name", scope)
    return collect_named_outputs(given["outputs_collections"], name, outputs)


def own_variable(
    given: Mapping[str, Any],
    name: str,
    shape: Any,
    initializer: Any,
    dtype: Any,
    regularizer: Any = None,
    trainable: bool | None = None,
) -> Any:
    """Return a model variable of a layer that is not the core's, in its collections."""
    return model_variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        given["trainable"] if trainable is None else trainable,
        get_variable_collections(given["variables_collections"], name),
    )


def plain(default: str, order: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a layer without variables of a function of its own arguments and the inputs as a tensor.

    The function's operations are in a name scope, by default named `default`.
    """

    def decorate(own: Callable[..., Any]) -> Callable[..., Any]:
        names = own.__code__.co_varnames[: own.__code__.co_argcount]

        def call(given: dict[str, Any]) -> Any:
            first = names[0]
            with name_scope(given["scope"], default, [given[first]]) as scope:
                given[first] = convert_to_tensor(given[first])
                outputs = own(**{name: given[name] for name in names})
                return collect_named_outputs(given.get("outputs_collections"), scope, outputs)

        return add_arg_scope(LAYERS.member(own, call, _order(own, order), default=default))

    return decorate
