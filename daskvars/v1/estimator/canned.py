"""Models that are there already: linear ones, networks of dense layers, both together, a bias."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.context import get_collection
from daskvars.graph.tensor import Tensor
from daskvars.layers.dense import dense
from daskvars.layers.dropout import dropout as dropped_out
from daskvars.layers.normalization.batch_normalization import batch_normalization
from daskvars.losses.reduction import Reduction
from daskvars.ops.array.constant import ones, shape as shape_of
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.control.dependencies import control_dependencies, group
from daskvars.ops.math.arithmetic import add_n
from daskvars.ops.math.counting import zero_fraction
from daskvars.ops.nn.activation import relu
from daskvars.ops.state.assign import assign_add
from daskvars.summary.summary_ops import histogram, scalar
from daskvars.surface.signatures import Argument, Family, binder, with_example
from daskvars.train.optimizers.adaptive import AdagradOptimizer, AdamOptimizer, RMSPropOptimizer
from daskvars.train.optimizers.optimizer import Optimizer
from daskvars.train.optimizers.sgd import GradientDescentOptimizer
from daskvars.train.training_step import get_global_step
from daskvars.v1.estimator.estimator import Estimator
from daskvars.v1.estimator.heads import BinaryClassHead, Head, MultiClassHead, RegressionHead
from daskvars.v1.estimator.specs import EstimatorSpec, ModeKeys
from daskvars.v1.feature_column.models import input_layer, linear_model
from daskvars.v1.optimizers.ftrl import FtrlOptimizer
from daskvars.v1.optimizers.sync_replicas import SyncReplicasOptimizer
from daskvars.variables.initializers import GlorotUniform, Zeros
from daskvars.variables.scopes.variable_scope import get_variable, variable_scope

# The rates that TensorFlow's models learn at where nobody says it.
BASELINE_RATE, DEEP_RATE, LINEAR_RATE = 0.3, 0.05, 0.2
DEEP_BESIDE_LINEAR_RATE, LINEAR_BESIDE_DEEP_RATE = 0.001, 0.005

_OPTIMIZER = (
    'an `Optimizer`, a function that makes one, or "Adagrad", "Adam", "Ftrl", "RMSProp" or "SGD" '
    "with TensorFlow's rate."
)
ARGUMENTS = Family(
    {
        "feature_columns": Argument("columns of `tf.feature_column`.", type="Any"),
        "hidden_units": Argument("how many units each hidden layer has.", type="Sequence[int]"),
        "linear_feature_columns": Argument("columns of the linear model.", None, "Any"),
        "linear_optimizer": Argument(
            "trains the linear model: see `dnn_optimizer`.", "Ftrl", "Any"
        ),
        "dnn_feature_columns": Argument("columns of the network, dense ones.", None, "Any"),
        "dnn_optimizer": Argument(f"trains the network: {_OPTIMIZER}", "Adagrad", "Any"),
        "dnn_hidden_units": Argument(
            "how many units each hidden layer has.", None, "Sequence[int]"
        ),
        "dnn_activation_fn": Argument("of hidden layers.", relu, "Any"),
        "dnn_dropout": Argument(
            "which share of hidden units is left out in training.", None, "float"
        ),
        "model_dir": Argument("see `Estimator`.", None, "str"),
        "n_classes": Argument("how many classes there are, two at least.", 2, "int"),
        "label_dimension": Argument("how many numbers an example's label has.", 1, "int"),
        "weight_column": Argument(
            "the feature that weighs losses: its key, or a numeric column.", None, "Any"
        ),
        "label_vocabulary": Argument(
            "names of the classes, which labels are; by default they are numbers from 0 on.",
            None,
            "Sequence[str]",
        ),
        "optimizer": Argument(_OPTIMIZER, type="Any"),
        "activation_fn": Argument("of hidden layers.", relu, "Any"),
        "dropout": Argument("which share of hidden units training leaves out.", None, "float"),
        "input_layer_partitioner": Argument("cuts the variables of columns.", None, "Any"),
        "partitioner": Argument("cuts variables.", None, "Any"),
        "config": Argument("a `RunConfig`.", None, "Any"),
        "warm_start_from": Argument("see `Estimator`.", None, "Any"),
        "loss_reduction": Argument(
            "how the losses of a batch become one, of `tf.losses.Reduction`; by default their sum.",
            Reduction.SUM,
            "str",
        ),
        "batch_norm": Argument("whether hidden layers are normalized.", False, "bool"),
        "linear_sparse_combiner": Argument(
            "see `linear_model`, whose ``sparse_combiner`` it is.", "sum", "str"
        ),
        "sparse_combiner": Argument("see `linear_model`.", "sum", "str"),
    },
    raises="ValueError: an argument does not fit.",
    result="None",
)
Model = TypeVar("Model", bound=type[Estimator])
Given = dict[str, Any]  # all arguments of a model, by name

EXAMPLE = """
x = np.array([[0.0], [1.0], [2.0], [3.0]], np.float32)
y = {example}
batches = tf.estimator.inputs.numpy_input_fn({{"x": x}}, y, 4, None, shuffle=False)
{columns}model = tf.estimator.{name}({arguments})
model = model.train(batches, steps={steps})
once = tf.estimator.inputs.numpy_input_fn({{"x": x}}, shuffle=False)
[{found} for found in model.predict(once)] -> {shown}"""
COLUMNS = 'columns = [tf.feature_column.numeric_column("x")]\n'
_BOTH = """
    linear_feature_columns=columns, linear_optimizer=tf.train.AdamOptimizer(0.1),
    dnn_feature_columns=columns, dnn_optimizer="Adam", dnn_hidden_units=[8]"""


# -- what logits are made of -----------------------------------------------------------------------


class _Deep(NamedTuple):
    """Dense layers on dense columns."""

    columns: Any
    hidden_units: Sequence[int]
    activation: Any
    dropout: float | None
    partitioner: Any
    is_normalized: bool

    def logits(self, features: Mapping[str, Any], mode: str, units: int) -> Tensor:
        """Return [batch, units]; variables are under "dnn"."""
        is_training = mode == ModeKeys.TRAIN
        with variable_scope("dnn"):
            with variable_scope("input_from_feature_columns", partitioner=self.partitioner):
                found = input_layer(features, self.columns)
            for number, width in enumerate(self.hidden_units):
                with variable_scope(f"hiddenlayer_{number}") as scope:
                    found = _dense(found, width, self.activation, scope)
                    if self.dropout is not None and is_training:
                        found = dropped_out(found, self.dropout, training=True)
                    if self.is_normalized:
                        name = f"batchnorm_{number}"
                        found = batch_normalization(
                            found, momentum=0.999, training=is_training, name=name
                        )
                _summarize(found, scope.name)
            with variable_scope("logits") as scope:
                found = _dense(found, units, None, scope)
            _summarize(found, scope.name)
        return found


def _dense(inputs: Tensor, units: int, activation: Any, scope: Any) -> Tensor:
    found: Tensor = dense(inputs, units, activation, kernel_initializer=GlorotUniform(), name=scope)
    return found


class _Linear(NamedTuple):
    """Weights of columns."""

    columns: Any
    partitioner: Any
    combiner: str

    def logits(self, features: Mapping[str, Any], mode: str, units: int) -> Tensor:
        """Return [batch, units]; variables are under "linear"."""
        variables: dict[Any, Any] = {}
        with variable_scope("linear", partitioner=self.partitioner) as scope:
            found = linear_model(
                features, self.columns, units, sparse_combiner=self.combiner, cols_to_vars=variables
            )
            (bias,) = variables.pop("bias")[:1]
            histogram("bias", bias) if units > 1 else scalar("bias", bias[0])
            flat = [reshape(each, [-1]) for of_one in variables.values() for each in of_one]
            if flat:
                scalar("fraction_of_zero_weights", zero_fraction(concat(flat, 0)))
        _summarize(found, scope.name)
        return found


class _Bias(NamedTuple):
    """The same for all examples."""

    weight_column: Any

    def logits(self, features: Mapping[str, Any], mode: str, units: int) -> Tensor:
        """Return [batch, units]; the variable is under "baseline"."""
        weight = getattr(self.weight_column, "key", self.weight_column)
        first = next(feature for key, feature in features.items() if key != weight)
        with variable_scope("baseline"):
            bias = get_variable("bias", [units], initializer=Zeros())
            return bias * ones([shape_of(first)[0], units])


def _summarize(value: Tensor, tag: str) -> None:
    scalar(f"{tag}/fraction_of_zero_values", zero_fraction(value))
    histogram(f"{tag}/activation", value)


# -- and how they are trained ----------------------------------------------------------------------

_OPTIMIZERS = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}


def _optimizer(given: Any, rate: float) -> Any:
    """Return an optimizer that is given, is named, or is made by a function.

    Raises:
      ValueError: it is none of these.
    """
    if isinstance(given, str):
        if given not in _OPTIMIZERS:
            raise ValueError(
                f"Unsupported optimizer name: {given}. Supported names are: "
                f"{tuple(sorted(_OPTIMIZERS))}"
            )
        return _OPTIMIZERS[given](rate)
    found = given() if callable(given) and not isinstance(given, Optimizer) else given
    if not isinstance(found, Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {given}")
    return found


class _Part(NamedTuple):
    """A part of a model.

    Attributes:
      scope: under which its variables are.
      maker: has ``logits(features, mode, units)``.
      optimizer: an optimizer, a name or a function.
      rate: at which one learns that is named.
    """

    scope: str
    maker: Any
    optimizer: Any
    rate: float


def _model_fn(head: Head, parts: Sequence[_Part]) -> Callable[..., EstimatorSpec]:
    """Return the ``model_fn`` of a model whose logits are the sum of those of its parts."""

    def model_fn(features: Any, labels: Any, mode: str) -> EstimatorSpec:
        if not isinstance(features, Mapping):
            raise ValueError(
                f"features should be a dictionary of `Tensor`s. Given type: {type(features)}"
            )
        logits = [part.maker.logits(features, mode, head.logits_dimension) for part in parts]

        def trained(loss: Tensor) -> Any:
            step = get_global_step()
            with control_dependencies(get_collection(GraphKeys.UPDATE_OPS)):
                if len(parts) == 1:
                    return _optimizer(parts[0].optimizer, parts[0].rate).minimize(loss, step)
                steps = []
                for part in parts:
                    optimizer = _optimizer(part.optimizer, part.rate)
                    if isinstance(optimizer, SyncReplicasOptimizer):
                        raise ValueError(
                            "SyncReplicasOptimizer does not support multi optimizers case. "
                            "Therefore, it is not supported in DNNLinearCombined model. If you "
                            "want to use this optimizer, please use either DNN or Linear model."
                        )
                    variables = get_collection(GraphKeys.TRAINABLE_VARIABLES, f"{part.scope}/")
                    steps.append(optimizer.minimize(loss, var_list=variables))
            with control_dependencies([group(*steps)]):
                return assign_add(step, 1).op

        summed = add_n(logits) if len(logits) > 1 else logits[0]
        return head.spec(features, mode, summed, labels, trained)

    return model_fn


def _linear_part(
    columns: Any, optimizer: Any, most_rate: float, partitioner: Any, combiner: str
) -> _Part:
    """Return a linear model, whose rate falls with the number of its columns."""
    rate = min(most_rate, 1.0 / math.sqrt(len(list(columns)) or 1))
    return _Part("linear", _Linear(columns, partitioner, combiner), optimizer, rate)


def _linear(a: Given) -> list[_Part]:
    rate, cuts = LINEAR_RATE, a["partitioner"]
    return [_linear_part(a["feature_columns"], a["optimizer"], rate, cuts, a["sparse_combiner"])]


def _deep(a: Given) -> list[_Part]:
    layers = a["feature_columns"], a["hidden_units"], a["activation_fn"], a["dropout"]
    deep = _Deep(*layers, a["input_layer_partitioner"], a["batch_norm"])
    return [_Part("dnn", deep, a["optimizer"], DEEP_RATE)]


def _both(a: Given) -> list[_Part]:
    """Return the parts of a model that is both, of which one may have no columns.

    Raises:
      ValueError: there are no columns, or no hidden units.
    """
    linear, deep = a["linear_feature_columns"], a["dnn_feature_columns"]
    if not linear and not deep:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    parts, cuts = [], a["input_layer_partitioner"]
    if deep:
        if not a["dnn_hidden_units"]:
            raise ValueError(
                "dnn_hidden_units must be defined when dnn_feature_columns is specified."
            )
        layers = deep, a["dnn_hidden_units"], a["dnn_activation_fn"], a["dnn_dropout"]
        maker = _Deep(*layers, cuts, a["batch_norm"])
        parts.append(_Part("dnn", maker, a["dnn_optimizer"], DEEP_BESIDE_LINEAR_RATE))
    if linear:
        rate, combiner = LINEAR_BESIDE_DEEP_RATE, a["linear_sparse_combiner"]
        parts.append(_linear_part(linear, a["linear_optimizer"], rate, cuts, combiner))
    return parts


def _baseline(a: Given) -> list[_Part]:
    return [_Part("baseline", _Bias(a["weight_column"]), a["optimizer"], BASELINE_RATE)]


# -- and what their labels are ---------------------------------------------------------------------


def _class_head(a: Given) -> Head:
    given = a["weight_column"], a["label_vocabulary"], a["loss_reduction"]
    return (
        BinaryClassHead(*given) if a["n_classes"] == 2 else MultiClassHead(a["n_classes"], *given)
    )


def _number_head(a: Given) -> Head:
    return RegressionHead(a["weight_column"], a["label_dimension"], a["loss_reduction"])


class _Labels(NamedTuple):
    """What a model's labels are.

    Attributes:
      head: function of the model's arguments that gives its head.
      order: those of them that are about labels.
      what: what they are.
      example: those of the example.
      found: what it shows of a prediction.
      shown: of all four.
    """

    head: Callable[[Given], Head]
    order: str
    what: str
    example: str
    found: str
    shown: str


_CLASSES = _Labels(
    _class_head,
    "n_classes weight_column label_vocabulary",
    "numbers\nof classes, or their names",
    "np.array([0, 0, 1, 1])",
    'int(found["class_ids"][0])',
    "[0, 0, 1, 1]",
)
_NUMBERS = _Labels(
    _number_head,
    "label_dimension weight_column",
    "numbers",
    "2 * x[:, 0]",
    'round(float(found["predictions"][0]))',
    "[0, 2, 4, 6]",
)


# -- the models ------------------------------------------------------------------------------------


class _Canned(Estimator):
    """A model whose constructor has declared arguments, see `_of_parts`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


