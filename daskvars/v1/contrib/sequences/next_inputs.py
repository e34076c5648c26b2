"""What a decoder reads next: the target, what it wrote itself, or now this and now that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.distributions.scalar_distributions import Bernoulli
from daskvars.distributions.vector_distributions import Categorical
from daskvars.dtypes import DType, DTypeLike, as_dtype, bool as bool_, int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.recurrent.batch_and_time import swapped
from daskvars.ops.array.constant import fill, shape as shape_of, size as num_elements, zeros_like
from daskvars.ops.array.joining import concat
from daskvars.ops.control.cond import cond
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.gather_scatter.scatter import gather_nd, scatter_nd
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import (
    equal,
    greater,
    greater_equal,
    logical_not,
    logical_or,
    where,
)
from daskvars.ops.math.reduce import argmax, reduce_all, reduce_any
from daskvars.ops.nn.embedding import embedding_lookup
from daskvars.shapes import ShapeLike, TensorShape
from daskvars.surface.forwarding import forwards
from daskvars.surface.required import required, required_property
from daskvars.surface.signatures import with_arguments_in_order


def embedding_function(embedding: Any) -> Callable[[Any], Any]:
    """Return a function of ids: the one that is given, or that looks them up in the table."""
    return embedding if callable(embedding) else lambda ids: embedding_lookup(embedding, ids)


def checked_tokens(start_tokens: TensorLike, end_token: TensorLike) -> tuple[Tensor, Tensor]:
    """Return both as int32 tensors. Raises ValueError unless a vector and a scalar."""
    start = convert_to_tensor(start_tokens, int32, name="start_tokens")
    end = convert_to_tensor(end_token, int32, name="end_token")
    for value, rank, what in ((start, 1, "start_tokens must be a vector"), (end, 0, "")):
        if value.get_shape().ndims != rank:
            what = what or "end_token must be a scalar"
            raise ValueError(f"{what}, got shape {value.get_shape()}")
    return start, end


class Helper:
    """What `BasicDecoder` asks at each step: which ids were chosen, and what is read next.

    A subclass has the properties and methods that are here.
    """

    batch_size: Any = required_property("Number of sequences, a scalar int32 tensor.")
    sample_ids_shape: Any = required_property(
        "Shape of what `sample` gives for one sequence, a `TensorShape`."
    )
    sample_ids_dtype: Any = required_property("Dtype of what `sample` gives.")

    @required
    def initialize(self, name: str | None = None) -> Any:
        """Return which sequences are finished at once, [batch] bool, and the first inputs."""

    @required
    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the ids chosen by the outputs of a step."""

    @required
    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """Return (finished, next_inputs, next_state)."""


