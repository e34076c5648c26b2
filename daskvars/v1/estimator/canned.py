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
from daskvars.surface.signatures import Argument, Family, with_example
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
_TEXTS = {
    "feature_columns": "columns of `tf.feature_column`.",
    "hidden_units": "how many units each hidden layer has.",
    "linear_feature_columns": "columns of the linear model.",
    "linear_optimizer": "trains the linear model: see `dnn_optimizer`.",
    "dnn_feature_columns": "columns of the network, dense ones.",
    "dnn_optimizer": f"trains the network: {_OPTIMIZER}",
    "dnn_hidden_units": "how many units each hidden layer has.",
    "dnn_activation_fn": "of hidden layers.",
    "dnn_dropout": "which share of hidden units is left out in training.",
    "model_dir": "see `Estimator`.",
    "n_classes": "how many classes there are, two at least.",
    "label_dimension": "how many numbers an example's label has.",
    "weight_column": "the feature that weighs losses: its key, or a numeric column.",
    "label_vocabulary": (
        "names of the classes, which labels are; by default they are numbers from 0 on."
    ),
    "optimizer": _OPTIMIZER,
    "activation_fn": "of hidden layers.",
    "dropout": "which share of hidden units training leaves out.",
    "input_layer_partitioner": "cuts the variables of columns.",
    "partitioner": "cuts variables.",
    "config": "a `RunConfig`.",
    "warm_start_from": "see `Estimator`.",
    "loss_reduction": (
        "how the losses of a batch become one, of `tf.losses.Reduction`; by default their sum."
    ),
    "batch_norm": "whether hidden layers are normalized.",
    "linear_sparse_combiner": "see `linear_model`, whose ``sparse_combiner`` it is.",
    "sparse_combiner": "see `linear_model`.",
}
ARGUMENTS = Family(
    {name: Argument(text) for name, text in _TEXTS.items()},
    raises="ValueError: an argument does not fit.",
)
Model = TypeVar("Model", bound=type[Estimator])

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


class _Labels(NamedTuple):
    """What a model's labels are.

    Attributes:
      what: what they are.
      example: those of the example.
      found: what it shows of a prediction.
      shown: of all four.
    """

    what: str
    example: str
    found: str
    shown: str


_CLASSES = _Labels(
    "numbers\nof classes, or their names",
    "np.array([0, 0, 1, 1])",
    'int(found["class_ids"][0])',
    "[0, 0, 1, 1]",
)
_NUMBERS = _Labels(
    "numbers", "2 * x[:, 0]", 'round(float(found["predictions"][0]))', "[0, 2, 4, 6]"
)


def _described(labels: _Labels, arguments: str, steps: int) -> Callable[[Model], Model]:
    """Complete the docstring of a model: what features, labels and arguments are, an example."""

    def complete(model: Model) -> Model:
        names = [name for name in inspect.signature(model.__init__).parameters if name != "self"]
        summary, rest = inspect.cleandoc(model.__doc__ or "").split("\n\n", 1)
        given = (
            f"Features are a dict, key -> tensor, as columns take them; labels are {labels.what}."
        )
        example = EXAMPLE.strip().format(
            name=model.__name__,
            columns=COLUMNS if "columns" in arguments else "",
            arguments=arguments,
            steps=steps,
            **labels._asdict(),
        )
        doc = with_example(f"{summary}\n\n{given}\n\n{rest}", example)
        model.__doc__ = ARGUMENTS.documented(doc, names)
        return model

    return complete


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


def _classes(n_classes: int, *given: Any) -> Head:
    if n_classes == 2:
        return BinaryClassHead(*given)
    return MultiClassHead(n_classes, *given)


def _both(
    linear_columns: Any, linear_optimizer: Any, deep: _Deep, dnn_optimizer: Any, combiner: str
) -> list[_Part]:
    """Return the parts of a model that is both, of which one may have no columns.

    Raises:
      ValueError: there are no columns, or no hidden units.
    """
    if not linear_columns and not deep.columns:
        raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
    parts = []
    if deep.columns:
        if not deep.hidden_units:
            raise ValueError(
                "dnn_hidden_units must be defined when dnn_feature_columns is specified."
            )
        parts.append(_Part("dnn", deep, dnn_optimizer, DEEP_BESIDE_LINEAR_RATE))
    if linear_columns:
        rate = LINEAR_BESIDE_DEEP_RATE
        parts.append(
            _linear_part(linear_columns, linear_optimizer, rate, deep.partitioner, combiner)
        )
    return parts


# -- the models ------------------------------------------------------------------------------------


