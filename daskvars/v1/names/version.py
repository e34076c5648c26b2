"""Which TensorFlow these names and rules are of: `tf.version`."""

__all__ = ["COMPILER_VERSION", "GIT_VERSION", "VERSION"]

# What programs compare it with is old.
VERSION = "1.15.0"
GIT_VERSION = f"v{VERSION}-daskvars"
COMPILER_VERSION = ""  # nothing is compiled