class CustomHelper(Helper):
    """A helper made of functions.

    Args:
      initialize_fn: gives (finished, first inputs).
      sample_fn: ``sample_fn(time=, outputs=, state=)`` gives the chosen ids.
      next_inputs_fn: ``next_inputs_fn(time=, outputs=, state=, sample_ids=)`` gives (finished,
        next_inputs, next_state).
      sample_ids_shape: shape of what `sample_fn` gives for one sequence, by default a scalar.
      sample_ids_dtype: its dtype, by default int32.
    """

    def __init__(
        self,
        initialize_fn: Callable[[], Any],
        sample_fn: Callable[..., Any],
        next_inputs_fn: Callable[..., Any],
        sample_ids_shape: ShapeLike | None = None,
        sample_ids_dtype: DTypeLike | None = None,
    ) -> None:
        self._initialize_fn = initialize_fn
        self._sample_fn = sample_fn
        self._next_inputs_fn = next_inputs_fn
        self._batch_size: Any = None
        self._sample_ids_shape = TensorShape([] if sample_ids_shape is None else sample_ids_shape)
        self._sample_ids_dtype = as_dtype(sample_ids_dtype or int32)

    @property
    def batch_size(self) -> Any:
        """Number of sequences. Raises ValueError before `initialize`."""
        if self._batch_size is None:
            raise ValueError("batch_size accessed before initialize was called")
        return self._batch_size

    sample_ids_shape: Any = forwards("_sample_ids_shape", "Shape of the ids of one sequence.")
    sample_ids_dtype: Any = forwards("_sample_ids_dtype", "Dtype of the ids.")

    def initialize(self, name: str | None = None) -> Any:
        """Return what `initialize_fn` gives."""
        with name_scope(name, f"{type(self).__name__}Initialize"):
            finished, inputs = self._initialize_fn()
            if self._batch_size is None:
                self._batch_size = num_elements(finished)
        return finished, inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return what `sample_fn` gives."""
        with name_scope(name, f"{type(self).__name__}Sample"):
            return self._sample_fn(time=time, outputs=outputs, state=state)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """Return what `next_inputs_fn` gives."""
        with name_scope(name, f"{type(self).__name__}NextInputs"):
            return self._next_inputs_fn(
                time=time, outputs=outputs, state=state, sample_ids=sample_ids
            )


class _ChoosesIds(Helper):
    """What helpers share whose choice is one id for each sequence."""

    _batch_size: Any

    batch_size: Any = forwards("_batch_size", "Number of sequences, a scalar int32 tensor.")

    @property
    def sample_ids_shape(self) -> TensorShape:
        """One id for each sequence."""
        return TensorShape([])

    @property
    def sample_ids_dtype(self) -> DType:
        """Ids are int32."""
        return int32


class TrainingHelper(_ChoosesIds):
    """A helper that reads the targets, whatever was written.

    Args:
      inputs: [batch, time, ...], what is read at each step.
      sequence_length: [batch] int32, how much of it.
      time_major: inputs are [time, batch, ...].
      name: name scope.

    Raises:
      ValueError: `sequence_length` is no vector.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     helper = tf.contrib.seq2seq.TrainingHelper(tf.ones([2, 5, 3]), [4, 0])
    ...     finished, inputs = helper.initialize()
    ...     sess.run(finished).tolist(), inputs.get_shape().as_list()
    ([False, True], [2, 3])
    """

    def __init__(
        self,
        inputs: TensorLike,
        sequence_length: TensorLike,
        time_major: bool = False,
        name: str | None = None,
    ) -> None:
        with name_scope(name, "TrainingHelper"):
            self._inputs = convert_to_tensor(inputs, name="inputs")
            lengths = convert_to_tensor(sequence_length, name="sequence_length")
            if lengths.get_shape().ndims != 1:
                raise ValueError(
                    "Expected sequence_length to be a vector, but received shape: "
                    f"{lengths.get_shape()}"
                )
            self._sequence_length = lengths
            steps = self._inputs if time_major else swapped(self._inputs)
            self._steps = _unstacked(steps)
            self._zero_inputs = zeros_like(steps[0])
            self._batch_size = num_elements(lengths)

    inputs: Tensor = forwards("_inputs", "What is read.")
    sequence_length: Tensor = forwards("_sequence_length", "How much of it, [batch].")

    def initialize(self, name: str | None = None) -> Any:
        """Return which sequences are empty, and the first inputs."""
        with name_scope(name, f"{type(self).__name__}Initialize"):
            return self._read(convert_to_tensor(0))

    def _read(self, time: Any) -> tuple[Tensor, Tensor]:
        finished = greater_equal(time, cast(self._sequence_length, int32))
        inputs = cond(
            reduce_all(finished), lambda: self._zero_inputs, lambda: self._steps.read(time)
        )
        return finished, inputs

    def sample(
        self, time: Any, outputs: Any, state: Any = None, name: str | None = None, **kwargs: Any
    ) -> Any:
        """Return the ids of the largest outputs, or what the class says."""
        with name_scope(name, f"{type(self).__name__}Sample"):
            return self._sampled(outputs)

    def _sampled(self, outputs: Any) -> Any:
        return argmax(outputs, axis=-1, output_type=int32)

    def next_inputs(
        self,
        time: Any,
        outputs: Any,
        state: Any,
        sample_ids: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return (finished, the inputs of the step after `time`, or what the class says, state)."""
        with name_scope(name, f"{type(self).__name__}NextInputs"):
            following = time + 1
            finished, targets = self._read(following)
            inputs = self._inputs_of(following, outputs, sample_ids, finished, targets)
            return finished, inputs, state

    def _inputs_of(
        self, time: Any, outputs: Any, ids: Any, finished: Tensor, targets: Tensor
    ) -> Tensor:
        """Return what is read at `time`, which has some targets, after the ids of some outputs."""
        return targets


def _unstacked(steps: Tensor) -> TensorArray:
    dtype = steps.dtype.base_dtype
    array = TensorArray(
        dtype, size=shape_of(steps)[0], clear_after_read=False, element_shape=steps.get_shape()[1:]
    )
    return array.unstack(steps)


def _probability(value: TensorLike) -> Tensor:
    probability = convert_to_tensor(value, name="sampling_probability")
    if probability.get_shape().ndims not in (0, 1):
        raise ValueError(
            "sampling_probability must be either a scalar or a vector. saw shape: "
            f"{probability.get_shape()}"
        )
    return probability


def _mixed(is_chosen: Tensor, chosen: Callable[[Tensor], Tensor], rest: Tensor) -> Tensor:
    """Return the rows of `rest`, but ``chosen(places)`` where `is_chosen`.

    Only rows that were chosen are computed, so that others have no part in gradients.
    """
    places = cast(where(is_chosen), int32)
    others = cast(where(logical_not(is_chosen)), int32)
    shape = shape_of(rest)
    result = scatter_nd(places, chosen(places), shape) + scatter_nd(
        others, gather_nd(rest, others), shape
    )
    result.set_shape(rest.get_shape())
    return result