@_described(_CLASSES, "columns, optimizer=tf.train.AdamOptimizer(0.3)", 100)
class LinearClassifier(Estimator):
    """A linear model of classes: columns have weights, and there is a bias.

    Source: TensorFlow 1.15, ``tf.estimator.LinearClassifier``.
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = _classes(n_classes, weight_column, label_vocabulary, loss_reduction)
        part = _linear_part(feature_columns, optimizer, LINEAR_RATE, partitioner, sparse_combiner)
        super().__init__(_model_fn(head, [part]), model_dir, config, None, warm_start_from)


@_described(_CLASSES, "[8], columns, optimizer=tf.train.AdamOptimizer(0.1)", 200)
class DNNClassifier(Estimator):
    """A network of dense layers of classes, on dense columns.

    Source: TensorFlow 1.15, ``tf.estimator.DNNClassifier``.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = _classes(n_classes, weight_column, label_vocabulary, loss_reduction)
        layers = feature_columns, hidden_units, activation_fn, dropout
        deep = _Deep(*layers, input_layer_partitioner, batch_norm)
        part = _Part("dnn", deep, optimizer, DEEP_RATE)
        super().__init__(_model_fn(head, [part]), model_dir, config, None, warm_start_from)


@_described(_CLASSES, _BOTH, 300)
class DNNLinearCombinedClassifier(Estimator):
    """A linear model and a network of dense layers of classes, whose results are added.

    Source: TensorFlow 1.15, ``tf.estimator.DNNLinearCombinedClassifier``.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        head = _classes(n_classes, weight_column, label_vocabulary, loss_reduction)
        layers = dnn_feature_columns, dnn_hidden_units or (), dnn_activation_fn, dnn_dropout
        deep = _Deep(*layers, input_layer_partitioner, batch_norm)
        parts = _both(
            linear_feature_columns, linear_optimizer, deep, dnn_optimizer, linear_sparse_combiner
        )
        super().__init__(_model_fn(head, parts), model_dir, config, warm_start_from=warm_start_from)


@_described(
    _CLASSES._replace(example="np.array([0, 1, 1, 1])", shown="[1, 1, 1, 1]"),
    "optimizer=tf.train.AdamOptimizer(0.3)",
    200,
)
class BaselineClassifier(Estimator):
    """The most frequent class, whatever features are: what other models are compared with.

    Source: TensorFlow 1.15, ``tf.estimator.BaselineClassifier``.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = _classes(n_classes, weight_column, label_vocabulary, loss_reduction)
        part = _Part("baseline", _Bias(weight_column), optimizer, BASELINE_RATE)
        super().__init__(_model_fn(head, [part]), model_dir, config)


@_described(_NUMBERS, "columns, optimizer=tf.train.AdamOptimizer(0.3)", 100)
class LinearRegressor(Estimator):
    """A linear model of numbers: columns have weights, and there is a bias.

    Source: TensorFlow 1.15, ``tf.estimator.LinearRegressor``.
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        part = _linear_part(feature_columns, optimizer, LINEAR_RATE, partitioner, sparse_combiner)
        super().__init__(_model_fn(head, [part]), model_dir, config, None, warm_start_from)


@_described(_NUMBERS, "[8], columns, optimizer=tf.train.AdamOptimizer(0.1)", 200)
class DNNRegressor(Estimator):
    """A network of dense layers of numbers, on dense columns.

    Source: TensorFlow 1.15, ``tf.estimator.DNNRegressor``.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        layers = feature_columns, hidden_units, activation_fn, dropout
        deep = _Deep(*layers, input_layer_partitioner, batch_norm)
        part = _Part("dnn", deep, optimizer, DEEP_RATE)
        super().__init__(_model_fn(head, [part]), model_dir, config, None, warm_start_from)


@_described(_NUMBERS, _BOTH, 300)
class DNNLinearCombinedRegressor(Estimator):
    """A linear model and a network of dense layers of numbers, whose results are added.

    Source: TensorFlow 1.15, ``tf.estimator.DNNLinearCombinedRegressor``.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = relu,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        layers = dnn_feature_columns, dnn_hidden_units or (), dnn_activation_fn, dnn_dropout
        deep = _Deep(*layers, input_layer_partitioner, batch_norm)
        parts = _both(
            linear_feature_columns, linear_optimizer, deep, dnn_optimizer, linear_sparse_combiner
        )
        super().__init__(_model_fn(head, parts), model_dir, config, warm_start_from=warm_start_from)


@_described(_NUMBERS._replace(shown="[3, 3, 3, 3]"), "optimizer=tf.train.AdamOptimizer(0.3)", 200)
class BaselineRegressor(Estimator):
    """The mean of labels, whatever features are: what other models are compared with.

    Source: TensorFlow 1.15, ``tf.estimator.BaselineRegressor``.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = RegressionHead(weight_column, label_dimension, loss_reduction)
        part = _Part("baseline", _Bias(weight_column), optimizer, BASELINE_RATE)
        super().__init__(_model_fn(head, [part]), model_dir, config)
