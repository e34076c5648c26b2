"""Arrays and ufuncs of the stand-in for CuPy; see `tests.fake_cupy`."""

from __future__ import annotations

import json
import operator
from pathlib import Path

import numpy as np

SURFACE = json.loads((Path(__file__).parent / "cupy_surface.json").read_text())
_METHODS = frozenset(SURFACE["methods"])

__version__ = SURFACE["version"]

# What NumPy's ufuncs take and CuPy's do not.
_UFUNC_OPTIONS = {"out", "dtype", "casting"}
# Functions whose results depend on an option that CuPy ignores or lacks in a C extension.
_REDUCIBLE = {"add", "multiply", "maximum", "minimum", "logical_and", "logical_or"}
_AT = {"add", "subtract", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor"}

transfers: list[tuple[str, int]] = []
"""("to device" or "to host", bytes) of each copy of an array, single numbers aside."""
kernels: list[str] = []
"""What ran on the device by one launch: ufuncs, and fused functions."""
fusing: list[str] = []
NAMES: dict = {}
"""The functions by name: none of them hides a builtin here."""


class _Flags:
    """What CuPy knows of an array's memory."""

    def __init__(self, flags):
        self.c_contiguous, self.f_contiguous = flags.c_contiguous, flags.f_contiguous
        self.owndata = flags.owndata


def _part(name):
    """Return the property that is a part of an array, and may be set."""
    return property(
        lambda array: device(getattr(array._host, name)),
        lambda array, value: setattr(array._host, name, host(value)),
    )


class ndarray:
    """A NumPy array that is none."""

    __slots__ = ("__weakref__", "_host")
    __array_priority__ = 100
    __hash__ = None

    def __init__(self, shape, dtype=float):
        self._host = np.empty(shape, dtype)

    # -- never unasked --------------------------------------------------------------------------

    def __array__(self, *args, **kwargs):
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. Please use `.get()` to construct "
            "a NumPy array explicitly."
        )

    def __array_ufunc__(self, function, method, *inputs, **kwargs):
        if method != "__call__":
            return NotImplemented
        return NAMES[function.__name__](*inputs, **kwargs)

    def __array_function__(self, function, types, args, kwargs):
        raise TypeError(f"numpy.{function.__name__} on a device array: call xp.{function.__name__}")

    def __index__(self):
        raise TypeError("'cupy.ndarray' object cannot be interpreted as an integer")

    def __reduce__(self):
        raise TypeError("a device array left its process")

    # -- asked --------------------------------------------------------------------------------

    def get(self, stream=None, order="C", out=None, blocking=True):
        transfers.append(("to host", self.nbytes))
        if out is None:
            return self._host.copy()
        out[...] = self._host
        return out

    def set(self, array, stream=None):
        transfers.append(("to device", array.nbytes))
        self._host[...] = array

    def tolist(self):
        return self._host.tolist()

    def item(self):
        return self._host.item()

    def __bool__(self):
        return bool(self._host)

    def __int__(self):
        return int(self._host)

    def __float__(self):
        return float(self._host)

    def __complex__(self):
        return complex(self._host)

    def __repr__(self):
        return f"device {self._host!r}"

    # -- what is known without the data ---------------------------------------------------------

    @property
    def __cuda_array_interface__(self):
        return {"shape": self._host.shape, "typestr": self._host.dtype.str, "version": 3}

    def __len__(self):
        return len(self._host)

    @property
    def flags(self):
        return _Flags(self._host.flags)

    real, imag = _part("real"), _part("imag")

    @property
    def T(self):
        return device(self._host.T)

    # -- elements -----------------------------------------------------------------------------

    def __getitem__(self, key):
        return device(self._host[_index(key)])

    def __setitem__(self, key, value):
        self._host[_index(key)] = host(value)

    def __iter__(self):
        return (device(item) for item in self._host)

    def __copy__(self):
        return device(self._host.copy())

    def view(self, dtype):
        return device(self._host.view(checked(dtype)))

    def astype(self, dtype, order="K", casting=None, subok=None, copy=True):
        return device(self._host.astype(checked(dtype), order=order, copy=copy))

    def take(self, indices, axis=None, out=None):
        indices = indices if isinstance(indices, int) else host(indices)
        return device(self._host.take(indices, axis=axis))


for _name in ("shape", "dtype", "ndim", "size", "itemsize", "nbytes", "strides"):
    setattr(ndarray, _name, property(operator.attrgetter(f"_host.{_name}")))


def _method(name):
    def method(self, *args, **kwargs):
        result = getattr(self._host, name)(*map(host, args), **hosts(kwargs))
        return kwargs["out"] if kwargs.get("out") is not None else device(result)

    return method


for _name in (  # noqa: SIM905 - names
    "all any argmax argmin argpartition argsort clip conj conjugate copy cumprod cumsum "
    "diagonal dot fill flatten max mean min nonzero partition prod ptp put ravel repeat "
    "reshape round searchsorted sort squeeze std sum swapaxes trace transpose var"
).split():
    assert _name in _METHODS
    if hasattr(np.ndarray, _name):
        setattr(ndarray, _name, _method(_name))


def _operator(name, function, turned):
    def apply(self, other):
        if isinstance(other, np.ndarray):
            raise TypeError(f"Unsupported type {np.ndarray}")
        if not isinstance(other, ndarray | bool | int | float | complex | np.generic):
            return NotImplemented
        return NAMES[function](*((other, self) if turned else (self, other)))

    setattr(ndarray, name, apply)