def _of_parts(
    make: Callable[[Given], list[_Part]], order: str, labels: _Labels, call: str, steps: int
) -> Callable[[Model], Model]:
    """Give a model its constructor, and what its docstring says of features, labels and arguments.

    Args:
      make: function of the arguments that gives what the model consists of.
      order: the arguments; ``{}`` are those of the labels.
      labels: what they are.
      call: the arguments in the example.
      steps: for how many it is trained there.
    """
    signature = ARGUMENTS.signature(None, order.format(labels.order))

    def decorate(model: Model) -> Model:
        bound = binder(model.__name__, signature)

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            a = bound(args, kwargs)
            fn = _model_fn(labels.head(a), make(a))
            warm = a.get("warm_start_from")
            Estimator.__init__(self, fn, a["model_dir"], a["config"], warm_start_from=warm)

        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = [own, *signature.parameters.values()]
        __init__.__qualname__ = f"{model.__qualname__}.__init__"
        __init__.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        model.__init__ = __init__  # type: ignore[method-assign]
        columns = COLUMNS if "columns" in call else ""
        example = EXAMPLE.strip().format(
            name=model.__name__, columns=columns, arguments=call, steps=steps, **labels._asdict()
        )
        doc = f"""{model.__doc__}

Features are a dict, key -> tensor, as columns take them; labels are {labels.what}.

Source: TensorFlow 1.15, ``tf.estimator.{model.__name__}``."""
        model.__doc__ = ARGUMENTS.documented(with_example(doc, example), signature.parameters)
        return model

    return decorate


