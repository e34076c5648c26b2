"""What type checkers know of operators: `ops.protocols.operators` attaches them, from above."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from daskvars.graph.tensor import Tensor


class WithOperators:
    """Base of tensors and of what converts to them.

    At run time it is empty. `numpy`, `int` and `float` work on what has a value: eager tensors.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def _unary(self) -> Tensor: ...
        def _binary(self, other: Any) -> Tensor: ...

        __neg__ = __abs__ = __invert__ = _unary
        __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _binary
        __div__ = __rdiv__ = __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _binary
        __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _binary
        __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _binary
        __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = _binary

        def numpy(self) -> Any: ...
        def shown_value(self) -> str: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __index__(self) -> int: ...
