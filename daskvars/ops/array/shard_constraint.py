"""A tensor that the user says is cut: a constraint for the planner."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from daskvars.errors import InvalidArgumentError
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import PASS_GRADIENT, OpDef
from daskvars.graph.definitions.patterns import Constraint
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Tensor
from daskvars.kernels.array import movement as kernels
from daskvars.ops.rules import axes
from daskvars.ops.rules.shapes import like_first

SHARD = OpDef(
    "Shard",
    "input:T",
    infer=lambda inputs, *, dim, parts: like_first(inputs),
    pattern=Constraint(),
    kernel=kernels.as_it_is,
    gradient=PASS_GRADIENT,
    static=axes.first_value,
)


def shard(input: Any, dim: int, parts: int | None = None, name: str | None = None) -> Tensor:
    """Return a tensor of the same value that is cut along a dimension, for those who know better.

    What is computed from it is cut alike as far as the dimension goes, and what it is computed from
    too, where nothing else says how that is cut. `Session.explain` tells what came of it.

    Args:
      input: [...] any dtype.
      dim: the dimension, negative ones counted from the last.
      parts: into how many parts, at most the dimension's size; None: one for each worker or thread.
        1 keeps it whole.
      name: name of the operation, by default "Shard".

    Returns:
      A tensor of the shape, dtype and value of `input`.

    Raises:
      InvalidArgumentError: there is no such dimension, or no part.
      TypeError: one is no whole number.

    >>> dv.shard(dv.ones([4, 2]), 0, parts=2).numpy().sum()
    np.float32(8.0)
    """
    tensor = convert_to_tensor(input)
    if not isinstance(dim, Integral) or not isinstance(parts, Integral | None):
        raise TypeError(
            "shard: dim is one dimension, parts a number of parts along it or None; "
            f"found dim={dim!r}, parts={parts!r}"
        )
    rank = tensor.shape.ndims
    if rank is not None and not -rank <= dim < rank:
        raise InvalidArgumentError(
            None, name, f"shard: a tensor of shape {tensor.shape} has no dimension {dim}"
        )
    if parts is not None and parts < 1:
        raise InvalidArgumentError(None, name, f"shard: parts must be 1 or more, found {parts}")
    return apply(SHARD, tensor, name=name, dim=dim, parts=parts)
