"""What TensorFlow-1 programs use besides graphs: flags, the start of `main`, files.

These names are `tf.app`, `tf.flags` and `tf.gfile` of `daskvars.v1`; eager programs have Python's
own. They know nothing of graphs, and no other part of the package uses them.
"""
