"""Ops as TensorFlow's runtime calls them: the names of ``tf.raw_ops`` that have no other."""

from daskvars.v1.switching import Merge, Switch

__all__ = ["Merge", "Switch"]
