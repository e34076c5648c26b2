"""Labels of sequences without their times: connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import int32, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.nn import ctc as kernels
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.array.joining import stack
from daskvars.ops.array.reshaping import expand_dims, prevent_gradient
from daskvars.ops.array.transposing import transpose
from daskvars.ops.gather_scatter.spreading import sparse_to_dense
from daskvars.ops.math.arithmetic import multiply
from daskvars.ops.math.casting import cast
from daskvars.ops.rules.axes import either
from daskvars.ops.sparse.indices import SparseLike, as_sparse


def _sequences(logits: Spec, lengths: Spec) -> tuple[int | None, ...]:
    """Return the shape of logits. Raises ValueError where the shapes do not fit."""
    shape = logits.shape or (None, None, None)
    if len(shape) != 3:
        raise ValueError(
            f"inputs must be [time, batch, classes], got shape {shapes.show(logits.shape)}"
        )
    if not shapes.compatible(lengths.shape, (shape[1],)):
        raise ValueError(
            f"sequence_length must be [batch], {shape[1]}; got {shapes.show(lengths.shape)}"
        )
    return shape


def _losses(inputs: Sequence[Spec], **attrs: Any) -> tuple[Spec, Spec]:
    shape = _sequences(inputs[0], inputs[2])
    if not shapes.compatible(inputs[1].shape, (shape[1], None)):
        raise ValueError(f"labels must be [batch, n], got {shapes.show(inputs[1].shape)}")
    return Spec(inputs[0].dtype, (shape[1],)), Spec(inputs[0].dtype, shape)


def _loss_gradient(op: Operation, dy: Tensor, _: Any) -> list[Tensor | None]:
    whole = expand_dims(expand_dims(dy, 0), -1)
    return [multiply(whole, prevent_gradient(op.outputs[1])), None, None]


_LOSS_KINDS = {
    "preprocess_collapse_repeated": kinds_of.BOOL,
    "ctc_merge_repeated": kinds_of.BOOL,
    "ignore_longer_outputs_than_inputs": kinds_of.BOOL,
}
CTC_LOSS = OpDef(
    "CTCLoss",
    "inputs:D, labels:I, sequence_length:I1",
    infer=_losses,
    pattern=Contraction("_b_,b_,b->b,_b_", None),
    kernel=kernels.ctc_loss,
    gradient=_loss_gradient,
    attributes=_LOSS_KINDS,
)


def ctc_loss(
    labels: SparseLike,
    inputs: TensorLike | None = None,
    sequence_length: TensorLike | None = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: TensorLike | None = None,
) -> Tensor:
    """Return how unlikely labels are, whenever they may be said (Graves et al., 2006).

    Args:
      labels: [batch, n] sparse int32: the labels of each sequence in their order, from 0 to
        ``classes - 2``.
      inputs: [time, batch, classes] floating; the last class is the blank.
      sequence_length: [batch] integer, how many times each sequence has.
      preprocess_collapse_repeated: make one of labels that are repeated in `labels`.
      ctc_merge_repeated: a label that is said for several times is one.
      ignore_longer_outputs_than_inputs: give 0 for sequences too short for their labels.
      time_major: False for `inputs` of [batch, time, classes].
      logits: another name of `inputs`.

    Returns:
      [batch] of the dtype of `inputs`, minus the logarithms of probabilities.

    Raises:
      ValueError: an argument is missing, or the shapes do not fit.
      TypeError: `labels` is not sparse.
      InvalidArgumentError: (when run) there is no such class, a sequence has no labels, or is too
        short for them.

    Source: TensorFlow 1.15, ``tf.nn.ctc_loss``.

    >>> labels = dv.SparseTensor([[0, 0]], dv.constant([0]), [1, 1])
    >>> round(float(ctc_loss(labels, dv.zeros([2, 1, 2]), [2])[0]), 4)  # -log(3 / 4)
    0.2877
    """
    given = either(logits, inputs, "logits", "inputs")
    if given is None or sequence_length is None:
        raise ValueError("ctc_loss() needs inputs and sequence_length")
    with name_scope(None, "ctc_loss", [given, sequence_length]):
        x = convert_to_tensor(given, name="inputs")
        lengths = convert_to_tensor(sequence_length, dtype_hint=int32)
        if not time_major:
            x = transpose(x, [1, 0, 2])
        _sequences(x.spec, lengths.spec)
        sparse = as_sparse(labels)
        width = cast(sparse.dense_shape, int64)[1]
        sizes = stack([cast(shape_of(x)[1], int64), width])
        none = convert_to_tensor(-1, sparse.dtype.base_dtype)
        dense = sparse_to_dense(sparse.indices, sizes, sparse.values, none)
        options: dict[str, Any] = {
            "preprocess_collapse_repeated": bool(preprocess_collapse_repeated),
            "ctc_merge_repeated": bool(ctc_merge_repeated),
            "ignore_longer_outputs_than_inputs": bool(ignore_longer_outputs_than_inputs),
        }
        return apply(CTC_LOSS, x, dense, lengths, **options)[0]


# -- decoded -----------------------------------------------------------------------------------


def _decoded(inputs: Sequence[Spec], *, top_paths: int = 1, **attrs: Any) -> tuple[Spec, ...]:
    shape = _sequences(inputs[0], inputs[1])
    places, values = Spec(int64, (None, 2)), Spec(int64, (None,))
    sizes, scores = Spec(int64, (2,)), Spec(inputs[0].dtype, (shape[1], top_paths))
    return (*[places] * top_paths, *[values] * top_paths, *[sizes] * top_paths, scores)


def _decoder(type: str, kernel: Any, **kinds: kinds_of.Kind) -> OpDef:
    attributes = {"merge_repeated": kinds_of.BOOL, **kinds}
    return without_gradient(
        type, "inputs:D, sequence_length:I", infer=_decoded, kernel=kernel, attributes=attributes
    )


GREEDY = _decoder("CTCGreedyDecoder", kernels.greedy_decoder)
BEAM_SEARCH = _decoder(
    "CTCBeamSearchDecoder",
    kernels.beam_search_decoder,
    beam_width=kinds_of.INT,
    top_paths=kinds_of.INT,
)


def ctc_greedy_decoder(
    inputs: TensorLike, sequence_length: TensorLike, merge_repeated: bool = True
) -> tuple[list[SparseTensor], Tensor]:
    """Return the likeliest label of each time, without repetitions and blanks.

    Args:
      inputs: [time, batch, classes] floating; the last class is the blank.
      sequence_length: [batch] integer, how many times each sequence has.
      merge_repeated: make one of what is repeated.

    Returns:
      A list of one [batch, n] sparse int64, and [batch, 1] of the dtype of `inputs`, minus the sum
      of the greatest logits.

    Raises:
      ValueError: the shapes do not fit.

    Source: TensorFlow 1.15, ``tf.nn.ctc_greedy_decoder``.

    >>> decoded, _ = ctc_greedy_decoder([[[5.0, 0, 0]], [[5.0, 0, 0]], [[0, 5.0, 0]]], [3])
    >>> decoded[0].values.numpy().tolist()
    [0, 1]
    """
    lengths = convert_to_tensor(sequence_length, dtype_hint=int32)
    *parts, scores = apply(GREEDY, inputs, lengths, merge_repeated=bool(merge_repeated))
    return [SparseTensor(*parts)], scores


def ctc_beam_search_decoder(
    inputs: TensorLike,
    sequence_length: TensorLike,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[SparseTensor], Tensor]:
    """Return the likeliest labels of sequences, found among as many as the beam is wide.

    Args:
      inputs: [time, batch, classes] floating; the last class is the blank.
      sequence_length: [batch] integer, how many times each sequence has.
      beam_width: how many beginnings are kept at a time.
      top_paths: how many results there are.
      merge_repeated: make one of labels that are repeated in a result, even with a blank between.

    Returns:
      A list of [batch, n] sparse int64, the likeliest first, and [batch, top_paths] of the dtype of
      `inputs`, the logarithms of their probabilities.

    Raises:
      ValueError: the shapes do not fit, or there are more results than the beam is wide.

    Source: TensorFlow 1.15, ``tf.nn.ctc_beam_search_decoder``.

    >>> sure = [[[9.0, 0.0, 0.0]], [[0.0, 0.0, 9.0]], [[0.0, 9.0, 0.0]]]
    >>> (labels,), scores = ctc_beam_search_decoder(sure, [3])
    >>> labels.values.numpy().tolist(), scores.shape.as_list()
    ([0, 1], [1, 1])
    """
    if not 1 <= top_paths <= beam_width:
        raise ValueError(f"top_paths must be from 1 to beam_width {beam_width}, got {top_paths}")
    lengths = convert_to_tensor(sequence_length, dtype_hint=int32)
    *parts, scores = apply(
        BEAM_SEARCH,
        inputs,
        lengths,
        merge_repeated=bool(merge_repeated),
        beam_width=int(beam_width),
        top_paths=int(top_paths),
    )
    triples = zip(*[parts[i * top_paths : (i + 1) * top_paths] for i in range(3)], strict=True)
    return [SparseTensor(*triple) for triple in triples], scores
