"""Summaries of tensors and collections, of ``tf.contrib.layers`` and ``slim.summaries``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from daskvars import summary
from daskvars.dtypes import bool as bool_dtype, float32, string
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.tensor import Tensor
from daskvars.ops.control.dependencies import Print
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater, less
from daskvars.ops.math.counting import zero_fraction
from daskvars.ops.math.reduce import reduce_mean
from daskvars.variables.colocation import owner

# -- of contrib.layers ---------------------------------------------------------------------------


def summarize_activation(op: Tensor) -> Tensor:
    """Add a histogram of an activation, and for rectified ones the share of what is cut off."""
    kind, name = op.op.type, op.op.name
    if kind in ("Relu", "Softplus", "Relu6"):
        before = op.op.inputs[0]
        summary.scalar(f"{name}/zeros", reduce_mean(cast(less(before, 0), float32)))
        if kind == "Relu6":
            summary.scalar(f"{name}/sixes", reduce_mean(cast(greater(before, 6), float32)))
    return summary.histogram(f"{name}/activation", op)


def summarize_tensor(tensor: Any, tag: str | None = None) -> Tensor | None:
    """Add a summary of a tensor, the value of a scalar or a histogram, and return it.

    Args:
      tensor: of any dtype; text and bool give none.
      tag: name of the summary, by default that of the tensor with "_summary" behind it.
    """
    if tensor.dtype.base_dtype in (string, bool_dtype):
        return None
    write = summary.scalar if tensor.get_shape().ndims == 0 else summary.histogram
    return write(tag or f"{tensor.op.name}_summary", tensor)


def summarize_tensors(
    tensors: Iterable[Any], summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """Return what `summarizer` gives for each tensor."""
    return [summarizer(tensor) for tensor in tensors]


def summarize_collection(
    collection: str,
    name_filter: str | None = None,
    summarizer: Callable[[Any], Any] = summarize_tensor,
) -> list[Any]:
    """Summarize what is in a collection.

    Args:
      collection: its name.
      name_filter: regular expression that names must begin with.
      summarizer: function of one tensor or variable.
    """
    found = owner().get_collection(collection)
    if name_filter is not None:
        found = [item for item in found if re.match(name_filter, item.op.name)]
    return summarize_tensors(found, summarizer)


summarize_variables = partial(summarize_collection, GraphKeys.GLOBAL_VARIABLES)
summarize_weights = partial(summarize_collection, GraphKeys.WEIGHTS)
summarize_biases = partial(summarize_collection, GraphKeys.BIASES)
summarize_activations = partial(
    summarize_collection, GraphKeys.ACTIVATIONS, summarizer=summarize_activation
)

# -- of slim -------------------------------------------------------------------------------------


def _name(tensor: Any, name: str | None, prefix: str | None) -> str:
    name = name or tensor.op.name
    return f"{prefix}/{name}" if prefix else name


def _printed(write: Callable[..., Tensor], tensor: Any, name: str, print_summary: bool) -> Tensor:
    """Write a summary, and the tensor itself whenever the summary is computed."""
    if not print_summary:
        return write(name, tensor)
    made = Print(write(name, tensor, collections=[]), [tensor], name)
    owner().add_to_collection(GraphKeys.SUMMARIES, made)
    return made


def add_histogram_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None
) -> Tensor:
    """Add a histogram, by default named as the tensor; `prefix` goes before the name."""
    return summary.histogram(_name(tensor, name, prefix), tensor)


def add_image_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Add images, by default named as the tensor; `print_summary` prints the tensor too."""
    return _printed(summary.image, tensor, _name(tensor, name, prefix), print_summary)


def add_scalar_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Add a value, by default named as the tensor; `print_summary` prints the tensor too."""
    return _printed(summary.scalar, tensor, _name(tensor, name, prefix), print_summary)


def add_zero_fraction_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Add the share of zeros, ``Fraction_of_Zero_Values`` under the name of the tensor."""
    full = f"{_name(tensor, name, prefix)}/Fraction_of_Zero_Values"
    return add_scalar_summary(zero_fraction(tensor), full, print_summary=print_summary)


def add_histogram_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """Add a histogram of each tensor."""
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


def add_image_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """Add images of each tensor."""
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


def add_scalar_summaries(
    tensors: Iterable[Any], prefix: str | None = None, print_summary: bool = False
) -> list[Tensor]:
    """Add the value of each tensor."""
    return [add_scalar_summary(t, prefix=prefix, print_summary=print_summary) for t in tensors]


def add_zero_fraction_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Tensor]:
    """Add the share of zeros of each tensor."""
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]
