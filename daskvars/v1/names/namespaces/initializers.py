"""What ``tf.initializers`` has besides the package's: the operation that fills tables."""

from daskvars.variables.collections import tables_initializer

__all__ = ["tables_initializer"]
