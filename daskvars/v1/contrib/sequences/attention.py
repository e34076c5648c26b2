"""Attention: how much each place of a memory matters for a query."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from daskvars.dtypes import DTypeLike, as_dtype, float32, int32
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.dense import Dense
from daskvars.layers.layer import Layer
from daskvars.ops.array.constant import constant, ones_like, size_along, zeros
from daskvars.ops.array.joining import concat
from daskvars.ops.array.one_hot import one_hot
from daskvars.ops.array.ranges import sequence_mask
from daskvars.ops.array.reshaping import expand_dims, reshape, squeeze
from daskvars.ops.array.transposing import transpose
from daskvars.ops.checks.assertions import assert_equal, assert_positive
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.control.map_fn import scan
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import square
from daskvars.ops.math.casting import cast
from daskvars.ops.math.clip import clip_by_value
from daskvars.ops.math.comparison import greater, where
from daskvars.ops.math.reduce import argmax, reduce_sum
from daskvars.ops.math.scans import cumprod, cumsum
from daskvars.ops.math.transcendental import exp, log, rsqrt, sigmoid, tanh
from daskvars.ops.nn.softmax import softmax
from daskvars.ops.random.distributions import random_normal
from daskvars.surface.forwarding import forwards
from daskvars.surface.required import required_property
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.v1.contrib.sequences.structures import sized_zeros
from daskvars.variables.initializers import Constant, Ones, Zeros
from daskvars.variables.scopes.variable_scope import get_variable, variable_scope

Probability = Callable[[Any, Any], Any]


def hardmax(logits: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 at the largest entry of each row, and 0 elsewhere.

    Args:
      logits: [..., n] real.
      name: name scope, by default "Hardmax".

    Returns:
      [..., n] of the dtype of `logits`.

    Source: TensorFlow 1.8, ``tf.contrib.seq2seq.hardmax``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.contrib.seq2seq.hardmax([[0.5, 2.0, 1.0]])).tolist()
    [[0.0, 1.0, 0.0]]
    """
    with name_scope(name, "Hardmax", [logits]):
        logits = convert_to_tensor(logits, name="logits")
        return one_hot(argmax(logits, -1), size_along(logits, -1), dtype=logits.dtype)


def safe_cumprod(x: TensorLike, *args: Any, **kwargs: Any) -> Tensor:
    """Return running products of numbers in [0, 1] as sums of logarithms, which do not underflow.

    Args:
      x: [...] floating.
      *args, **kwargs: those of `cumsum` after `x`.

    Source: TensorFlow 1.8, ``tf.contrib.seq2seq.safe_cumprod``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.contrib.seq2seq.safe_cumprod([0.5, 0.5])).round(3).tolist()
    [0.5, 0.25]
    """
    with name_scope(None, "SafeCumprod", [x]):
        x = convert_to_tensor(x, name="x")
        tiny = float(numpy.finfo(x.dtype.as_numpy_dtype).tiny)
        return exp(cumsum(log(clip_by_value(x, tiny, 1.0)), *args, **kwargs))


def monotonic_attention(p_choose_i: TensorLike, previous_attention: TensorLike, mode: str) -> Any:
    """Return how much each place is attended to, where attention never goes back.

    Args:
      p_choose_i: [batch, places], the probability to stop at each place.
      previous_attention: [batch, places], that of the step before; at first 1 at the first place.
      mode: how it is computed: "recursive", place after place, exact; "parallel", by running sums
        and products, which is inexact near 0 and 1; or "hard", for probabilities of 0 and 1.

    Returns:
      [batch, places] floating.

    Raises:
      ValueError: `mode` is none of these.

    Source: TensorFlow 1.8, ``tf.contrib.seq2seq.monotonic_attention``; Raffel et al., "Online and
    Linear-Time Attention by Enforcing Monotonic Alignments", 2017.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     attention = tf.contrib.seq2seq.monotonic_attention
    ...     sess.run(attention([[0.5, 1.0]], [[1.0, 0.0]], "parallel")).tolist()
    [[0.5, 0.5]]
    """
    chosen = convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = convert_to_tensor(previous_attention, name="previous_attention")
    if mode == "recursive":
        goes_on = concat([ones_like(chosen[:, :1]), 1 - chosen[:, :-1]], 1)
        first = zeros([size_along(chosen, 0)], chosen.dtype)
        arrived = scan(
            lambda q, place: place[0] * q + place[1],
            (transpose(goes_on), transpose(previous)),
            first,
        )
        return chosen * transpose(arrived)
    if mode == "parallel":
        goes_on = safe_cumprod(1 - chosen, axis=1, exclusive=True)
        arrived = cumsum(previous / clip_by_value(goes_on, 1e-10, 1.0), axis=1)
        return chosen * goes_on * arrived
    if mode == "hard":
        chosen = chosen * cumsum(previous, axis=1)
        return chosen * cumprod(1 - chosen, axis=1, exclusive=True)
    raise ValueError(f"mode must be 'recursive', 'parallel', or 'hard', got {mode!r}")


