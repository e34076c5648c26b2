"""Rearrangements, the names of ``tf.manip``."""

# fmt: off
from daskvars.ops.rearranging import batch_to_space_nd, reverse, roll, space_to_batch_nd
from daskvars.ops.repeating import tile
from daskvars.ops.reshaping import reshape
from daskvars.ops.scattering import gather_nd, scatter_nd

__all__ = [
    "batch_to_space_nd", "gather_nd", "reshape", "reverse", "roll", "scatter_nd",
    "space_to_batch_nd", "tile",
]