def _in_place(name, function):
    def apply(self, other):
        return NAMES[function](self, other, out=self)

    setattr(ndarray, name, apply)


_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "true_divide",
    "pow": "power",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
    "matmul": "matmul",
}


def host(value):
    """Return an argument as NumPy takes it; arrays of NumPy's own are refused."""
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, np.ndarray):
        raise TypeError(f"Unsupported type {np.ndarray}")
    if isinstance(value, tuple | list):
        return type(value)(map(host, value))
    return value


def hosts(values):
    return {name: host(value) for name, value in values.items()}


def _index(key):
    """Return an index as NumPy takes it; CuPy would copy NumPy's arrays and lists to the device."""
    for item in key if isinstance(key, tuple) else (key,):
        if isinstance(item, np.ndarray | list):
            raise TypeError(f"an index that is a {type(item).__name__} is copied to the device")
    return tuple(map(host, key)) if isinstance(key, tuple) else host(key)


class _Variable(ndarray):
    """What a function that is fused is called with: it has neither a shape nor parts."""

    __slots__ = ()
    _KNOWN = frozenset(("_host", "dtype", "ndim", "copy", "astype"))

    def __getattribute__(self, name):
        if not name.startswith("__") and name not in _Variable._KNOWN:
            raise AttributeError(f"a variable of a fused function has no {name!r}")
        return super().__getattribute__(name)

    def _refused(self, *args, **kwargs):
        raise TypeError("a variable of a fused function has no elements yet")

    __getitem__ = __setitem__ = __iter__ = __len__ = __bool__ = __int__ = __float__ = _refused
    __array_ufunc__ = _refused  # of a number of NumPy's on the left


def variable(value):
    """Return an argument of a fused function as that is called with it."""
    if isinstance(value, ndarray):
        found = _Variable.__new__(_Variable)
        found._host = value._host
        return found
    return value


def device(value):
    """Return a result of NumPy as a device array."""
    if isinstance(value, np.ndarray | np.generic):
        kind = _Variable if fusing else ndarray
        found = kind.__new__(kind)
        found._host = np.asarray(value)
        checked(found._host.dtype)
        return found
    if isinstance(value, tuple | list):
        return (
            type(value)(map(device, value))
            if type(value) in (tuple, list)
            else tuple(map(device, value))
        )
    return value


def checked(dtype):
    dtype = np.dtype(dtype)
    if (dtype.kind not in "biufc" and dtype.name != "bfloat16") or dtype.char in "gG":
        raise ValueError(f"Unsupported dtype {dtype}")
    return dtype


class ufunc:
    """An elementwise function with the loops that CuPy has for it."""

    def __init__(self, name, loops, function=None):
        self.__name__ = self.name = name
        self.loops = [tuple(loop) for loop in loops]
        self.function = getattr(np, name) if function is None else function

    def __call__(self, *args, **kwargs):
        args = (*args[: self.function.nin], *map(_given, args[self.function.nin :]))
        if set(kwargs) - _UFUNC_OPTIONS:
            raise TypeError(f"wrong arguments of cupy.{self.name}: {sorted(kwargs)}")
        out = kwargs.pop("out", None)
        out = out[0] if isinstance(out, tuple) else out
        if out is not None and not isinstance(out, ndarray):
            raise TypeError(f"return arrays must be of ArrayType, not {type(out)}")
        hosts = [_operand(value) for value in args]
        self._check_loop(hosts)
        if not fusing:
            kernels.append(self.name)
        with np.errstate(all="ignore"):
            if out is None:
                return device(self.function(*hosts, **kwargs))
            self.function(*hosts, out=out._host, **kwargs)
            return out

    def _check_loop(self, hosts):
        """Raise where CuPy has no loop that the operands can be cast to."""
        known = [np.asarray(h).dtype for h in hosts if isinstance(h, np.ndarray | np.generic)]
        types = [k.name for k in known]
        for loop in self.loops:
            if all(any(_can_cast(k, char) for char in loop) for k in known):
                return
        raise TypeError(f"Wrong type ({types}) of arguments for cupy.{self.name}")

    def reduce(self, array, axis=0, dtype=None, out=None, keepdims=False):
        assert self.name in _REDUCIBLE, f"cupy.{self.name}.reduce"
        return device(self.function.reduce(host(array), axis, dtype, keepdims=keepdims))

    def at(self, array, indices, values=None):
        assert self.name in _AT, f"cupy.{self.name}.at"
        self.function.at(array._host, _index(indices), host(values))

    def outer(self, x, y):
        return device(self.function.outer(host(x), host(y)))


def _given(value):
    raise TypeError("out= is given by name")


def _operand(value):
    if isinstance(value, ndarray):
        return value._host
    if isinstance(value, bool | int | float | complex | np.generic):
        return value
    raise TypeError(f"Unsupported type {type(value)}")


def _can_cast(dtype, char):
    if char == "E" or dtype.name == "bfloat16":
        return char in "EfdFD" if dtype.name == "bfloat16" else dtype.kind in "b"
    return np.can_cast(dtype, char, "safe")


for _name, function in _OPERATORS.items():
    _operator(f"__{_name}__", function, False)
    _operator(f"__r{_name}__", function, True)
    if _name != "matmul":
        _in_place(f"__i{_name}__", function)
for _name, function in {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}.items():
    _operator(f"__{_name}__", function, False)
for _name, function in {
    "neg": "negative",
    "invert": "invert",
    "abs": "absolute",
    "pos": "positive",
}.items():
    setattr(ndarray, f"__{_name}__", lambda self, _u=function: NAMES[_u](self))
