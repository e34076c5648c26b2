"""Initializers of variables, the names of ``tf.initializers``, and the classes that they are."""

from daskvars.variables.collections import global_variables_initializer as global_variables
from daskvars.variables.collections import local_variables_initializer as local_variables
from daskvars.variables.collections import variables_initializer as variables
from daskvars.variables.convolution_initializers import (
    ConvolutionDeltaOrthogonal,
    ConvolutionOrthogonal1D,
    ConvolutionOrthogonal2D,
    ConvolutionOrthogonal3D,
)
from daskvars.variables.convolution_initializers import (
    ConvolutionDeltaOrthogonal as convolutional_delta_orthogonal,
)
from daskvars.variables.convolution_initializers import (
    ConvolutionOrthogonal1D as convolutional_orthogonal_1d,
)
from daskvars.variables.convolution_initializers import (
    ConvolutionOrthogonal2D as convolutional_orthogonal_2d,
)
from daskvars.variables.convolution_initializers import (
    ConvolutionOrthogonal3D as convolutional_orthogonal_3d,
)
from daskvars.variables.initializers import (
    Constant,
    GlorotNormal,
    GlorotUniform,
    Identity,
    Initializer,
    Ones,
    Orthogonal,
    RandomNormal,
    RandomUniform,
    TruncatedNormal,
    UniformUnitScaling,
    VarianceScaling,
    Zeros,
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
)
from daskvars.variables.initializers import Constant as constant
from daskvars.variables.initializers import GlorotNormal as glorot_normal
from daskvars.variables.initializers import GlorotUniform as glorot_uniform
from daskvars.variables.initializers import Identity as identity
from daskvars.variables.initializers import Ones as ones
from daskvars.variables.initializers import Orthogonal as orthogonal
from daskvars.variables.initializers import RandomNormal as random_normal
from daskvars.variables.initializers import RandomUniform as random_uniform
from daskvars.variables.initializers import TruncatedNormal as truncated_normal
from daskvars.variables.initializers import UniformUnitScaling as uniform_unit_scaling
from daskvars.variables.initializers import VarianceScaling as variance_scaling
from daskvars.variables.initializers import Zeros as zeros

__all__ = [
    "Constant", "ConvolutionDeltaOrthogonal", "ConvolutionOrthogonal1D", "ConvolutionOrthogonal2D",
    "ConvolutionOrthogonal3D", "GlorotNormal", "GlorotUniform", "Identity", "Initializer", "Ones",
    "Orthogonal", "RandomNormal", "RandomUniform", "TruncatedNormal", "UniformUnitScaling",
    "VarianceScaling", "Zeros", "constant", "convolutional_delta_orthogonal",
    "convolutional_orthogonal_1d", "convolutional_orthogonal_2d", "convolutional_orthogonal_3d",
    "global_variables", "glorot_normal", "glorot_uniform", "he_normal", "he_uniform", "identity",
    "lecun_normal", "lecun_uniform", "local_variables", "ones", "orthogonal", "random_normal",
    "random_uniform", "truncated_normal", "uniform_unit_scaling", "variables", "variance_scaling",
    "zeros",
]  # fmt: skip
