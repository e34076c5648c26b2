"""Initializers of variables, the names of ``tf.initializers``, and the classes that they are."""

# fmt: off
from daskvars.variables.collections import (
    global_variables_initializer as global_variables,
    local_variables_initializer as local_variables, variables_initializer as variables,
)
from daskvars.variables.convolution_initializers import (
    ConvolutionDeltaOrthogonal, ConvolutionDeltaOrthogonal as convolutional_delta_orthogonal,
    ConvolutionOrthogonal1D, ConvolutionOrthogonal1D as convolutional_orthogonal_1d,
    ConvolutionOrthogonal2D, ConvolutionOrthogonal2D as convolutional_orthogonal_2d,
    ConvolutionOrthogonal3D, ConvolutionOrthogonal3D as convolutional_orthogonal_3d,
)
from daskvars.variables.initializers import (
    Constant, Constant as constant, GlorotNormal, GlorotNormal as glorot_normal, GlorotUniform,
    GlorotUniform as glorot_uniform, Identity, Identity as identity, Initializer, Ones,
    Ones as ones, Orthogonal, Orthogonal as orthogonal, RandomNormal, RandomNormal as random_normal,
    RandomUniform, RandomUniform as random_uniform, TruncatedNormal,
    TruncatedNormal as truncated_normal, UniformUnitScaling,
    UniformUnitScaling as uniform_unit_scaling, VarianceScaling,
    VarianceScaling as variance_scaling, Zeros, Zeros as zeros, he_normal, he_uniform, lecun_normal,
    lecun_uniform,
)

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
]
