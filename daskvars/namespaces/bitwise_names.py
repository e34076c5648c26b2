"""Integers bit by bit, the names of ``tf.bitwise``."""

# fmt: off
from daskvars.ops.math.bitwise import (
    bitwise_and, bitwise_or, bitwise_xor, invert, left_shift, right_shift,
)

__all__ = [
    "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift",
]
