"""Recurrent cells, the names of ``tf.nn.rnn_cell``."""

from daskvars.layers.recurrent.cell import RNNCell
from daskvars.layers.recurrent.cell_wrappers import DeviceWrapper, DropoutWrapper, ResidualWrapper
from daskvars.layers.recurrent.cells import (
    BasicLSTMCell,
    BasicRNNCell,
    GRUCell,
    LSTMCell,
    LSTMStateTuple,
    MultiRNNCell,
)

__all__ = [
    "BasicLSTMCell",
    "BasicRNNCell",
    "DeviceWrapper",
    "DropoutWrapper",
    "GRUCell",
    "LSTMCell",
    "LSTMStateTuple",
    "MultiRNNCell",
    "RNNCell",
    "ResidualWrapper",
]