class ScheduledEmbeddingTrainingHelper(TrainingHelper):
    """A helper that reads the targets, or by chance the embedding of an id drawn from the outputs.

    Args:
      embedding: a function of ids, or a table of rows.
      sampling_probability: scalar, how often an id is drawn.
      seed: of the ids; `scheduling_seed`: of whether they are drawn.
      inputs, sequence_length, time_major, name: see `TrainingHelper`.

    Its `sample` gives ids drawn from the outputs as logits, and -1 where the target is read.

    Raises:
      ValueError: `sampling_probability` is neither a scalar nor a vector.
    """

    @with_arguments_in_order(
        "inputs sequence_length embedding sampling_probability time_major seed scheduling_seed "
        "name",
        TrainingHelper.__init__,
    )
    def __init__(
        self,
        embedding: Any,
        sampling_probability: TensorLike,
        seed: int | None = None,
        scheduling_seed: int | None = None,
        **of_training: Any,
    ) -> None:
        super().__init__(**of_training)
        self._embedding_fn = embedding_function(embedding)
        self._sampling_probability = _probability(sampling_probability)
        self._seed = seed
        self._scheduling_seed = scheduling_seed

    def _sampled(self, outputs: Any) -> Any:
        is_drawn = Bernoulli(probs=self._sampling_probability, dtype=bool_).sample(
            self.batch_size, seed=self._scheduling_seed
        )
        ids = Categorical(logits=outputs).sample(seed=self._seed)
        return where(is_drawn, ids, fill([self.batch_size], -1))

    def _inputs_of(
        self, time: Any, outputs: Any, ids: Any, finished: Tensor, targets: Tensor
    ) -> Tensor:
        def mixed() -> Tensor:
            def embedded(places: Tensor) -> Tensor:
                return self._embedding_fn(gather_nd(ids, places))

            return _mixed(greater(ids, -1), embedded, targets)

        return cond(reduce_all(finished), lambda: targets, mixed)


class ScheduledOutputTrainingHelper(TrainingHelper):
    """A helper that reads the targets, or by chance the outputs themselves.

    Args:
      sampling_probability: scalar, how often outputs are read.
      seed: of whether they are.
      next_inputs_fn: function of outputs that makes inputs of them; by default they are.
      auxiliary_inputs: [batch, time, ...] that are joined to inputs and outputs along the last
        axis.
      inputs, sequence_length, time_major, name: see `TrainingHelper`.

    Its `sample` gives 1 where the outputs are read next, else 0.

    Raises:
      ValueError: `sampling_probability` is neither a scalar nor a vector.
    """

    def __init__(
        self,
        inputs: TensorLike,
        sequence_length: TensorLike,
        sampling_probability: TensorLike,
        time_major: bool = False,
        seed: int | None = None,
        next_inputs_fn: Callable[[Any], Any] | None = None,
        auxiliary_inputs: TensorLike | None = None,
        name: str | None = None,
    ) -> None:
        self._auxiliary: TensorArray | None = None
        if auxiliary_inputs is not None:
            more = convert_to_tensor(auxiliary_inputs, name="auxiliary_inputs")
            inputs = concat([convert_to_tensor(inputs), more], -1)
            self._auxiliary = _unstacked(more if time_major else swapped(more))
        super().__init__(inputs, sequence_length, time_major, name)
        self._sampling_probability = _probability(sampling_probability)
        self._seed = seed
        self._next_inputs_fn = next_inputs_fn

    def _sampled(self, outputs: Any) -> Any:
        draws = Bernoulli(probs=self._sampling_probability)
        return draws.sample(self.batch_size, seed=self._seed)

    def _inputs_of(
        self, time: Any, outputs: Any, ids: Any, finished: Tensor, targets: Tensor
    ) -> Tensor:
        is_read = cast(ids, bool_)

        def joined(values: Any, places: Any = None) -> Any:
            if self._auxiliary is None:
                return values
            more = self._auxiliary.read(time)
            return concat([values, more if places is None else gather_nd(more, places)], -1)

        def mixed() -> Tensor:
            make = self._next_inputs_fn
            if make is None:
                return where(is_read, joined(outputs), targets)
            return _mixed(
                is_read, lambda places: joined(make(gather_nd(outputs, places)), places), targets
            )

        is_plain = logical_or(reduce_all(finished), logical_not(reduce_any(is_read)))
        return cond(is_plain, lambda: targets, mixed)


