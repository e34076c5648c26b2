"""slim.model_analyzer: how large a model is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def tensor_description(var: Any) -> str:
    """Return dtype and shape as text: ``(float32 2x3)``."""
    sizes = "x".join("?" if n is None else str(n) for n in var.get_shape().as_list())
    return f"({var.dtype.base_dtype.name} {sizes})"


def analyze_ops(graph: Any, print_info: bool = False) -> int:
    """Return the number of elements of all tensors of a graph whose shape is known.

    Args:
      graph: the graph.
      print_info: whether each operation is printed.
    """
    if print_info:
        print("---------\nOperations: name -> (type shapes) [size]\n---------")
    total = 0
    for op in graph.get_operations():
        size = sum(output.get_shape().num_elements() or 0 for output in op.outputs)
        total += size
        if print_info:
            known = [o for o in op.outputs if o.get_shape().ndims]
            shapes = ", ".join(tensor_description(output) for output in known)
            print(op.name, "\t->", shapes, f"[{size}]")
    return total


def analyze_vars(variables: Iterable[Any], print_info: bool = False) -> tuple[int, int]:
    """Return the number of elements of variables, and of bytes.

    Args:
      variables: the variables.
      print_info: whether each variable is printed.
    """
    if print_info:
        print("---------\nVariables: name (type shape) [size]\n---------")
    total_size = total_bytes = 0
    for var in variables:
        size = var.get_shape().num_elements() or 0
        num_bytes = size * var.dtype.base_dtype.size
        total_size += size
        total_bytes += num_bytes
        if print_info:
            print(var.name, tensor_description(var), f"[{size}, bytes: {num_bytes}]")
    if print_info:
        print(f"Total size of variables: {total_size}\nTotal bytes of variables: {total_bytes}")
    return total_size, total_bytes
