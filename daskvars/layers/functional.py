"""The functional form of a layer: make it, call it once, forget it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.name_scope import entered_graph
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.layer import Layer
from daskvars.surface.signatures import arguments_of, binder, with_example


def applied(
    layer_class: type[Layer],
    inputs: TensorLike,
    name: str | None,
    reuse: Any,
    call: Mapping[str, Any] = MappingProxyType({}),
    **arguments: Any,
) -> Any:
    """Return the output of a new layer, of the dtype of `inputs`, in the scope `name`.

    With a name the variables are under just that name; a second layer of the name must be told to
    share them, by `reuse` or by the scope around it. `call` are arguments of its `call`, the rest
    those of its constructor.
    """
    with entered_graph(builder_for((inputs,))):
        if not hasattr(inputs, "dtype") or not hasattr(inputs, "get_shape"):
            inputs = convert_to_tensor(inputs)
        layer = layer_class(name=name, _scope=name, _reuse=reuse, **arguments)
        return layer(inputs, **call)


REUSED = "there are variables of that name, and `reuse` does not say to share them."
FORM = """
Args:
  inputs: the input of the layer, [...] floating.
  name: of the layer; its variable scope is called just so.
  reuse: True shares the variables of an earlier layer of that name.
"""


def _arguments_said(layer_class: type[Layer], signature: inspect.Signature) -> str:
    """Return lines that say of each argument what the class, its bases and its `call` say."""
    bases = [base for base in layer_class.__mro__ if issubclass(base, Layer)]
    docs = (layer_class.call.__doc__, *(base.__doc__ for base in reversed(bases)), FORM)
    said = {name: text for doc in docs for name, text in arguments_of(doc).items()}
    names_of: dict[str, list[str]] = {}
    for name in signature.parameters:
        names_of.setdefault(said[name], []).append(name)
    lines = [f"  {', '.join(names)}:{text.rstrip()}" for text, names in names_of.items()]
    return "\n".join(lines).replace("\n", "\n    ")


def functional(
    layer_class: type[Layer],
    name: str,
    has_variables: bool = True,
    order: str = "",
    example: str = "",
    **call: Any,
) -> Callable[..., Tensor]:
    """Return the functional form: a function of the inputs and the constructor's arguments.

    Args:
      layer_class: the class of the layer; its constructor takes a `name`.
      name: name of the function.
      has_variables: whether there is something to `reuse`.
      order: names of all arguments, where those of the constructor are not first.
      example: see `with_example`.
      call: arguments of the layer's `call` and their defaults.
    """
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    constructor = inspect.signature(layer_class.__init__).parameters.values()
    found = {"inputs": inspect.Parameter("inputs", plain, annotation="Any")}
    found |= {p.name: p for p in list(constructor)[1:] if p.kind is plain}
    found |= {
        key: inspect.Parameter(key, plain, default=value, annotation="Any")
        for key, value in call.items()
    }
    if has_variables:
        found["reuse"] = inspect.Parameter("reuse", plain, default=None, annotation="Any")
    signature = inspect.Signature(
        [found[key] for key in order.split() or found], return_annotation="Tensor"
    )

    bound = binder(name, signature)

    def function(*args: Any, **kwargs: Any) -> Any:
        arguments = bound(args, kwargs)
        scope, reuse = arguments.pop("name", None), arguments.pop("reuse", None)
        called = {key: arguments.pop(key) for key in call}
        return applied(layer_class, arguments.pop("inputs"), scope, reuse, called, **arguments)

    function.__name__ = function.__qualname__ = name
    function.__module__ = layer_class.__module__
    doc = f"""Return the output of a new `{layer_class.__name__}` layer for `inputs`.

    Args:
    {_arguments_said(layer_class, signature)}

    Returns:
      The output of the layer, of the dtype of `inputs`.

    Raises:
      ValueError: {REUSED if has_variables else "the arguments do not fit the shape of `inputs`."}
    """
    function.__doc__ = with_example(doc, example)
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function
