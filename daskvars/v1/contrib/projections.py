"""What TensorBoard's projector is to show: ``tf.contrib.tensorboard.plugins.projector``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from daskvars.summary.file_writer import FileWriter
from daskvars.summary.projector import CONFIG
from daskvars.v1 import gfile

__all__ = ["EmbeddingInfo", "ProjectorConfig", "SpriteMetadata", "visualize_embeddings"]


class _Embeddings(list):
    """The tables of a configuration."""

    def add(self, **given: Any) -> EmbeddingInfo:
        """Append a new `EmbeddingInfo`, and return it."""
        self.append(EmbeddingInfo(**given))
        return self[-1]


@dataclass
class SpriteMetadata:
    """One image for each point, in one file.

    Args:
      single_image_dim: width and height of an image.

    Source: TensorFlow 1.15, ``tf.contrib.tensorboard.plugins.projector``.

    >>> SpriteMetadata("digits.png", [28, 28]).single_image_dim
    [28, 28]
    """

    image_path: str = ""
    single_image_dim: list[int] = field(default_factory=list)


@dataclass
class EmbeddingInfo:
    """A table whose rows are points.

    Args:
      tensor_name: the variable's name.
      metadata_path: path of a file with a line for each row.
      bookmarks_path: path of a file with views.
      tensor_shape: its rows and columns.
      sprite: a `SpriteMetadata`.
      tensor_path: path of a file with the numbers, instead of a checkpoint.

    Source: TensorFlow 1.15, ``tf.contrib.tensorboard.plugins.projector``.

    >>> EmbeddingInfo(tensor_name="words", metadata_path="words.tsv").tensor_name
    'words'
    """

    tensor_name: str = ""
    metadata_path: str = ""
    bookmarks_path: str = ""
    tensor_shape: list[int] = field(default_factory=list)
    sprite: SpriteMetadata = field(default_factory=SpriteMetadata)
    tensor_path: str = ""


@dataclass
class ProjectorConfig:
    """What the projector shows.

    Args:
      model_checkpoint_path: path of the checkpoint that has the tables.
      embeddings: `EmbeddingInfo` objects; its ``add()`` appends one.
      model_checkpoint_dir: a directory of checkpoints.

    Source: TensorFlow 1.15, ``tf.contrib.tensorboard.plugins.projector``.

    >>> config = ProjectorConfig()
    >>> words = config.embeddings.add()
    >>> words.tensor_name = "words"
    >>> len(config.embeddings)
    1
    """

    model_checkpoint_path: str = ""
    embeddings: _Embeddings = field(default_factory=_Embeddings)
    model_checkpoint_dir: str = ""


def visualize_embeddings(summary_writer: FileWriter, config: ProjectorConfig) -> None:
    """Write what the projector is to show into the directory of a writer.

    TensorBoard reads tables out of checkpoints only where TensorFlow is installed, and then
    TensorFlow's; `summary.projector` writes them as files that it reads everywhere.

    Args:
      summary_writer: a `tf.summary.FileWriter`.
      config: a `ProjectorConfig`.

    Raises:
      ValueError: the writer has no directory.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> config = ProjectorConfig()
    >>> config.embeddings.add().tensor_name = "words"
    >>> visualize_embeddings(tf.summary.FileWriter(folder), config)
    >>> print(open(os.path.join(folder, "projector_config.pbtxt")).read(), end="")
    embeddings {
      tensor_name: "words"
    }
    """
    folder = summary_writer.get_logdir()
    if not folder:
        raise ValueError("Summary writer must have a logdir")
    with gfile.GFile(os.path.join(folder, CONFIG), "w") as file:
        file.write("".join(f"{line}\n" for line in _lines(config)))


def _lines(record: Any, indent: str = "") -> Iterator[str]:
    """Yield a record as text of protocol buffers: what is not as it was made."""
    made = type(record)()
    for name in (each.name for each in fields(record)):
        value = getattr(record, name)
        if value == getattr(made, name):
            continue
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str | int):
                yield f"{indent}{name}: {json.dumps(item)}"
            else:
                yield f"{indent}{name} {{"
                yield from _lines(item, f"{indent}  ")
                yield f"{indent}}}"
