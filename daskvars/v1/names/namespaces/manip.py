"""Rearrangements, the names of ``tf.manip``."""

# fmt: off
from daskvars.ops.array.rearranging import batch_to_space_nd, reverse, roll, space_to_batch_nd
from daskvars.ops.array.repeating import tile
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.gather_scatter.scatter import gather_nd, scatter_nd

__all__ = [
    "batch_to_space_nd", "gather_nd", "reshape", "reverse", "roll", "scatter_nd",
    "space_to_batch_nd", "tile",
]
