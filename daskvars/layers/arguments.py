"""What layers with weights are given: the arguments of their constructors, declared once.

A class lists the arguments that it takes; each becomes an attribute of that name, and the class's
docstring says what it is.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from daskvars.layers.layer import Layer
from daskvars.surface.signatures import Argument, Family
from daskvars.variables.initializers import Ones, Zeros

_Class = TypeVar("_Class", bound="type[Layer]")
ZEROS, ONES = Zeros(), Ones()
FUNCTION_OR_NONE = "Callable[[Any], Any] | None"


def _default(initializer: Any) -> str:
    return f", by default {type(initializer).__name__.lower()}"


def _weight(name: str, initializer: Any, otherwise: str = "") -> dict[str, Argument]:
    """Return the arguments that every weight has."""
    return {
        f"{name}_initializer": Argument(
            f"initializer of {name}, or the name of one{otherwise or _default(initializer)}.",
            initializer,
            "InitializerLike | str | None",
        ),
        f"{name}_regularizer": Argument(
            f"function of {name} that gives a loss, or its name.", None, f"{FUNCTION_OR_NONE} | str"
        ),
        f"{name}_constraint": Argument(
            f"function that projects {name} after an update, or its name.",
            None,
            f"{FUNCTION_OR_NONE} | str",
        ),
    }


SCOPES = "; None takes the scope's, else Glorot's"
ARGUMENTS = Family(
    {
        "units": Argument("size of the last axis of the output.", type="int"),
        "filters": Argument("number of channels of the output.", type="int"),
        "kernel_size": Argument(
            "size of the window, an int or one for each dimension of space.", type="PerAxis"
        ),
        "pool_size": Argument(
            "size of the window, an int or one for each dimension of space.", type="PerAxis"
        ),
        "strides": Argument("distance between windows, likewise.", 1, "PerAxis"),
        "padding": Argument('"valid" or "same".', "valid", "str"),
        "data_format": Argument('"channels_last" or "channels_first".', "channels_last", "str"),
        "dilation_rate": Argument(
            "distance between the taps of a window, likewise; above 1 only for strides 1.",
            1,
            "PerAxis",
        ),
        "depth_multiplier": Argument(
            "number of channels that the first step makes of each.", 1, "int"
        ),
        "activation": Argument(
            "function of the output, or its name; None leaves it as it is.",
            None,
            "Activation | None",
        ),
        "use_bias": Argument("whether there is a bias.", True, "bool"),
        **_weight("kernel", None, SCOPES),
        **_weight("depthwise", None, SCOPES),
        **_weight("pointwise", None, SCOPES),
        **_weight("bias", ZEROS),
        **_weight("beta", ZEROS),
        **_weight("gamma", ONES),
        "activity_regularizer": Argument(
            "function of the output that gives a loss.", None, FUNCTION_OR_NONE
        ),
        "epsilon": Argument("added to the variance.", 1e-3, "float"),
        "center": Argument("whether there is a beta, a shift.", True, "bool"),
        "scale": Argument("whether there is a gamma, a factor.", True, "bool"),
        "axis": Argument("the axis of the channels, or a list of axes.", -1, "int | Sequence[int]"),
        "momentum": Argument(
            "how much of a moving average stays in one update.", 0.99, "TensorLike"
        ),
        "moving_mean_initializer": Argument(
            f"initializer of the moving mean{_default(ZEROS)}.", ZEROS, "InitializerLike"
        ),
        "moving_variance_initializer": Argument(
            f"initializer of the moving variance{_default(ONES)}.", ONES, "InitializerLike"
        ),
        "renorm": Argument(
            "whether a batch in training is corrected towards moving averages, as if normalized by "
            'them ("batch renormalization").',
            False,
            "bool",
        ),
        "renorm_clipping": Argument(
            'limits of the correction, a dict of "rmax", "rmin" and "dmax".',
            None,
            "Mapping[str, TensorLike] | None",
        ),
        "renorm_momentum": Argument(
            "how much of the averages of the correction stays in one update.", 0.99, "float"
        ),
        "fused": Argument(
            "images with channels in axis 1 or 3 take one op; False never does that. Its moving "
            "variance is without bias, divided by one less than the number of elements.",
            None,
            "bool | None",
        ),
        "virtual_batch_size": Argument(
            'normalize as if batches were of this size ("ghost batches").', None, "int | None"
        ),
        "adjustment": Argument(
            "function of the input's shape that gives a factor and a shift for the normalized "
            "input in training.",
            None,
            "Callable[[Tensor], tuple[Tensor, Tensor]] | None",
        ),
        "trainable": Argument("see `Layer`.", True, "bool"),
        "name": Argument("see `Layer`.", None, "str | None"),
    },
    result="None",
)


ACTIVATED = (
    "activation use_bias kernel_initializer bias_initializer kernel_regularizer bias_regularizer "
    "activity_regularizer kernel_constraint bias_constraint trainable name"
)


class DeclaredLayer(Layer):
    """A layer whose constructor has declared arguments, see `takes`; they are its attributes."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)

    def _prepare(self) -> None:
        """Check the arguments, which are set, and bring them to the form that the layer uses."""

    def _add_declared(self, name: str, shape: Any, dtype: Any = None, of: str = "") -> Any:
        """Add a weight as the arguments say that begin with its name, or with `of`."""
        initializer, regularizer, constraint = (
            getattr(self, f"{of or name}_{what}")
            for what in ("initializer", "regularizer", "constraint")
        )
        return self.add_weight(name, shape, dtype, initializer, regularizer, constraint=constraint)


# Arguments that are those of the constructor of `Layer`, and their names there.
OF_LAYERS = {n: n for n in ("trainable", "name", "dtype", "activity_regularizer")} | {
    "reuse": "_reuse"
}


def takes(order: str, family: Family = ARGUMENTS, prefix: str = "") -> Callable[[_Class], _Class]:
    """Give a class a constructor that takes the arguments named, in this order.

    What a class takes that is made from another one replaces what that one does. `prefix` stands
    before the names of the attributes.
    """
    declared = family.signature(None, order)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    rest = inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD, annotation="Any")
    signature = declared.replace(parameters=[own, *declared.parameters.values(), rest])

    def decorate(cls: _Class) -> _Class:
        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                bound = signature.bind(self, *args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{cls.__name__}() {error}") from None
            bound.apply_defaults()
            given = {name: bound.arguments[name] for name in declared.parameters}
            of_layers = {OF_LAYERS[n]: given.pop(n) for n in OF_LAYERS if n in given}
            Layer.__init__(self, **of_layers, **bound.arguments["kwargs"])
            for name, value in given.items():
                setattr(self, prefix + name, value)
            self._prepare()

        __init__.__qualname__ = f"{cls.__qualname__}.__init__"
        __init__.__signature__ = signature  # type: ignore[attr-defined]
        cls.__init__ = __init__  # type: ignore[method-assign]
        cls.__doc__ = family.documented(cls.__doc__, declared.parameters)
        return cls

    return decorate
