"""Rows of a checkpoint's variable in the order of another vocabulary."""

from __future__ import annotations

from typing import Any, NamedTuple

import fsspec
import numpy

from daskvars.errors import did_you_mean
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.constant import zeros
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import where_v2
from daskvars.ops.state.checkpoints import restore_v2
from daskvars.state.stores.addresses import local_path
from daskvars.train.checkpoints.initializers import begin_with
from daskvars.train.checkpoints.reader import CheckpointReader, checkpoint_path
from daskvars.variables.variable import Variable


class VocabInfo(NamedTuple):
    """The vocabularies that a variable's rows go by, in a new model and in an earlier one.

    A vocabulary is a text file with a word in each line. Words of the new one that the earlier one
    has begin with its rows, wherever these were; the others, and those of the buckets, as
    `backup_initializer` says.

    Args:
      new_vocab: path of the new vocabulary.
      new_vocab_size: how many of its words the new model uses.
      num_oov_buckets: how many rows follow, for words that are none of these.
      old_vocab: path of the vocabulary of the checkpoint.
      old_vocab_size: how many of its words the earlier model used, -1 for all.
      backup_initializer: what makes the rows of new words, by default zeros.
      axis: 0, the words are rows; or 1, columns.

    Source: TensorFlow 1.15, ``tf.train.VocabInfo``.

    >>> VocabInfo("new.txt", 1000, 1, "old.txt").old_vocab_size
    -1
    """

    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0


def begin_with_words(
    variables: list[Variable], ckpt_dir_or_file: str, name: str, vocab: VocabInfo
) -> None:
    """Let a variable, or the parts of one, begin with a checkpoint's rows, word by word.

    The vocabularies are read now, the rows when the initializers run.

    Raises:
      ValueError: a vocabulary is not given, too short or has a word twice, or shapes or dtypes do
        not fit.
      NotFoundError: there is no checkpoint.
    """
    path = local_path(checkpoint_path(ckpt_dir_or_file))  # workers begin in folders of their own
    shapes = CheckpointReader(path).get_variable_to_shape_map()
    if name not in shapes:
        raise ValueError(
            f"Tensor {name} is not found in {path} checkpoint{did_you_mean(name, shapes)}"
        )
    if vocab.axis not in (0, 1):
        raise ValueError(
            "The only supported values for the axis argument are 0 and 1.  Provided axis: "
            f"{vocab.axis}"
        )
    found = _earlier_places(name, vocab)
    old_shape = shapes[name]
    _check_earlier(name, vocab, old_shape, found)
    for variable in variables:
        _begin_part(variable, path, (name, old_shape), vocab, found)


def _begin_part(
    variable: Variable, path: str, stored: tuple[str, list[int]], vocab: VocabInfo, found: Any
) -> None:
    name, old_shape = stored
    axis, info = vocab.axis, variable._get_save_slice_info()
    shape: Any = variable.handle.spec.shape
    if shape is None or None in shape:
        raise ValueError(f"variable {variable.name} has no known shape, but a vocabulary")
    whole = shape if info is None else tuple(info.full_shape)
    offset = [0] * len(shape) if info is None else list(info.var_offset)
    rest = [n for i, n in enumerate(whole) if i != axis]
    old_rest = [n for i, n in enumerate(old_shape) if i != axis]
    if rest != old_rest or whole[axis] > len(found):
        raise ValueError(
            f"Shape of variable {variable.name} ({whole}) doesn't match with {len(found)} words "
            f"and buckets of tensor {name} ({tuple(old_shape)}) along dimension {axis}"
        )
    places = found[offset[axis] : offset[axis] + shape[axis]]
    dtype = variable.dtype.base_dtype

    def value() -> Tensor:
        initializer = vocab.backup_initializer
        new = cast((initializer or zeros)(shape), dtype)
        if not (places >= 0).any():
            return new
        (old,) = restore_v2(path, [name], [""], [dtype], [old_shape], name="earlier")
        other = 1 - axis
        if len(shape) > 1 and shape[other] != old_shape[other]:  # a part
            columns = numpy.arange(offset[other], offset[other] + shape[other])
            old = gather(old, columns, axis=other)
        kept = gather(old, numpy.maximum(places, 0), axis=axis)
        is_kept = reshape(places >= 0, [-1 if i == axis else 1 for i in range(len(shape))])
        return where_v2(is_kept, kept, new)

    begin_with(variable, value)


def _earlier_places(name: str, vocab: VocabInfo) -> numpy.ndarray:
    """Return for each word and bucket where the checkpoint has it, -1 for nowhere."""
    if not (vocab.new_vocab and vocab.new_vocab_size and vocab.old_vocab):
        raise ValueError(
            f"the vocabularies of {name} need new_vocab, new_vocab_size and old_vocab, got {vocab}"
        )
    new = _words(vocab.new_vocab, vocab.new_vocab_size)
    old = _words(vocab.old_vocab, vocab.old_vocab_size)
    places = {word: place for place, word in enumerate(old)}
    return numpy.array([places.get(word, -1) for word in new] + [-1] * vocab.num_oov_buckets)


def _words(path: str, size: int) -> list[bytes]:
    with fsspec.open(path, "rb") as file:
        words: list[bytes] = file.read().splitlines()
    if len(words) < size:
        raise ValueError(f"vocabulary {path} has {len(words)} words, expected {size}")
    words = words if size < 0 else words[:size]
    if len(set(words)) < len(words):
        word = next(word for i, word in enumerate(words) if word in words[:i])
        raise ValueError(f"vocabulary {path} has the word {word!r} more than once")
    return words


def _check_earlier(name: str, vocab: VocabInfo, shape: list[int], found: numpy.ndarray) -> None:
    if vocab.axis >= len(shape):
        raise ValueError(f"tensor {name} of the checkpoint has shape {shape}, and no {vocab.axis}")
    last = int(found.max(initial=-1))
    if last >= shape[vocab.axis]:
        raise ValueError(
            f"tensor {name} of the checkpoint has {shape[vocab.axis]} entries along dimension "
            f"{vocab.axis}, fewer than its vocabulary {vocab.old_vocab}, of which word {last} is "
            "wanted; is old_vocab_size right?"
        )
