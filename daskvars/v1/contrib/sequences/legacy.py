"""Networks unrolled over lists of steps: ``tf.contrib.legacy_seq2seq``."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from daskvars.dtypes import DTypeLike, float32
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor
from daskvars.layers.recurrent.cell import RNNCell
from daskvars.layers.recurrent.rnn import static_rnn
from daskvars.ops.array.constant import size_along, zeros
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import reshape, stop_gradient
from daskvars.ops.control.cond import cond
from daskvars.ops.math.reduce import argmax, reduce_sum
from daskvars.ops.math.transcendental import tanh
from daskvars.ops.nn.bias import xw_plus_b
from daskvars.ops.nn.convolution.functions import conv2d
from daskvars.ops.nn.embedding import embedding_lookup
from daskvars.ops.nn.softmax import softmax
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.v1.contrib.networks.linear_maps import linear
from daskvars.v1.contrib.networks.projected_cells import EmbeddingWrapper, OutputProjectionWrapper
from daskvars.v1.contrib.trainings.sequence_losses import (
    legacy_sequence_loss,
    sequence_loss_by_example,
)
from daskvars.variables.scopes.scope_stack import get_variable_scope
from daskvars.variables.scopes.variable_scope import get_variable, variable_scope

LoopFunction = Callable[[Any, int], Any]
Written = tuple[list[Any], Any]


def rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    loop_function: LoopFunction | None = None,
    scope: Any = None,
) -> Written:
    """Return the outputs of a cell at each step, and the last state.

    Args:
      decoder_inputs: a [batch, size] for each step.
      initial_state: state of the cell.
      cell: an `RNNCell`.
      loop_function: function of the output before and the number of the step that gives its input,
        in place of all inputs but the first.
      scope: variable scope, by default "rnn_decoder".
    """
    with variable_scope(scope or "rnn_decoder"):
        state, outputs = initial_state, list[Any]()
        for number, given in enumerate(decoder_inputs):
            given = _input_of_step(number, given, outputs, loop_function)
            output, state = cell(given, state)
            outputs.append(output)
    return outputs, state


def _input_of_step(number: int, given: Any, outputs: list[Any], loop_function: Any) -> Any:
    """Return the input of a step; after the first, variables are shared."""
    if number > 0:
        get_variable_scope().reuse_variables()
        if loop_function is not None:
            with variable_scope("loop_function", reuse=True):
                return loop_function(outputs[-1], number)
    return given


def basic_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    dtype: DTypeLike = float32,
    scope: Any = None,
) -> Written:
    """Return the outputs and the last state of a cell that begins with the last state of a copy.

    Args:
      encoder_inputs: a [batch, size] for each step of the copy, which has variables of its own.
      decoder_inputs: a [batch, size] for each step of the cell.
      cell: an `RNNCell`.
      dtype: of the copy's first state.
      scope: variable scope, by default "basic_rnn_seq2seq".

    >>> with tf.Graph().as_default():
    ...     steps, cell = [tf.ones([2, 3])] * 2, tf.nn.rnn_cell.GRUCell(4)
    ...     outputs, state = tf.contrib.legacy_seq2seq.basic_rnn_seq2seq(steps, steps, cell)
    ...     len(outputs), state.get_shape().as_list()
    (2, [2, 4])
    """
    with variable_scope(scope or "basic_rnn_seq2seq"):
        _, state = static_rnn(copy.deepcopy(cell), encoder_inputs, dtype=dtype)
        return rnn_decoder(decoder_inputs, state, cell)


def tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    loop_function: LoopFunction | None = None,
    dtype: DTypeLike = float32,
    scope: Any = None,
) -> Written:
    """Return the outputs and the last state of a cell that read other steps before.

    Args:
      encoder_inputs: a [batch, size] for each step that is read first, with the same variables.
      scope: variable scope, by default "tied_rnn_seq2seq" under "combined_tied_rnn_seq2seq".
      decoder_inputs, cell, loop_function, dtype: see `basic_rnn_seq2seq` and `rnn_decoder`.
    """
    with variable_scope("combined_tied_rnn_seq2seq"):
        scope = scope or "tied_rnn_seq2seq"
        _, state = static_rnn(cell, encoder_inputs, dtype=dtype, scope=scope)
        get_variable_scope().reuse_variables()
        return rnn_decoder(decoder_inputs, state, cell, loop_function, scope)


def _embedded_choice(
    is_fed: bool, embedding: Any, output_projection: Any, is_trained: bool
) -> LoopFunction | None:
    """Return a function of outputs that gives the rows of the most probable ids, or None."""
    if not is_fed:
        return None

    def loop_function(previous: Any, _: int) -> Any:
        if output_projection is not None:
            previous = xw_plus_b(previous, output_projection[0], output_projection[1])
        rows = embedding_lookup(embedding, argmax(previous, 1))
        return rows if is_trained else stop_gradient(rows)

    return loop_function


def _table(num_symbols: int, embedding_size: int, projection: Any, dtype: Any) -> Any:
    """Return a table of rows, after a look at whether a projection gives logits of as many."""
    if projection is not None:
        for value, shape in zip(projection, ([None, num_symbols], [num_symbols]), strict=True):
            convert_to_tensor(value, dtype).get_shape().assert_is_compatible_with(shape)
    return get_variable("embedding", [num_symbols, embedding_size], dtype)


def embedding_rnn_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: bool = False,
    update_embedding_for_previous: bool = True,
    scope: Any = None,
) -> Written:
    """Return what `rnn_decoder` gives for ids, of which a table has rows.

    Args:
      decoder_inputs: a [batch] integer for each step.
      initial_state, cell: see `rnn_decoder`.
      num_symbols: number of rows of the table.
      embedding_size: their size.
      output_projection: None, or weights [size, num_symbols] and biases [num_symbols] that make
        logits of outputs where `feed_previous`.
      feed_previous: read the most probable id of the step before, in place of ids after the first.
      update_embedding_for_previous: train the rows of ids that were read so.
      scope: variable scope, by default "embedding_rnn_decoder".

    Raises:
      ValueError: `output_projection` has other shapes.
    """
    with variable_scope(scope or "embedding_rnn_decoder") as scope:
        embedding = _table(num_symbols, embedding_size, output_projection, scope.dtype)
        loop_function = _embedded_choice(
            feed_previous, embedding, output_projection, update_embedding_for_previous
        )
        rows = [embedding_lookup(embedding, ids) for ids in decoder_inputs]
        return rnn_decoder(rows, initial_state, cell, loop_function)


def _decoded(
    feed_previous: Any, decode: Callable[..., Written], of_tensor: Mapping[str, Any]
) -> Written:
    """Return what `decode` gives, for a bool or for a scalar bool tensor.

    Args:
      feed_previous: whether outputs are read.
      decode: function of that, as a bool, and of what `of_tensor` names.
      of_tensor: its further arguments where `feed_previous` is a tensor.
    """
    if isinstance(feed_previous, bool):
        return decode(feed_previous)

    def branch(is_fed: bool) -> Any:
        with variable_scope(get_variable_scope(), reuse=None if is_fed else True):
            return decode(is_fed, **of_tensor)

    outputs, state = cond(feed_previous, lambda: branch(True), lambda: branch(False))
    return list(outputs), state


def embedding_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: Any = None,
) -> Written:
    """Return the outputs and the last state of `basic_rnn_seq2seq` for ids.

    Args:
      encoder_inputs, decoder_inputs: a [batch] integer for each step.
      cell: an `RNNCell`.
      num_encoder_symbols, num_decoder_symbols: numbers of rows of both tables.
      embedding_size: size of the rows.
      output_projection: see `embedding_rnn_decoder`; by default outputs are projected to
        `num_decoder_symbols`.
      feed_previous: see there; or a scalar bool tensor.
      dtype: of the first state, by default that of the scope.
      scope: variable scope, by default "embedding_rnn_seq2seq".
    """
    with variable_scope(scope or "embedding_rnn_seq2seq", dtype=dtype) as scope:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        _, encoded = static_rnn(encoder, encoder_inputs, dtype=scope.dtype)
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)

        def decode(is_fed: bool, **more: Any) -> Written:
            return embedding_rnn_decoder(
                decoder_inputs,
                encoded,
                cell,
                num_decoder_symbols,
                embedding_size,
                output_projection,
                is_fed,
                **more,
            )

        return _decoded(feed_previous, decode, {"update_embedding_for_previous": False})


def embedding_tied_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    cell: Any,
    num_symbols: int,
    embedding_size: int,
    num_decoder_symbols: int | None = None,
    output_projection: Any = None,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: Any = None,
) -> Written:
    """Return the outputs and the last state of `tied_rnn_seq2seq` for ids of one table.

    Args:
      num_symbols: number of rows of the table.
      num_decoder_symbols: size of the outputs, by default `num_symbols`.
      scope: variable scope, by default "embedding_tied_rnn_seq2seq".
      encoder_inputs, decoder_inputs, cell, embedding_size, output_projection, feed_previous,
        dtype: see `embedding_rnn_seq2seq`.

    Raises:
      ValueError: `output_projection` has other shapes.
    """
    with variable_scope(scope or "embedding_tied_rnn_seq2seq", dtype=dtype) as scope:
        embedding = _table(num_symbols, embedding_size, output_projection, scope.dtype)
        read, written = (
            [embedding_lookup(embedding, ids) for ids in inputs]
            for inputs in (encoder_inputs, decoder_inputs)
        )
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols or num_symbols)

        def decode(is_fed: bool, is_trained: bool = True) -> Written:
            loop_function = _embedded_choice(is_fed, embedding, output_projection, is_trained)
            return tied_rnn_seq2seq(read, written, cell, loop_function, scope.dtype)

        return _decoded(feed_previous, decode, {"is_trained": False})


def attention_decoder(
    decoder_inputs: Sequence[Any],
    initial_state: Any,
    attention_states: Any,
    cell: Any,
    output_size: int | None = None,
    num_heads: int = 1,
    loop_function: LoopFunction | None = None,
    dtype: DTypeLike | None = None,
    scope: Any = None,
    initial_state_attention: bool = False,
) -> Written:
    """Return the outputs and the last state of a cell that looks into a memory at each step.

    Args:
      decoder_inputs: a [batch, size] for each step.
      initial_state: state of the cell.
      attention_states: [batch, places, depth], the memory.
      cell: an `RNNCell`.
      output_size: size of the outputs, by default that of the cell's.
      num_heads: how often each step looks there.
      loop_function: see `rnn_decoder`.
      dtype: of the variables, by default that of the scope.
      scope: variable scope, by default "attention_decoder".
      initial_state_attention: the first step joins its input with what the first state finds there,
        rather than with zeros.

    Raises:
      ValueError: there are no inputs or heads; the depth, or the size of an input, is not known.

    Source: TensorFlow 1.8; Vinyals et al., "Grammar as a Foreign Language", 2015.
    """
    if not decoder_inputs:
        raise ValueError("Must provide at least 1 input to attention decoder.")
    if num_heads < 1:
        raise ValueError("With less than 1 heads, use a non-attention decoder.")
    depth = attention_states.get_shape().as_list()[2]
    if depth is None:
        raise ValueError(
            f"Shape[2] of attention_states must be known: {attention_states.get_shape()}"
        )
    with variable_scope(scope or "attention_decoder", dtype=dtype) as scope:
        places = size_along(attention_states, 1)
        memory = reshape(attention_states, [-1, places, 1, depth])
        features, weights = [], []
        for head in range(num_heads):
            kernel = get_variable(f"AttnW_{head}", [1, 1, depth, depth])
            features.append(conv2d(memory, kernel, [1, 1, 1, 1], "SAME"))
            weights.append(get_variable(f"AttnV_{head}", [depth]))

        def attend(query: Any) -> list[Any]:
            parts, found = nest.flatten(query), []
            query = parts[0] if len(parts) == 1 else concat(parts, 1)
            for head in range(num_heads):
                with variable_scope(f"Attention_{head}"):
                    y = reshape(linear(query, depth, True), [-1, 1, 1, depth])
                    score = reduce_sum(weights[head] * tanh(features[head] + y), [2, 3])
                    shares = reshape(softmax(score), [-1, places, 1, 1])
                    found.append(reshape(reduce_sum(shares * memory, [1, 2]), [-1, depth]))
            return found

        state, outputs = initial_state, list[Any]()
        nothing = zeros([size_along(decoder_inputs[0], 0), depth], scope.dtype)
        attentions = attend(initial_state) if initial_state_attention else [nothing] * num_heads
        for number, given in enumerate(decoder_inputs):
            given = _input_of_step(number, given, outputs, loop_function)
            size = given.get_shape().with_rank(2).as_list()[1]
            if size is None:
                raise ValueError(f"Could not infer input size from input: {given.name}")
            output, state = cell(linear([given, *attentions], size, True), state)
            is_shared = True if number == 0 and initial_state_attention else None
            with variable_scope(get_variable_scope(), reuse=is_shared):
                attentions = attend(state)
            with variable_scope("AttnOutputProjection"):
                outputs.append(linear([output, *attentions], output_size or cell.output_size, True))
    return outputs, state


@with_arguments_in_order(
    "decoder_inputs initial_state attention_states cell num_symbols embedding_size num_heads "
    "output_size output_projection feed_previous update_embedding_for_previous dtype scope "
    "initial_state_attention",
    embedding_rnn_decoder,
    attention_decoder,
)
def embedding_attention_decoder(
    decoder_inputs: Sequence[Any],
    num_symbols: int,
    embedding_size: int,
    output_projection: Any,
    feed_previous: bool,
    update_embedding_for_previous: bool,
    dtype: DTypeLike | None,
    scope: Any,
    **arguments: Any,
) -> Written:
    """Return what `attention_decoder` gives for ids, of which a table has rows.

    Args:
      scope: variable scope, by default "embedding_attention_decoder".

    Raises:
      ValueError: `output_projection` has other shapes.
    """
    with variable_scope(scope or "embedding_attention_decoder", dtype=dtype) as scope:
        embedding = _table(num_symbols, embedding_size, output_projection, scope.dtype)
        loop_function = _embedded_choice(
            feed_previous, embedding, output_projection, update_embedding_for_previous
        )
        rows = [embedding_lookup(embedding, ids) for ids in decoder_inputs]
        return attention_decoder(rows, loop_function=loop_function, **arguments)


@with_arguments_in_order(
    "encoder_inputs decoder_inputs cell num_encoder_symbols num_decoder_symbols embedding_size "
    "num_heads output_projection feed_previous dtype scope initial_state_attention",
    embedding_rnn_seq2seq,
    attention_decoder,
)
def embedding_attention_seq2seq(
    encoder_inputs: Sequence[Any],
    cell: Any,
    num_encoder_symbols: int,
    num_decoder_symbols: int,
    embedding_size: int,
    output_projection: Any,
    feed_previous: Any,
    dtype: DTypeLike | None,
    scope: Any,
    **arguments: Any,
) -> Written:
    """Return what `embedding_rnn_seq2seq` does, with attention to the encoder's outputs.

    Args:
      scope: variable scope, by default "embedding_attention_seq2seq".
    """
    with variable_scope(scope or "embedding_attention_seq2seq", dtype=dtype) as scope:
        encoder = EmbeddingWrapper(copy.deepcopy(cell), num_encoder_symbols, embedding_size)
        outputs, encoded = static_rnn(encoder, encoder_inputs, dtype=scope.dtype)
        memory = concat([reshape(each, [-1, 1, cell.output_size]) for each in outputs], 1)
        output_size = None
        if output_projection is None:
            cell = OutputProjectionWrapper(cell, num_decoder_symbols)
            output_size = num_decoder_symbols

        def decode(is_fed: bool, **more: Any) -> Written:
            return embedding_attention_decoder(
                initial_state=encoded,
                attention_states=memory,
                cell=cell,
                num_symbols=num_decoder_symbols,
                embedding_size=embedding_size,
                output_size=output_size,
                output_projection=output_projection,
                feed_previous=is_fed,
                **arguments,
                **more,
            )

        return _decoded(feed_previous, decode, {"update_embedding_for_previous": False})


def one2many_rnn_seq2seq(
    encoder_inputs: Sequence[Any],
    decoder_inputs_dict: Mapping[str, Sequence[Any]],
    enc_cell: Any,
    dec_cells_dict: Mapping[str, Any],
    num_encoder_symbols: int,
    num_decoder_symbols_dict: Mapping[str, int],
    embedding_size: int,
    feed_previous: Any = False,
    dtype: DTypeLike | None = None,
    scope: Any = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the outputs and last states of several decoders of one encoder, by name.

    Args:
      encoder_inputs: a [batch] integer for each step.
      decoder_inputs_dict: the same for each decoder, by its name.
      enc_cell: an `RNNCell`.
      dec_cells_dict: an `RNNCell` for each decoder.
      num_encoder_symbols: number of rows of the encoder's table.
      num_decoder_symbols_dict: those of each decoder's.
      scope: variable scope, by default "one2many_rnn_seq2seq".
      embedding_size, feed_previous, dtype: see `embedding_rnn_seq2seq`.

    Raises:
      TypeError: a cell is none.
      ValueError: cells and inputs are of other decoders.
    """
    if set(dec_cells_dict) != set(decoder_inputs_dict):
        raise ValueError(
            "keys of dec_cells_dict != keys of decoder_inputs_dict: "
            f"{sorted(dec_cells_dict)}, {sorted(decoder_inputs_dict)}"
        )
    for cell in (enc_cell, *dec_cells_dict.values()):
        if not isinstance(cell, RNNCell):
            raise TypeError(f"enc_cell or dec_cell is not an RNNCell: {type(cell)}")
    outputs, states = dict[str, Any](), dict[str, Any]()
    with variable_scope(scope or "one2many_rnn_seq2seq", dtype=dtype) as scope:
        encoder = EmbeddingWrapper(enc_cell, num_encoder_symbols, embedding_size)
        _, encoded = static_rnn(encoder, encoder_inputs, dtype=scope.dtype)
        for name, inputs in decoder_inputs_dict.items():
            symbols = num_decoder_symbols_dict[name]
            with variable_scope(f"one2many_decoder_{name}"):
                projected = OutputProjectionWrapper(dec_cells_dict[name], symbols)

                def decode(
                    is_fed: bool, inputs: Any = inputs, cell: Any = projected, count: int = symbols
                ) -> Written:
                    return embedding_rnn_decoder(
                        inputs, encoded, cell, count, embedding_size, feed_previous=is_fed
                    )

                outputs[name], states[name] = _decoded(feed_previous, decode, {})
    return outputs, states