class AttentionMechanism:
    """How alignments come from a query: ``alignments, next_state = mechanism(query, state=state)``.

    A subclass has the properties here, ``values``, ``batch_size``, ``dtype``,
    ``initial_alignments(batch_size, dtype)`` and ``initial_state(batch_size, dtype)``.
    """

    alignments_size: Any = required_property("Number of places of the memory.")
    state_size: Any = required_property("Size of the state.")


class _ScoringMechanism(AttentionMechanism):
    """A mechanism that scores keys, which a layer makes of the memory."""

    _scope_name: str
    _has_query_layer: bool

    def __init__(
        self,
        num_units: int,
        memory: TensorLike,
        memory_sequence_length: TensorLike | None = None,
        score_mask_value: Any = None,
        dtype: DTypeLike | None = None,
        name: str | None = None,
        *,
        probability: Probability,
    ) -> None:
        kind = as_dtype(float32 if dtype is None else dtype)
        self.dtype = kind.name
        self._num_units = num_units
        self._name = name

        def layer(name: str) -> Layer:
            return Dense(num_units, name=name, use_bias=False, dtype=kind)

        self._query_layer = layer("query_layer") if self._has_query_layer else None
        self._memory_layer = layer("memory_layer")
        self._probability = probability
        self._lengths = memory_sequence_length
        if memory_sequence_length is not None:
            self._lengths = convert_to_tensor(memory_sequence_length, name="memory_sequence_length")
        self._masked_score = -math.inf if score_mask_value is None else score_mask_value
        with name_scope(name, "BaseAttentionMechanismInit", nest.flatten(memory)):
            self._values = _masked(convert_to_tensor(memory, name="memory"), self._lengths)
            self._keys = self._memory_layer(self._values)
            self._batch_size = size_along(self._keys, 0)
            self._alignments_size = size_along(self._keys, 1)

    memory_layer: Any = forwards("_memory_layer", "The layer that makes keys of the memory.")
    query_layer: Any = forwards("_query_layer", "The layer on queries, or None.")
    values: Tensor = forwards("_values", "The memory, zeros after the end of each sequence.")
    keys: Tensor = forwards("_keys", "What queries are compared with, [batch, places, units].")
    batch_size: Any = forwards("_batch_size", "Number of sequences of the memory.")
    alignments_size: Any = forwards("_alignments_size", "Number of places of the memory.")
    state_size: Any = forwards("_alignments_size", "The state are the alignments before.")

    def initial_alignments(self, batch_size: TensorLike, dtype: DTypeLike) -> Tensor:
        """Return zeros, [batch_size, places]."""
        return sized_zeros(batch_size, self._alignments_size, dtype)

    def initial_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Tensor:
        """Return the alignments before the first."""
        return self.initial_alignments(batch_size, dtype)

    def __call__(self, query: TensorLike, state: Any) -> tuple[Tensor, Tensor]:
        """Return the alignments of a query, [batch, places], and the next state: the same.

        Args:
          query: [batch, depth].
          state: the alignments before.
        """
        with variable_scope(None, self._scope_name, [query]):
            query = convert_to_tensor(query)
            score = self._score(query if self._query_layer is None else self._query_layer(query))
        if self._lengths is not None:
            mask = sequence_mask(self._lengths, maxlen=size_along(score, 1))
            score = where(mask, score, self._masked_score * ones_like(score))
        alignments = self._probability(score, state)
        return alignments, alignments

    def _score(self, query: Tensor) -> Tensor:
        raise NotImplementedError


