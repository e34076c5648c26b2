"""Sets along the last dimension, the names of ``tf.sets``."""

# fmt: off
from daskvars.ops.sparse.sets import set_difference, set_intersection, set_size, set_union
from daskvars.ops.sparse.sets import set_difference as difference
from daskvars.ops.sparse.sets import set_intersection as intersection
from daskvars.ops.sparse.sets import set_size as size
from daskvars.ops.sparse.sets import set_union as union

__all__ = [
    "difference", "intersection", "set_difference", "set_intersection", "set_size", "set_union",
    "size", "union",
]
