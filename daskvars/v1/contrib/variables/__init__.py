"""Variables of models as ``tf.contrib`` and slim have them.

- ``model_variables``: variables that are model variables too, found by name, given values;
- ``restoring``: their values from checkpoints;
- ``model_analyzer``: how large a model is.
"""