def _masked(memory: Tensor, lengths: Any) -> Tensor:
    """Return a memory with zeros after the end of each sequence."""
    inner = memory.get_shape()[2:]
    if not inner.is_fully_defined():
        raise ValueError(
            f"Expected memory {memory.name} to have fully defined inner dims, but saw shape: "
            f"{memory.get_shape()}"
        )
    if lengths is None:
        return memory
    mask = sequence_mask(lengths, maxlen=size_along(memory, 1), dtype=memory.dtype)
    sizes = size_along(lengths, 0), size_along(memory, 0)
    text = "memory_sequence_length and memory tensor batch sizes do not match."
    checks = [assert_equal(*sizes, message=text)]
    text = "All values in memory_sequence_length must greater than zero."
    checks.append(assert_positive(lengths, message=text))
    with control_dependencies(checks):
        ones = [1] * (inner.ndims or 0)
        return memory * reshape(mask, [size_along(memory, 0), size_along(memory, 1), *ones])


def _of_score(function: Callable[[Any], Any] | None) -> Probability:
    chosen = softmax if function is None else function
    return lambda score, _: chosen(score)


class _Multiplicative(_ScoringMechanism):
    """Scores that are products of query and keys."""

    _scope_name = "luong_attention"
    _has_query_layer = False
    _scale: bool

    def _score(self, query: Tensor) -> Tensor:
        depth, units = query.get_shape().as_list()[-1], self._keys.get_shape().as_list()[-1]
        if depth != units:
            raise ValueError(
                "Incompatible or unknown inner dimensions between query and keys.  Query "
                f"({query.name}) has units: {depth}.  Keys ({self._keys.name}) have units: {units}."
                f"  Perhaps you need to set num_units to the query's dimension ({depth})?"
            )
        score = squeeze(matmul(expand_dims(query, 1), self._keys, transpose_b=True), [1])
        if self._scale:
            score = score * get_variable("attention_g", [], query.dtype, Ones())
        return score


class _Additive(_ScoringMechanism):
    """Scores that are those of sums of query and keys."""

    _scope_name = "bahdanau_attention"
    _has_query_layer = True
    _normalize: bool

    def _score(self, query: Tensor) -> Tensor:
        units, dtype = self._num_units, query.dtype
        sums = self._keys + expand_dims(query, 1)
        v: Any = get_variable("attention_v", [units], dtype)
        if self._normalize:
            g: Any = get_variable("attention_g", [], dtype, Constant(math.sqrt(1.0 / units)))
            sums = sums + get_variable("attention_b", [units], dtype, Zeros())
            v = g * v * rsqrt(reduce_sum(square(v)))
        return reduce_sum(v * tanh(sums), [2])


class LuongAttention(_Multiplicative):
    """Attention by products of query and keys.

    Args:
      num_units: size of the keys, which is that of the query.
      memory: [batch, places, depth], mostly the outputs of an encoder.
      memory_sequence_length: [batch] integer, how many of the places there are.
      scale: multiply the scores with a variable.
      probability_fn: function of scores that gives alignments, by default `softmax`.
      score_mask_value: score of places that are not there, by default minus infinity.
      dtype: dtype of the keys, by default float32.
      name: name scope.

    Raises:
      ValueError: the inner shape of the memory is not known; (when called) the query has another
        size than the keys.
      InvalidArgumentError: (when run) a length is not positive, or there is another number of them
        than of sequences.

    Source: TensorFlow 1.8; Luong et al., "Effective Approaches to Attention-based Neural Machine
    Translation", 2015.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     attention = tf.contrib.seq2seq.LuongAttention(4, tf.ones([2, 3, 5]), [3, 1])
    ...     alignments, _ = attention(tf.ones([2, 4]), state=tf.zeros([2, 3]))
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(alignments)[1].tolist()
    [1.0, 0.0, 0.0]
    """

    @with_arguments_in_order(
        "num_units memory memory_sequence_length scale probability_fn score_mask_value dtype "
        "name='LuongAttention'",
        _ScoringMechanism.__init__,
    )
    def __init__(self, scale: bool = False, probability_fn: Any = None, **arguments: Any) -> None:
        self._scale = scale
        super().__init__(probability=_of_score(probability_fn), **arguments)


