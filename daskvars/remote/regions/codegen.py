"""Text of generated functions: it holds letters with numbers after them, and nothing from data.

Registers are formatted as integers, which nothing else passes; functions, constants and attributes
are objects in the scope under such names, and a kernel's keywords are bound outside the text. This
is the only place of the package that makes code of text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from types import CodeType
from typing import Any


def name(register: int, letter: str = "s") -> str:
    """Return what a register is called.

    Raises:
      ValueError, TypeError: it is no integer.

    >>> name(3)
    's3'
    """
    return f"{letter}{register:d}"


def names(registers: Iterable[int], letter: str = "s") -> str:
    """Return what registers are called, with commas between.

    >>> names([3, 1])
    's3, s1'
    """
    return ", ".join([f"{letter}{register:d}" for register in registers])


def defined(
    function: str, lines: Iterable[str], scope: dict[str, Any], filename: str = "<daskvars>"
) -> Callable[..., Any]:
    """Return the function that a text defines.

    Args:
      function: its name.
      lines: the text, which begins with its ``def``.
      scope: the objects that the names in it stand for; the function does not become one of them.
      filename: what tracebacks call the text.

    >>> defined("f", ["def f(s0):", "    return k0(s0)"], {"k0": abs})(-3)
    3
    """
    code = in_file(_compiled("\n".join([*lines, ""])), filename)
    exec(code, scope)  # noqa: S102 - see above
    return scope.pop(function)  # in the scope, it could be freed only by the garbage collector


@lru_cache(maxsize=1024)
def _compiled(text: str) -> CodeType:
    """Compile a text. Without data in them, those of small regions are the same again and again."""
    return compile(text, "<daskvars>", "exec")


def in_file(code: CodeType, filename: str) -> CodeType:
    """Return code, and that of the functions in it, that tracebacks call by a file's name.

    >>> in_file(compile("1", "a", "eval"), "b").co_filename
    'b'
    """
    inner = [in_file(c, filename) if isinstance(c, CodeType) else c for c in code.co_consts]
    return code.replace(co_filename=filename, co_consts=tuple(inner))


def naming(kernel: Callable[..., Any], keywords: tuple[str, ...]) -> Callable[..., Any]:
    """Return a function of a kernel's arguments whose last ones are bound to keywords.

    >>> naming(sorted, ("reverse",))([1, 2], True)
    [2, 1]
    """
    count = len(keywords)

    def call(*args: Any, **attrs: Any) -> Any:
        attrs.update(zip(keywords, args[-count:], strict=True))
        return kernel(*args[:-count], **attrs)

    return call
