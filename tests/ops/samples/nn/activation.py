import numpy

from daskvars.graph.interpreter import apply
from daskvars.ops.nn import activation as ops
from tests.ops.sample import Sample

# Away from 0 and 6, where slopes jump.
X = numpy.array([[-2.5, -0.75, 0.5], [1.25, 3.0, 7.5], [-0.1, 0.1, 5.5], [-7.0, 2.0, 6.5]])
DY = numpy.array([[0.5, -1.0, 2.0], [1.5, -0.25, 1.0], [-2.0, 3.0, 0.75], [1.0, -1.5, 0.5]])
ELU = numpy.where(X > 0, X, numpy.expm1(X))
SELU = 1.0507009873554805 * numpy.where(X > 0, X, 1.6732632423543772 * numpy.expm1(X))

SAMPLES = [
    Sample("Relu", ops.relu, (X,), (0,)),
    Sample("Relu", ops.relu, (numpy.array([-3, 0, 2], numpy.int32),), id="int"),
    Sample("ReluGrad", lambda dy, y: apply(ops.RELU_GRAD, dy, y), (DY, X), (0,)),
    Sample("Relu6", ops.relu6, (X,), (0,)),
    Sample("Relu6Grad", lambda dy, y: apply(ops.RELU6_GRAD, dy, y), (DY, X), (0,)),
    Sample("LeakyRelu", lambda x: ops.leaky_relu(x, 0.3), (X,), (0,)),
    Sample("LeakyRelu", lambda x: ops.leaky_relu(x, 1.5), (X.astype("f4"),), id="steep"),
    Sample(
        "LeakyReluGrad", lambda dy, x: apply(ops.LEAKY_RELU_GRAD, dy, x, alpha=0.3), (DY, X), (0,)
    ),
    Sample("Relu", ops.crelu, (X,), (0,), id="crelu"),
    Sample("Elu", ops.elu, (X,), (0,)),
    Sample("Elu", ops.elu, (X.astype("f2"),), id="half", rtol=1e-3),
    Sample("EluGrad", lambda y, dy: apply(ops.ELU_GRAD, y, dy), (ELU, DY), (0, 1)),
    Sample("Selu", ops.selu, (X,), (0,)),
    Sample("SeluGrad", lambda y, dy: apply(ops.SELU_GRAD, y, dy), (SELU, DY), (0, 1)),
    Sample("Gelu", ops.gelu, (X,), (0,)),
    Sample("Gelu", lambda x: ops.gelu(x, approximate=True), (X,), (0,), id="tanh"),
    *[
        Sample(
            "GeluGrad",
            lambda x, dy, tanh=tanh: apply(ops.GELU_GRAD, x, dy, approximate=tanh),
            (X, DY),
            (0, 1),
            id="tanh" if tanh else "erf",
        )
        for tanh in (False, True)
    ],
    Sample("Swish", ops.swish, (X,), (0,)),
    Sample("SwishGrad", lambda dy, x: apply(ops.SWISH_GRAD, dy, x), (DY, X), (0, 1)),
]
