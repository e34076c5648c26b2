"""How a `TestCase` compares arrays, tensors, nested structures and errors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy
from absl.testing import absltest
from numpy.typing import NDArray

from daskvars.dtypes import bfloat16
from daskvars.errors import OpError
from daskvars.graph.scopes.device import DeviceSpec, canonical
from daskvars.graph.tensor import Tensor
from daskvars.shapes import TensorShape

# What is printed of an array that differs, and of the places where it does.
MOST_PRINTED, MOST_PLACES = 500, 10


class Assertions(absltest.TestCase):
    """Assertions of `TestCase`. Wherever an array is taken, a tensor may be given.

    Tensors are evaluated by `evaluate`, all others are made arrays.
    """

    def evaluate(self, tensors: Any) -> Any:
        """Return the values of tensors."""
        raise NotImplementedError

    def _array(self, value: Any) -> NDArray[Any]:
        return numpy.asarray(self.evaluate(value) if isinstance(value, Tensor) else value)

    # -- numbers ----------------------------------------------------------------------------

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        """Fail unless two numbers are equal or differ by at most `err`."""
        about = f" ({msg})" if msg is not None else ""
        self.assertTrue(f1 == f2 or abs(f1 - f2) <= err, f"{f1} != {f2} +/- {err}{about}")

    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: Any = None) -> None:
        """Fail unless two lists have the same length and their numbers are within `err`."""
        self.assertEqual(len(farray1), len(farray2), msg)
        for first, second in zip(farray1, farray2, strict=True):
            self.assertNear(float(first), float(second), err, msg)

    def assertNDArrayNear(
        self, ndarray1: Any, ndarray2: Any, err: float, msg: str | None = None
    ) -> None:
        """Fail unless the norm of the difference of two arrays is below `err`."""
        distance = numpy.linalg.norm(numpy.asarray(ndarray1) - numpy.asarray(ndarray2))
        self.assertTrue(distance < err, msg or f"the arrays are {distance} apart, not below {err}")

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: Any = None
    ) -> None:
        """Fail unless ``|a - b| <= atol + rtol * |b|`` everywhere, with equal shapes.

        Args:
          a: what is expected: an array, or any nesting of them in lists, tuples and dicts.
          b: what was found, likewise.
          rtol: how far off relative to `b`.
          atol: how far off besides.
          msg: said if it fails.

        Raises:
          AssertionError: the values are not close; it says where.
          ValueError: one is a dict where the other is none, or lists differ in length.
        """
        self._all_close(a, b, rtol, atol, "", msg or "")

    def _all_close(self, a: Any, b: Any, rtol: float, atol: float, path: str, msg: str) -> None:
        a = a._asdict() if hasattr(a, "_asdict") else a
        b = b._asdict() if hasattr(b, "_asdict") else b
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            raise ValueError(f"Can't compare dict to non-dict, a{path} vs b{path}. {msg}")
        if isinstance(a, Mapping):
            self.assertCountEqual(a, b, f"mismatched keys: a{path} and b{path}. {msg}")
            for key in a:
                self._all_close(a[key], b[key], rtol, atol, f"{path}[{key}]", msg)
            return
        about = f"Mismatched value: a{path} is different from b{path}. {msg}"
        if not isinstance(a, list | tuple):
            self._arrays_close(self._array(a), self._array(b), rtol, atol, about)
            return
        try:
            arrays = self._array(a), self._array(b)
            if any(array.dtype == object for array in arrays):
                raise ValueError("no array of numbers")
            self._arrays_close(*arrays, rtol, atol, about)
        except (ValueError, TypeError):
            if len(a) != len(b):
                raise ValueError(
                    f"Mismatched length: a{path} has {len(a)} items, but b{path} has {len(b)} "
                    f"items. {msg}"
                ) from None
            for index, (first, second) in enumerate(zip(a, b, strict=True)):
                self._all_close(first, second, rtol, atol, f"{path}[{index}]", msg)

    def _same_shape(self, a: NDArray[Any], b: NDArray[Any], msg: str) -> None:
        contents = f" with contents {b}" if b.ndim <= 3 or b.size < MOST_PRINTED else ""
        self.assertEqual(
            a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}{contents}. {msg}"
        )

    def _arrays_close(
        self, a: NDArray[Any], b: NDArray[Any], rtol: float, atol: float, msg: str
    ) -> None:
        self._same_shape(a, b, msg)
        numpy.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=msg, equal_nan=True)

    def assertAllCloseAccordingToType(
        self,
        a: Any,
        b: Any,
        rtol: float = 1e-6,
        atol: float = 1e-6,
        float_rtol: float = 1e-6,
        float_atol: float = 1e-6,
        half_rtol: float = 1e-3,
        half_atol: float = 1e-3,
        bfloat16_rtol: float = 1e-2,
        bfloat16_atol: float = 1e-2,
        msg: str | None = None,
    ) -> None:
        """As `assertAllClose`, with the widest tolerance that the types of the two ask for."""
        a, b = self._array(a), self._array(b)
        for types, relative, absolute in (
            ((numpy.float32, numpy.complex64), float_rtol, float_atol),
            ((numpy.float16,), half_rtol, half_atol),
            ((bfloat16.as_numpy_dtype,), bfloat16_rtol, bfloat16_atol),
        ):
            if any(array.dtype == kind for array in (a, b) for kind in types):
                rtol, atol = max(rtol, relative), max(atol, absolute)
        self.assertAllClose(a, b, rtol, atol, msg)

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        """Fail if `assertAllClose` would not."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        raise AssertionError("The two values are close at all elements")

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fail unless shapes and all elements are equal; not-a-number equals itself."""
        a, b = self._array(a), self._array(b)
        self._same_shape(a, b, msg or "")
        numpy.testing.assert_array_equal(as_bytes(a, b), as_bytes(b, a), err_msg=msg or "")

    def assertNotAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Fail if `assertAllEqual` would not."""
        try:
            self.assertAllEqual(a, b, msg)
        except AssertionError:
            return
        raise AssertionError("The two values are equal at all elements")

    def assertAllGreater(self, a: Any, comparison_target: Any) -> None:
        """Fail unless all elements are greater."""
        self.assertGreater(numpy.min(self._array(a)), comparison_target)

    def assertAllLess(self, a: Any, comparison_target: Any) -> None:
        """Fail unless all elements are less."""
        self.assertLess(numpy.max(self._array(a)), comparison_target)

    def assertAllGreaterEqual(self, a: Any, comparison_target: Any) -> None:
        """Fail unless all elements are greater or equal."""
        self.assertGreaterEqual(numpy.min(self._array(a)), comparison_target)

    def assertAllLessEqual(self, a: Any, comparison_target: Any) -> None:
        """Fail unless all elements are less or equal."""
        self.assertLessEqual(numpy.max(self._array(a)), comparison_target)

    def assertAllInRange(
        self,
        target: Any,
        lower_bound: Any,
        upper_bound: Any,
        open_lower_bound: bool = False,
        open_upper_bound: bool = False,
    ) -> None:
        """Fail unless all elements are within bounds, which belong to the range unless open."""
        found = self._array(target)
        if found.dtype.kind not in "iuf":
            raise AssertionError(
                f"The value of {target} does not have an ordered numeric type, instead it has "
                f"type: {found.dtype}"
            )
        self._none_of(numpy.isnan(found), found, "NaN")
        below = numpy.less_equal if open_lower_bound else numpy.less
        above = numpy.greater_equal if open_upper_bound else numpy.greater
        left, right = "(" if open_lower_bound else "[", ")" if open_upper_bound else "]"
        self._none_of(
            below(found, lower_bound) | above(found, upper_bound),
            found,
            f"outside the range {left}{lower_bound}, {upper_bound}{right}",
        )

    def _none_of(self, wrong: NDArray[Any], found: NDArray[Any], what: str) -> None:
        places = numpy.argwhere(wrong)
        if not len(places):
            return
        lines = [f"  {place} : {found[tuple(place)]}" for place in places[:MOST_PLACES]]
        rest = ["  ..."] if len(places) > MOST_PLACES else []
        raise AssertionError(
            f"{len(places)} of the {found.size} element(s) are {what}. Subscript(s) and value(s) "
            "of the offending elements:\n" + "\n".join([*lines, *rest])
        )

    def assertAllInSet(self, target: Any, expected_set: Iterable[Any]) -> None:
        """Fail unless each element is one of a set."""
        extra = numpy.setdiff1d(self._array(target).flatten(), list(expected_set))
        if extra.size:
            raise AssertionError(
                f"{extra.size} unique element(s) are not in the set {expected_set}: {extra}"
            )

    # -- what tensors are -------------------------------------------------------------------

    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Fail unless an array or tensor has the dtype."""
        self.assertEqual(self._array(target).dtype, expected_dtype)

    def assertShapeEqual(self, np_array: Any, tf_tensor: Any, msg: str | None = None) -> None:
        """Fail unless the static shape of a tensor is that of an array.

        Raises:
          TypeError: the first is no array, or the second no tensor.
        """
        if not isinstance(np_array, numpy.ndarray | numpy.generic):
            raise TypeError(f"np_array must be a NumPy array or scalar, got {type(np_array)}")
        if not isinstance(tf_tensor, Tensor):
            raise TypeError(f"tf_tensor must be a Tensor, got {type(tf_tensor)}")
        self.assertEqual(np_array.shape, tuple(TensorShape(tf_tensor.shape).as_list()), msg)

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Fail unless two device names, or `DeviceSpec`, mean the same."""
        first, second = (canonical(_device_text(device)) for device in (device1, device2))
        self.assertEqual(first, second, f"Devices {first} and {second} are not equal. {msg or ''}")

    # -- texts and errors -------------------------------------------------------------------

    def assertStartsWith(self, actual: Any, expected_start: Any, msg: str | None = None) -> None:
        """Fail unless a text begins with another."""
        if not actual.startswith(expected_start):
            about = f" : {msg!r}" if msg else ""
            self.fail(f"{actual!r} does not start with {expected_start!r}{about}")

    @contextmanager
    def assertRaisesWithPredicateMatch(  # type: ignore[override]
        self,
        exception_type: type[BaseException],
        expected_err_re_or_predicate: str | Callable[[Any], Any],
    ) -> Iterator[None]:
        """Fail unless the block raises an exception of a type that fits.

        Args:
          exception_type: the type, or a tuple of types.
          expected_err_re_or_predicate: a regular expression found in the message or in the name of
            the operation that failed, or a function of the exception.
        """
        fits = expected_err_re_or_predicate
        try:
            yield
        except Exception as error:
            matches = fits(error) if callable(fits) else re.search(fits, _said(error))
            if isinstance(error, exception_type) and matches:
                return
            raise AssertionError(f"Exception of type {type(error)}: {error}") from error
        self.fail(f"{getattr(exception_type, '__name__', exception_type)} not raised")

    def assertRaisesOpError(
        self, expected_err_re_or_predicate: str | Callable[[Any], Any]
    ) -> AbstractContextManager[None]:
        """Fail unless an operation of the block fails so. See `assertRaisesWithPredicateMatch`."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    # Names that programs of TensorFlow 1 have, and newer Pythons have no longer.
    assertAlmostEquals = absltest.TestCase.assertAlmostEqual
    assertEquals = absltest.TestCase.assertEqual
    assertItemsEqual = absltest.TestCase.assertCountEqual
    assertNotEquals = absltest.TestCase.assertNotEqual
    assertRaisesRegexp = absltest.TestCase.assertRaisesRegex
    assertRegexpMatches = absltest.TestCase.assertRegex
    assert_ = absltest.TestCase.assertTrue


def _device_text(device: Any) -> str:
    return device.to_string() if isinstance(device, DeviceSpec) else device or ""


def _said(error: Exception) -> str:
    op = error.op if isinstance(error, OpError) else None
    return str(error) if op is None else f"{error}\nCaused by: {getattr(op, 'name', op)}"


def as_bytes(array: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Return an array of text as bytes where the other's strings are bytes."""
    if array.dtype.kind == "U" and other.dtype.kind in "SO":
        return numpy.char.encode(array, "utf-8").astype(object)
    return array.astype(object) if array.dtype.kind == "S" else array