class GreedyEmbeddingHelper(_ChoosesIds):
    """A helper that reads the embedding of the most probable id.

    Args:
      embedding: a function of ids, or a table of rows.
      start_tokens: [batch] int32, the ids read first.
      end_token: scalar int32, the id that ends a sequence.

    Raises:
      ValueError: `start_tokens` is no vector, or `end_token` no scalar.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     helper = tf.contrib.seq2seq.GreedyEmbeddingHelper(tf.eye(3), [0, 1], 2)
    ...     sess.run(helper.sample(0, tf.constant([[0.0, 2.0, 1.0]] * 2), None)).tolist()
    [1, 1]
    """

    def __init__(self, embedding: Any, start_tokens: TensorLike, end_token: TensorLike) -> None:
        self._embedding_fn = embedding_function(embedding)
        self._start_tokens, self._end_token = checked_tokens(start_tokens, end_token)
        self._batch_size = num_elements(self._start_tokens)
        self._start_inputs = self._embedding_fn(self._start_tokens)

    def initialize(self, name: str | None = None) -> Any:
        """Return that no sequence is finished, and the embeddings of `start_tokens`."""
        return fill([self._batch_size], False), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return the ids of the largest outputs. Raises TypeError unless they are one tensor."""
        return argmax(_one_tensor(outputs), axis=-1, output_type=int32)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """Return (which ids are `end_token`, embeddings of the ids, state)."""
        finished = equal(sample_ids, self._end_token)
        inputs = cond(
            reduce_all(finished), lambda: self._start_inputs, lambda: self._embedding_fn(sample_ids)
        )
        return finished, inputs, state


def _one_tensor(outputs: Any) -> Tensor:
    if not isinstance(outputs, Tensor):
        raise TypeError(f"Expected outputs to be a single Tensor, got: {type(outputs)}")
    return outputs


class SampleEmbeddingHelper(GreedyEmbeddingHelper):
    """A helper that reads the embedding of an id drawn from the outputs as logits.

    Args:
      softmax_temperature: scalar that divides the logits: above 1, ids are drawn more evenly.
      seed: of the ids.
      embedding, start_tokens, end_token: see `GreedyEmbeddingHelper`.
    """

    @with_arguments_in_order(
        "embedding start_tokens end_token softmax_temperature seed", GreedyEmbeddingHelper.__init__
    )
    def __init__(
        self, softmax_temperature: TensorLike | None = None, seed: int | None = None, **greedy: Any
    ) -> None:
        super().__init__(**greedy)
        self._softmax_temperature = softmax_temperature
        self._seed = seed

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return ids drawn. Raises TypeError unless the outputs are one tensor."""
        logits = _one_tensor(outputs)
        if self._softmax_temperature is not None:
            logits = logits / self._softmax_temperature
        return Categorical(logits=logits).sample(seed=self._seed)


class InferenceHelper(Helper):
    """A helper that reads what a function chooses.

    Args:
      sample_fn: function of outputs that gives the choice.
      sample_shape: its shape for one sequence.
      sample_dtype: its dtype.
      start_inputs: [batch, ...], the first inputs.
      end_fn: function of the choice that tells which sequences it ends, [batch] bool.
      next_inputs_fn: function of the choice that gives the next inputs; by default they are it.
    """

    def __init__(
        self,
        sample_fn: Callable[[Any], Any],
        sample_shape: ShapeLike,
        sample_dtype: DTypeLike,
        start_inputs: TensorLike,
        end_fn: Callable[[Any], Any],
        next_inputs_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self._sample_fn = sample_fn
        self._end_fn = end_fn
        self._sample_shape = TensorShape(sample_shape)
        self._sample_dtype = as_dtype(sample_dtype)
        self._next_inputs_fn = next_inputs_fn
        self._start_inputs = convert_to_tensor(start_inputs, name="start_inputs")
        self._batch_size = shape_of(self._start_inputs)[0]

    batch_size: Any = forwards("_batch_size", "Number of sequences, a scalar int32 tensor.")
    sample_ids_shape: Any = forwards("_sample_shape", "Shape of the choice of one sequence.")
    sample_ids_dtype: Any = forwards("_sample_dtype", "Dtype of the choice.")

    def initialize(self, name: str | None = None) -> Any:
        """Return that no sequence is finished, and `start_inputs`."""
        return fill([self._batch_size], False), self._start_inputs

    def sample(self, time: Any, outputs: Any, state: Any, name: str | None = None) -> Any:
        """Return what `sample_fn` gives."""
        return self._sample_fn(outputs)

    def next_inputs(
        self, time: Any, outputs: Any, state: Any, sample_ids: Any, name: str | None = None
    ) -> Any:
        """Return (what `end_fn` tells, the next inputs, state)."""
        make = self._next_inputs_fn
        return self._end_fn(sample_ids), sample_ids if make is None else make(sample_ids), state
