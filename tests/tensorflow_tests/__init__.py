"""TensorFlow 1.8's own tests, run against `daskvars.v1`.

They are no part of this project: ``DASKVARS_TENSORFLOW_TESTS`` names the root of a checkout of
TensorFlow 1.8. Of its ``tensorflow/``, ``python``, ``contrib``, ``tools/api`` and, for a few files
of data, ``core/lib`` are read. With it, a group is run and its rate printed by

    python -m tests.tensorflow_tests GROUP [-k PART_OF_A_NAME]

- ``shim``: makes TensorFlow's modules importable. One rule finds a name: in the namespace of
  `daskvars.v1` that its module is called after (``nn_ops``: ``tf.nn``), at the top, in any other.
  What has no counterpart is a stand-in that raises when a test uses it: only this test fails.
- ``given``: what tests need of TensorFlow's modules and programs do not, above all ``test_util``.
- ``of_their_day``: what NumPy 1 and Python 3.5 gave them: removed names (``numpy.float``),
  arguments that were renamed, lists of slices as indices, the dtype of a scalar with a number. Only
  the checkout's files get it: for `daskvars` NumPy is as it is.
- ``groups``: which files are a group, and the goal of each.
- ``left_out``: tests that do not count, found by what their source uses, with the reason.
- ``one_file``: runs the tests of one file; ``running`` starts such a process for each.
- ``test_tensorflow_tests``: nothing fails that ``tests/data/tensorflow_xfails.txt`` does not list.

A test of TensorFlow's that runs in graphs and eagerly is run in graphs: `daskvars.v1` builds them.
Tests that a file makes only where it is run as a script (``if __name__ == "__main__":``) are not
made, and those in folders below a group's are not in it.
"""