class BahdanauAttention(_Additive):
    """Attention by the sum of query and keys, of which a variable makes scores.

    Args:
      num_units: size of the keys, and of what a layer makes of the query.
      normalize: the variable is normalized, and has a bias.
      memory, memory_sequence_length, probability_fn, score_mask_value, dtype, name: see
        `LuongAttention`.

    Raises:
      ValueError, InvalidArgumentError: see `LuongAttention`.

    Source: TensorFlow 1.8; Bahdanau et al., "Neural Machine Translation by Jointly Learning to
    Align and Translate", 2015; Salimans and Kingma, "Weight Normalization", 2016.

    >>> with tf.Graph().as_default():
    ...     attention = tf.contrib.seq2seq.BahdanauAttention(4, tf.ones([2, 3, 5]))
    ...     attention(tf.ones([2, 6]), state=tf.zeros([2, 3]))[0].get_shape().as_list()
    [2, 3]
    """

    @with_arguments_in_order(
        "num_units memory memory_sequence_length normalize probability_fn score_mask_value dtype "
        "name='BahdanauAttention'",
        _ScoringMechanism.__init__,
    )
    def __init__(
        self, normalize: bool = False, probability_fn: Any = None, **arguments: Any
    ) -> None:
        self._normalize = normalize
        super().__init__(probability=_of_score(probability_fn), **arguments)


_OF_MONOTONIC = "sigmoid_noise sigmoid_noise_seed score_bias_init mode"


class _Monotonic(_ScoringMechanism):
    """Attention that never goes back: scores are those of stopping at a place."""

    @with_arguments_in_order(
        f"num_units memory memory_sequence_length score_mask_value {_OF_MONOTONIC} dtype name",
        _ScoringMechanism.__init__,
    )
    def __init__(
        self,
        sigmoid_noise: float = 0.0,
        sigmoid_noise_seed: int | None = None,
        score_bias_init: float = 0.0,
        mode: str = "parallel",
        **arguments: Any,
    ) -> None:
        self._score_bias_init = score_bias_init
        probability = _monotonic(sigmoid_noise, sigmoid_noise_seed, mode)
        super().__init__(probability=probability, **arguments)

    def initial_alignments(self, batch_size: TensorLike, dtype: DTypeLike) -> Tensor:
        """Return 1 at the first place of each sequence."""
        first = sized_zeros(batch_size, [], int32)
        return one_hot(first, self._alignments_size, dtype=dtype)

    def _score(self, query: Tensor) -> Tensor:
        score = super()._score(query)
        bias: Any = get_variable(
            "attention_score_bias",
            dtype=query.dtype,
            initializer=constant(self._score_bias_init, query.dtype),
        )
        return score + bias


def _monotonic(noise: float, seed: int | None, mode: str) -> Probability:
    def probability(score: Any, previous: Any) -> Any:
        if noise > 0:
            score = score + noise * random_normal(
                [size_along(score, 0), size_along(score, 1)], dtype=score.dtype, seed=seed
            )
        stops = cast(greater(score, 0), score.dtype) if mode == "hard" else sigmoid(score)
        return monotonic_attention(stops, previous, mode)

    return probability


class LuongMonotonicAttention(_Monotonic, _Multiplicative):
    """`LuongAttention` that never goes back.

    Args:
      sigmoid_noise: standard deviation of noise on the scores, which makes choices harder.
      sigmoid_noise_seed: its seed.
      score_bias_init: first value of a variable that is added to the scores; a negative one for
        long memories.
      mode: see `monotonic_attention`.
      num_units, memory, memory_sequence_length, scale, score_mask_value, dtype, name: see
        `LuongAttention`.

    Source: TensorFlow 1.8; Raffel et al., "Online and Linear-Time Attention by Enforcing Monotonic
    Alignments", 2017.
    """

    _scope_name = "luong_monotonic_attention"

    @with_arguments_in_order(
        f"num_units memory memory_sequence_length scale score_mask_value {_OF_MONOTONIC} dtype "
        "name='LuongMonotonicAttention'",
        _Monotonic.__init__,
    )
    def __init__(self, scale: bool = False, **arguments: Any) -> None:
        self._scale = scale
        super().__init__(**arguments)


class BahdanauMonotonicAttention(_Monotonic, _Additive):
    """`BahdanauAttention` that never goes back.

    Args:
      num_units, memory, memory_sequence_length, normalize, score_mask_value, dtype, name: see
        `BahdanauAttention`.
      sigmoid_noise, sigmoid_noise_seed, score_bias_init, mode: see `LuongMonotonicAttention`.

    Source: that of `LuongMonotonicAttention`.
    """

    _scope_name = "bahdanau_monotonic_attention"

    @with_arguments_in_order(
        f"num_units memory memory_sequence_length normalize score_mask_value {_OF_MONOTONIC} dtype "
        "name='BahdanauMonotonicAttention'",
        _Monotonic.__init__,
    )
    def __init__(self, normalize: bool = False, **arguments: Any) -> None:
        self._normalize = normalize
        super().__init__(**arguments)
