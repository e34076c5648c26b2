"""`VariableDef`: the names of a variable's parts, by which another program finds it in a graph."""

from __future__ import annotations

from typing import ClassVar

from daskvars.surface.messages import Message


class SaveSliceInfoDef(Message):
    """Which part of a larger variable one variable is: see `SaveSliceInfo`."""

    fields: ClassVar = {
        "full_name": "",
        "full_shape": [int],
        "var_offset": [int],
        "var_shape": [int],
    }


class VariableDef(Message):
    """What `Variable.to_proto` gives and ``Variable(variable_def=)`` takes.

    Its parts are named as in the graph: the variable itself, its initial value, its initializer,
    what it was first read by.

    >>> with tf.Graph().as_default():
    ...     described = tf.Variable(1.0, name="w").to_proto()
    >>> described.variable_name, described.initializer_name, described.trainable
    ('w:0', 'w/Assign', True)
    """

    fields: ClassVar = {
        "variable_name": "",
        "initial_value_name": "",
        "initializer_name": "",
        "snapshot_name": "",
        "trainable": True,
        "synchronization": "AUTO",
        "aggregation": "NONE",
        "save_slice_info_def": SaveSliceInfoDef,
    }
