"""The names of ``tf.initializers``. Made by tests/typed/stubs.py; a test compares them."""

from daskvars.initializers import Constant as Constant
from daskvars.initializers import ConvolutionDeltaOrthogonal as ConvolutionDeltaOrthogonal
from daskvars.initializers import ConvolutionOrthogonal1D as ConvolutionOrthogonal1D
from daskvars.initializers import ConvolutionOrthogonal2D as ConvolutionOrthogonal2D
from daskvars.initializers import ConvolutionOrthogonal3D as ConvolutionOrthogonal3D
from daskvars.initializers import GlorotNormal as GlorotNormal, GlorotUniform as GlorotUniform
from daskvars.initializers import Identity as Identity, Initializer as Initializer, Ones as Ones
from daskvars.initializers import Orthogonal as Orthogonal, RandomNormal as RandomNormal
from daskvars.initializers import RandomUniform as RandomUniform
from daskvars.initializers import TruncatedNormal as TruncatedNormal
from daskvars.initializers import UniformUnitScaling as UniformUnitScaling
from daskvars.initializers import VarianceScaling as VarianceScaling, Zeros as Zeros
from daskvars.initializers import constant as constant
from daskvars.initializers import convolutional_delta_orthogonal as convolutional_delta_orthogonal
from daskvars.initializers import convolutional_orthogonal_1d as convolutional_orthogonal_1d
from daskvars.initializers import convolutional_orthogonal_2d as convolutional_orthogonal_2d
from daskvars.initializers import convolutional_orthogonal_3d as convolutional_orthogonal_3d
from daskvars.initializers import global_variables as global_variables
from daskvars.initializers import glorot_normal as glorot_normal, glorot_uniform as glorot_uniform
from daskvars.initializers import he_normal as he_normal, he_uniform as he_uniform
from daskvars.initializers import identity as identity, lecun_normal as lecun_normal
from daskvars.initializers import lecun_uniform as lecun_uniform
from daskvars.initializers import local_variables as local_variables, ones as ones
from daskvars.initializers import orthogonal as orthogonal, random_normal as random_normal
from daskvars.initializers import random_uniform as random_uniform
from daskvars.initializers import truncated_normal as truncated_normal
from daskvars.initializers import uniform_unit_scaling as uniform_unit_scaling
from daskvars.initializers import variables as variables, variance_scaling as variance_scaling
from daskvars.initializers import zeros as zeros
from daskvars.v1.names.namespaces.initializers import tables_initializer as tables_initializer