_OF_LINEAR = (
    "feature_columns model_dir {} optimizer='Ftrl' config partitioner warm_start_from "
    "loss_reduction sparse_combiner"
)
_OF_DEEP = (
    "hidden_units feature_columns model_dir {} optimizer='Adagrad' activation_fn dropout "
    "input_layer_partitioner config warm_start_from loss_reduction batch_norm"
)
_OF_BOTH = (
    "model_dir linear_feature_columns linear_optimizer dnn_feature_columns dnn_optimizer "
    "dnn_hidden_units dnn_activation_fn dnn_dropout {} input_layer_partitioner config "
    "warm_start_from loss_reduction batch_norm linear_sparse_combiner"
)
_OF_BASELINE = "model_dir {} optimizer='Ftrl' config loss_reduction"
_BY_ADAM = "optimizer=tf.train.AdamOptimizer({})"


@_of_parts(_linear, _OF_LINEAR, _CLASSES, f"columns, {_BY_ADAM.format(0.3)}", 100)
class LinearClassifier(_Canned):
    """A linear model of classes: columns have weights, and there is a bias."""


@_of_parts(_linear, _OF_LINEAR, _NUMBERS, f"columns, {_BY_ADAM.format(0.3)}", 100)
class LinearRegressor(_Canned):
    """A linear model of numbers: columns have weights, and there is a bias."""