def model_with_buckets(
    encoder_inputs: Sequence[Any],
    decoder_inputs: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    buckets: Sequence[tuple[int, int]],
    seq2seq: Callable[[Any, Any], Any],
    softmax_loss_function: Callable[..., Any] | None = None,
    per_example_loss: bool = False,
    name: str | None = None,
) -> tuple[list[Any], list[Tensor]]:
    """Return the outputs and losses of a model for sequences of several lengths.

    Args:
      encoder_inputs, decoder_inputs: an input for each step.
      targets: a [batch] integer for each step.
      weights: a [batch] floating for each step.
      buckets: pairs of lengths of both inputs, the longest last.
      seq2seq: function of both inputs that gives (outputs, state). Its variables are shared.
      softmax_loss_function: see `sequence_loss`.
      per_example_loss: losses are [batch], rather than their mean.
      name: name scope, by default "model_with_buckets".

    Raises:
      ValueError: there are fewer steps than the last bucket has.
    """
    sizes = (
        ("encoder_inputs", encoder_inputs, 0),
        ("targets", targets, 1),
        ("weights", weights, 1),
    )
    for what, steps, side in sizes:
        if len(steps) < buckets[-1][side]:
            raise ValueError(
                f"Length of {what} ({len(steps)}) must be at least that of last bucket "
                f"({buckets[-1][side]})."
            )
    loss = sequence_loss_by_example if per_example_loss else legacy_sequence_loss
    outputs, losses = list[Any](), list[Tensor]()
    given = [*encoder_inputs, *decoder_inputs, *targets, *weights]
    with name_scope(name, "model_with_buckets", given):
        for number, (read, written) in enumerate(buckets):
            with variable_scope(get_variable_scope(), reuse=True if number > 0 else None):
                steps, _ = seq2seq(encoder_inputs[:read], decoder_inputs[:written])
            outputs.append(steps)
            losses.append(
                loss(
                    steps,
                    targets[:written],
                    weights[:written],
                    softmax_loss_function=softmax_loss_function,
                )
            )
    return outputs, losses
