"""What is known of tensors, as data, and back."""

from __future__ import annotations

from typing import Any

from daskvars.graph.interpreter import builder_for
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor
from daskvars.v1.graphs.signatures import CooSparse, TensorInfo, shape_record
from daskvars.variables.variable import Variable

__all__ = ["build_tensor_info", "get_tensor_from_tensor_info"]


def build_tensor_info(tensor: Any) -> TensorInfo:
    """Return what is known of a tensor of a graph, for a signature.

    Args:
      tensor: a Tensor, SparseTensor or Variable.

    Raises:
      RuntimeError: it is a tensor of eager code.

    >>> with tf.Graph().as_default():
    ...     info = tf.saved_model.build_tensor_info(tf.placeholder(tf.float32, [None, 2], "x"))
    >>> info.name, info.dtype, [dim.size for dim in info.tensor_shape.dim]
    ('x:0', 1, [-1, 2])
    """
    if isinstance(tensor, Variable):
        tensor = tensor.value() if tensor.graph is not None else tensor
    if tensor.graph is None:
        raise RuntimeError("build_tensor_info is not supported in Eager mode.")
    dtype = tensor.dtype.base_dtype.as_datatype_enum
    shape = tensor.get_shape()
    record = shape_record(None if shape.ndims is None else shape.as_list())
    if isinstance(tensor, SparseTensor):
        parts = CooSparse(tensor.values.name, tensor.indices.name, tensor.dense_shape.name)
        return TensorInfo("", dtype, record, parts)
    return TensorInfo(tensor.name, dtype, record)


def get_tensor_from_tensor_info(
    tensor_info: TensorInfo, graph: Any = None, import_scope: str | None = None
) -> Tensor | SparseTensor:
    """Return the tensor of a graph that a signature names.

    Args:
      tensor_info: what is said of it.
      graph: the graph, by default the one being built.
      import_scope: the name scope that the graph was imported under.

    Returns:
      The tensor, of the shape and dtype that it has in the graph; a sparse one where the signature
      has its three parts.

    Raises:
      KeyError: there is no such tensor.

    Source: TensorFlow 1.15, ``tf.saved_model.get_tensor_from_tensor_info``.

    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [None], "x")
    ...     info = tf.saved_model.build_tensor_info(x)
    ...     tf.saved_model.get_tensor_from_tensor_info(info) is x
    True
    """
    found = builder_for(()) if graph is None else graph
    prefix = f"{import_scope}/" if import_scope else ""
    tensors = [found.get_tensor_by_name(prefix + name) for name in tensor_info.names]
    if tensor_info.coo_sparse is None:
        return tensors[0]
    values, indices, dense_shape = tensors
    return SparseTensor(indices, values, dense_shape)
