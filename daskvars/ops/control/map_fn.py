"""Functions over the rows of tensors: `map_fn`, `foldl`, `foldr`, `scan`, as loops.

Rows are read from `TensorArray`s and results are written to them, so each turn of the loop costs
one row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.dtypes import DTypeLike
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import shape
from daskvars.ops.control.subgraphs import trace
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.control.while_loop import while_loop
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import named


class _Rows:
    """The rows of tensors of one length, read in a loop."""

    def __init__(self, elems: TensorLike, fn: Callable[..., Any]) -> None:
        if not callable(fn):
            raise TypeError("fn must be callable.")
        self.structure = elems
        self.tensors = [convert_to_tensor(elem, name="elem") for elem in nest.flatten(elems)]
        static = self.tensors[0].spec.shape
        for tensor in self.tensors:
            if tensor.spec.shape == ():
                found = "a scalar" if len(self.tensors) == 1 else "scalars"
                raise ValueError(
                    f"elements in elems must be 1+ dimensional Tensors, not {found}: {tensor.name} "
                    "has no rows. Put the numbers into one tensor, as constant([1, 2])."
                )
        self.length = static[0] if static and static[0] is not None else shape(self.tensors[0])[0]
        self._arrays = [_read_often(t.dtype, self.length).unstack(t) for t in self.tensors]

    def row(self, index: TensorLike) -> Any:
        """Return row `index` in the structure of the elements."""
        return nest.pack(self.structure, [array.read(index) for array in self._arrays])


def _read_often(dtype: Any, size: Any, infer_shape: bool = True) -> TensorArray:
    """Return an array of which nothing checks that an item is read once."""
    return TensorArray(dtype, size, clear_after_read=False, infer_shape=infer_shape)


def _stacked(structure: Any, arrays: Any, length: Any) -> Any:
    """Return the rows of arrays as tensors, with the static length where it is known."""
    results = [array.stack() for array in arrays]
    for result in results:
        known = length if isinstance(length, int) else None
        rank = result.spec.shape
        if rank is not None:
            result.set_shape([known, *rank[1:]])
    return nest.pack(structure, results)


@accepts("parallel_iterations", "swap_memory")
def map_fn(
    fn: Callable[[Any], Any],
    elems: TensorLike,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Any:
    """Return ``fn`` of each row, stacked.

    Args:
      fn: takes a row (in the structure of `elems`), returns tensors in the structure of `dtype`.
      elems: [n, ...] tensor, or a nest of tensors of one length.
      dtype: the results' dtypes in their structure, where that is not the one of `elems`.
      back_prop: False takes the results as constants in gradients.
      infer_shape: False lets results differ in shape until they are stacked.
      name: name scope of the operations, by default "map".

    Returns:
      [n, ...] in the structure and of the dtypes of `dtype`, by default those of `elems`.

    Raises:
      TypeError: `fn` is no function.
      ValueError: an element is a scalar, or results are not structured as `dtype` says.

    >>> dv.map_fn(lambda x: x * x, dv.constant([1, 2, 3])).numpy().tolist()
    [1, 4, 9]
    """
    with name_scope(name, "map", nest.flatten(elems)):
        rows = _Rows(elems, fn)
        structure = elems if dtype is None else dtype
        dtypes = [t.dtype for t in rows.tensors] if dtype is None else nest.flatten(dtype)
        arrays = [_read_often(d, rows.length, infer_shape) for d in dtypes]

        def body(i: Tensor, written: Any) -> Any:
            found = fn(rows.row(i))
            nest.assert_same_structure(structure, found, "dtype and the results of fn")
            results = nest.flatten(found)
            return i + 1, [a.write(i, r) for a, r in zip(written, results, strict=True)]

        _, written = while_loop(
            lambda i, _: i < rows.length, body, (0, arrays), back_prop=back_prop
        )
        return _stacked(structure, written, rows.length)


def vectorized_map(fn: Callable[[Any], Any], elems: TensorLike) -> Any:
    """Return ``fn`` of each row, stacked: `map_fn` whose results may be of any structure.

    Args:
      fn: takes a row (in the structure of `elems`), returns tensors. It is called once more than by
        `map_fn`, to see what it returns.
      elems: [n, ...] tensor, or a nest of tensors of one length.

    Returns:
      [n, ...] in the structure and of the dtypes of what `fn` returns.

    Raises:
      TypeError: `fn` is no function.
      ValueError: an element is a scalar.

    Source: TensorFlow 1.15, ``tf.vectorized_map``.

    >>> mean, most = dv.vectorized_map(
    ...     lambda x: (dv.reduce_mean(x), dv.argmax(x)), dv.constant([[1.0, 3.0], [9.0, 5.0]])
    ... )
    >>> mean.numpy().tolist(), most.numpy().tolist()
    ([2.0, 7.0], [1, 0])
    """
    with name_scope("vectorized_map", values=nest.flatten(elems)):
        rows = _Rows(elems, fn)
        shapes = [tensor.spec.shape for tensor in rows.tensors]
        specs = [
            Spec(t.dtype.base_dtype, None if s is None else s[1:])
            for t, s in zip(rows.tensors, shapes, strict=True)
        ]
        _, found = trace(
            lambda *row: fn(nest.pack(elems, list(row))),
            specs,
            "row",
            builder_for(tuple(rows.tensors)),
        )
        return map_fn(fn, elems, dtype=nest.map_structure(lambda t: t.dtype, found))


def _fold(name: str, reverse: bool, doc: str) -> Callable[..., Any]:
    """Return a function that folds rows, `foldl` or `foldr`."""
    default = name

    def fold(
        fn: Callable[[Any, Any], Any],
        elems: TensorLike,
        initializer: Any = None,
        parallel_iterations: int = 10,
        back_prop: bool = True,
        swap_memory: bool = False,
        name: str | None = None,
    ) -> Any:
        with name_scope(name, default, nest.flatten(elems)):
            return _scanned(fn, elems, initializer, back_prop, reverse, None)[0]

    doc = f"""{doc}

    Args:
      fn: takes the value so far and a row, returns the next value.
      elems: [n, ...] tensor, or a nest of tensors of one length.
      initializer: the first value, by default the first row, which is then not folded.
      back_prop: False takes the results as constants in gradients.
      name: name scope of the operations, by default "{name}".

    Returns:
      The last value, in the structure, shapes and dtypes of the first.

    >>> int(dv.{name}(lambda a, x: 10 * a + x, dv.constant([1, 2, 3])))
    {321 if reverse else 123}
    """
    return accepts("parallel_iterations", "swap_memory")(named(fold, name, doc))


foldl = _fold("foldl", False, "Return ``fn(...fn(fn(initializer, row 0), row 1)...)``.")
foldr = _fold("foldr", True, "Return the fold from the last row to the first.")


@accepts("parallel_iterations", "swap_memory")
def scan(
    fn: Callable[[Any, Any], Any],
    elems: TensorLike,
    initializer: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    reverse: bool = False,
    name: str | None = None,
) -> Any:
    """Return all the values of `foldl`, stacked: [n, ...] in the structure of the initializer.

    Args:
      fn: takes the value so far and a row, returns the next value.
      elems: [n, ...] tensor, or a nest of tensors of one length.
      initializer: the first value, by default row 0, which is then the first result.
      back_prop, infer_shape: see `map_fn`.
      reverse: go from the last row to the first; results stand at the rows that they belong to.
      name: name scope of the operations, by default "scan".

    >>> dv.scan(lambda a, x: a + x, dv.constant([1, 2, 3])).numpy().tolist()
    [1, 3, 6]
    """
    with name_scope(name, "scan", nest.flatten(elems)):
        value, written, length = _scanned(fn, elems, initializer, back_prop, reverse, infer_shape)
        return _stacked(value, written, length)


def _scanned(
    fn: Any, elems: Any, initializer: Any, back_prop: bool, reverse: bool, infer: bool | None
) -> tuple[Any, Any, Any]:
    """Fold the rows: the last value, the arrays of all values (unless `infer` is None), length."""
    rows = _Rows(elems, fn)
    length, start = rows.length, 1 if initializer is None else 0
    value = rows.row(length - 1 if reverse else 0) if initializer is None else initializer
    value = nest.map_structure(convert_to_tensor, value)
    leaves = nest.flatten(value)
    arrays = [] if infer is None else [_read_often(t.dtype, length, infer) for t in leaves]
    place = (lambda i: length - 1 - i) if reverse else (lambda i: i)
    if start:
        arrays = [a.write(place(0), t) for a, t in zip(arrays, leaves, strict=False)]

    def body(i: Tensor, value: TensorLike, written: Any) -> Any:
        value = fn(value, rows.row(place(i)))
        found = nest.flatten(value)
        return i + 1, value, [a.write(place(i), t) for a, t in zip(written, found, strict=False)]

    _, value, arrays = while_loop(
        lambda i, *_: i < length, body, (start, value, arrays), back_prop=back_prop
    )
    return value, arrays, length