@_of_parts(_deep, _OF_DEEP, _CLASSES, f"[8], columns, {_BY_ADAM.format(0.1)}", 200)
class DNNClassifier(_Canned):
    """A network of dense layers of classes, on dense columns."""


@_of_parts(_deep, _OF_DEEP, _NUMBERS, f"[8], columns, {_BY_ADAM.format(0.1)}", 200)
class DNNRegressor(_Canned):
    """A network of dense layers of numbers, on dense columns."""


@_of_parts(_both, _OF_BOTH, _CLASSES, _BOTH, 300)
class DNNLinearCombinedClassifier(_Canned):
    """A linear model and a network of dense layers of classes, whose results are added."""


@_of_parts(_both, _OF_BOTH, _NUMBERS, _BOTH, 300)
class DNNLinearCombinedRegressor(_Canned):
    """A linear model and a network of dense layers of numbers, whose results are added."""


_MOSTLY_ONE = _CLASSES._replace(example="np.array([0, 1, 1, 1])", shown="[1, 1, 1, 1]")


@_of_parts(_baseline, _OF_BASELINE, _MOSTLY_ONE, _BY_ADAM.format(0.3), 200)
class BaselineClassifier(_Canned):
    """The most frequent class, whatever features are: what other models are compared with."""


_MEAN = _NUMBERS._replace(shown="[3, 3, 3, 3]")


@_of_parts(_baseline, _OF_BASELINE, _MEAN, _BY_ADAM.format(0.3), 200)
class BaselineRegressor(_Canned):
    """The mean of labels, whatever features are: what other models are compared with."""
