"""Layers: variables made once and used by name, TensorFlow 1's ``tf.layers``.

A `Layer` makes its variables in the first call, under a variable scope of its own name, and is a
function of them ever after. The functional forms (`dense` ...) make a layer, call it once and
forget it; their variables are shared by name, through ``reuse``. A layer is but a few ops; what
runs them is as fast with layers as without.

Eager code uses the same classes: variables are there from the first call on, moving averages move
in the call, and losses are computed when they are asked for.

Rooms: ``convolution`` (with poolings), ``normalization``, ``recurrent``. Files: ``layer`` (what all
of them are), ``functional`` (their forms as functions), ``input_spec``, ``layer_losses``,
``nested_layers`` (layers made of layers), ``training_phase``, ``arguments`` (of those with
weights), what those may give ``by_name``; and the layers of one op each: ``dense``, ``embedding``,
``dropout``, ``flatten``.
"""

# fmt: off
from daskvars.layers.convolution.convolutional import (
    Conv1D, Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose, conv1d, conv2d, conv2d_transpose,
    conv3d, conv3d_transpose,
)
from daskvars.layers.convolution.pooling import (
    AveragePooling1D, AveragePooling2D, AveragePooling3D, MaxPooling1D, MaxPooling2D, MaxPooling3D,
    average_pooling1d, average_pooling2d, average_pooling3d, max_pooling1d, max_pooling2d,
    max_pooling3d,
)
from daskvars.layers.convolution.separable import (
    SeparableConv1D, SeparableConv2D, separable_conv1d, separable_conv2d,
)
from daskvars.layers.dense import Dense, dense
from daskvars.layers.dropout import Dropout, dropout
from daskvars.layers.embedding import Embedding, EmbeddingBag
from daskvars.layers.flatten import Flatten, flatten
from daskvars.layers.input_spec import InputSpec
from daskvars.layers.layer import Layer
from daskvars.layers.normalization.batch_normalization import (
    BatchNormalization, batch_normalization,
)
from daskvars.layers.normalization.layer_normalization import LayerNormalization, layer_norm

__all__ = [
    "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "BatchNormalization", "Conv1D",
    "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose", "Dense", "Dropout", "Embedding",
    "EmbeddingBag", "Flatten", "InputSpec", "Layer", "LayerNormalization", "MaxPooling1D",
    "MaxPooling2D", "MaxPooling3D", "SeparableConv1D", "SeparableConv2D", "average_pooling1d",
    "average_pooling2d", "average_pooling3d", "batch_normalization", "conv1d", "conv2d",
    "conv2d_transpose", "conv3d", "conv3d_transpose", "dense", "dropout", "flatten",
    "layer_norm", "max_pooling1d", "max_pooling2d", "max_pooling3d", "separable_conv1d",
    "separable_conv2d",
]
