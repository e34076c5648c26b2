"""Families of functions: what arguments they share, and what is said of them, is declared once.

A member is written as the function of what is its own; its family adds the shared arguments, their
defaults and their lines of the docstring. What comes out has one signature, one docstring and the
member's name and module, so that it reads, completes and pickles as if it were written out.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

from daskvars.errors import did_you_mean

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
Function = TypeVar("Function", bound=Callable[..., Any])
_SECTION = re.compile(r"(Args|Returns|Raises):\n")
_AFTER = re.compile(r"Source:|>>> |Gradient|See `")


@dataclass(frozen=True)
class Argument:
    """An argument that the functions of a family share.

    Attributes:
      text: what their docstrings say of it.
      default: its default; without one it must be given.
      type: its annotation; where it is None by default "| None" is added.
    """

    text: str
    default: Any = inspect.Parameter.empty
    type: str = "TensorLike"

    def parameter(self, name: str, default: Any) -> inspect.Parameter:
        """Return it as a parameter with some default."""
        is_optional = default is None and self.type != "Any" and "None" not in self.type
        said = f"{self.type} | None" if is_optional else self.type
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Parameter(name, kind, default=default, annotation=said)


@dataclass(frozen=True)
class Family:
    """Functions that share arguments, and what their docstrings say.

    Attributes:
      arguments: the arguments by name. Members have those in their order that have a default,
        after their own positional arguments and before those that are keywords alone; of the
        others the text serves members that have an argument of that name.
      returns: the section "Returns" of docstrings without one.
      raises: the section "Raises" of docstrings without one.
      result: annotation of what members return, where it is not what their own functions return.
    """

    arguments: Mapping[str, Argument]
    returns: str = ""
    raises: str = ""
    result: Any = None

    def signature(self, own: Callable[..., Any] | None, order: str = "") -> inspect.Signature:
        """Return the signature of a member.

        Args:
          own: the function of the member's own arguments.
          order: all arguments, where their order is another than that of the family; one may be
            given another default, as in "x y=None", or none, as in "x y=".
        """
        written = inspect.signature(own) if own else inspect.Signature()
        mine = written.parameters
        plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
        found = {n: p.replace(kind=plain) for n, p in mine.items()}
        for name, argument in self.arguments.items():
            default = found[name].default if name in found else argument.default
            found[name] = argument.parameter(name, default)
        empty = inspect.Parameter.empty
        first = [n for n, p in mine.items() if p.kind is not p.KEYWORD_ONLY]
        optional = [n for n, a in self.arguments.items() if a.default is not empty]
        parameters = {}
        for word in order.split() or [*first, *(n for n in optional if n not in mine), *mine]:
            name, changed, default = word.partition("=")
            parameters[name] = found[name]
            if changed:
                value = ast.literal_eval(default) if default else empty
                parameters[name] = self.arguments[name].parameter(name, value)
        result = self.result or (written.return_annotation if own else None)
        return inspect.Signature(list(parameters.values()), return_annotation=result)

    def documented(self, doc: str | None, names: Iterable[str], **words: str) -> str:
        """Return a docstring that says of all arguments what they are, and what is returned.

        Args:
          doc: the docstring; what it says goes before what the family says.
          names: the arguments, in order.
          words: what stands for ``{word}`` in the texts of the family.
        """
        names = list(names)
        shared = {n: self.arguments[n].text for n in names if n in self.arguments}
        texts = {n: _entry(n, text.format(**words)) for n, text in shared.items()}
        returns, raises = (_indented(t.format(**words)) for t in (self.returns, self.raises))
        return _completed(doc, names, texts, {"Returns": returns, "Raises": raises})

    def documents(self, **words: str) -> Callable[[Function], Function]:
        """Return a decorator of functions that are written out, but for what the family says.

        Args:
          words: what stands for ``{word}`` in the texts of the family, beside the ``{function}``.

        >>> greetings = Family({"times": Argument("how often.")})
        >>> @greetings.documents()
        ... def hello(times=1):
        ...     "Return a greeting."
        >>> print(hello.__doc__)
        Return a greeting.
        <BLANKLINE>
        Args:
          times: how often.
        <BLANKLINE>
        """

        def decorate(function: Function) -> Function:
            self._said(function, function.__doc__, inspect.signature(function), words)
            return function

        return decorate

    def completes(self, cls: type, **defaults: Any) -> None:
        """Have the constructor of a class, own or inherited, name what it takes as ``**settings``.

        Where it ends so, it has the arguments of the family there, and so has the docstring.

        Args:
          **defaults: those that are others here.

        >>> class Greeting:
        ...     def __init_subclass__(cls):
        ...         Family({"times": Argument("how often.", 1)}).completes(cls)
        >>> class Hello(Greeting):
        ...     def __init__(self, name, **settings):
        ...         self.said = f"Hello, {name}! " * settings["times"]
        >>> Hello("Ann", 2).said, str(inspect.signature(Hello))
        ('Hello, Ann! Hello, Ann! ', "(name, times: 'TensorLike' = 1) -> 'None'")
        """
        own: Callable[..., None] = inspect.unwrap(cls.__init__)  # type: ignore[misc]
        *mine, last = inspect.signature(own).parameters.values()
        if last.kind is not last.VAR_KEYWORD:
            return
        shared = [a.parameter(n, defaults.get(n, a.default)) for n, a in self.arguments.items()]
        signature = inspect.Signature([*mine, *shared], return_annotation="None")
        bound = binder(cls.__name__, signature)

        @functools.wraps(own)
        def constructor(*args: Any, **kwargs: Any) -> None:
            own(**bound(args, kwargs))

        constructor.__signature__ = signature  # type: ignore[attr-defined]
        cls.__init__ = constructor  # type: ignore[misc]
        cls.__doc__ = self.documented(cls.__doc__, signature.parameters)

    def member(
        self,
        own: Callable[..., Any],
        call: Callable[[dict[str, Any]], Any],
        order: str = "",
        **words: str,
    ) -> Callable[..., Any]:
        """Return the public function of a member.

        Args:
          own: the function of the member's own arguments, with its docstring.
          call: what the function does with all arguments, by name.
          order: the names of all arguments, where it is another than that of the family.
          words: what stands for ``{word}`` in the texts of the family, beside the ``{function}``.

        >>> greetings = Family({"times": Argument("how often, after {word}.", 1, "int")})
        >>> def hello(name):
        ...     "Return a greeting."
        ...     return f"Hello, {name}! "
        >>> hello = greetings.member(hello, lambda a: hello(a["name"]) * a["times"], word="once")
        >>> inspect.signature(hello)
        <Signature (name, times: 'int' = 1)>
        >>> print(hello.__doc__)
        Return a greeting.
        <BLANKLINE>
        Args:
          times: how often, after once.
        <BLANKLINE>
        """
        signature = self.signature(own, order)
        function = self._made(own.__name__, signature, call)
        functools.update_wrapper(function, own)
        return self._said(function, own.__doc__, signature, words)

    def function(
        self,
        module: str,
        name: str,
        order: str,
        call: Callable[[dict[str, Any]], Any],
        doc: str,
        **words: str,
    ) -> Callable[..., Any]:
        """Return a public function of which all arguments are the family's.

        Args:
          module: name of the module that it is for, ``__name__`` there.
          name: its name.
          order: its arguments. See `signature`.
          call: what it does with all arguments, by name.
          doc: its docstring, but for what the family says.
          words: what stands for ``{word}`` in the texts of the family.
        """
        signature = self.signature(None, order)
        function = self._made(name, signature, call)
        function.__name__ = function.__qualname__ = name
        function.__module__ = module
        return self._said(function, doc, signature, words)

    def _made(
        self, name: str, signature: inspect.Signature, call: Callable[[dict[str, Any]], Any]
    ) -> Callable[..., Any]:
        bound = binder(name, signature)

        def function(*args: Any, **kwargs: Any) -> Any:
            return call(bound(args, kwargs))

        function.__signature__ = signature  # type: ignore[attr-defined]
        function.__family__ = self  # type: ignore[attr-defined]
        return function

    def _said(
        self,
        function: Callable[..., Any],
        doc: str | None,
        signature: inspect.Signature,
        words: dict[str, str],
    ) -> Callable[..., Any]:
        names = signature.parameters
        function.__doc__ = self.documented(doc, names, function=function.__name__, **words)
        return function


def named(function: Function, name: str, doc: str) -> Function:
    """Return a function that was made in another, as if it were written under a name of its own."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def with_example(doc: str, example: str) -> str:
    r"""Return a docstring with an example after it.

    Args:
      example: lines of code, the last with what it shows: "call -> what it shows"; or none.

    >>> with_example("Return a sum.", "sum([1, 2]) -> 3")
    'Return a sum.\n\n>>> sum([1, 2])\n3\n'
    """
    code, _, shown = example.rpartition(" -> ")
    lines = [f"... {line}" if line[0] == " " else f">>> {line}" for line in code.splitlines()]
    return "\n".join([inspect.cleandoc(doc), "", *lines, shown, ""]) if example else doc


def with_raises(doc: str | None, raises: str) -> str:
    r"""Return a docstring that says what is raised.

    >>> with_raises("Return a sum.", "ValueError: there is nothing to sum.")
    'Return a sum.\n\nRaises:\n  ValueError: there is nothing to sum.\n'
    """
    return _completed(doc, (), {}, {"Raises": _indented(raises)})


def with_arguments_of(
    model: Callable[P, Any], **defaults: Any
) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Give a function the arguments of another, and of its docstring what the own does not say.

    Args:
      model: the function that the arguments are written at.
      **defaults: those that are others here.

    Returns:
      A decorator. What it decorates is called with all arguments by name.

    >>> def first(items, count=1):
    ...     "Return some items.\\n\\nArgs:\\n  items: a list.\\n  count: how many."
    ...     return items[:count]
    >>> @with_arguments_of(first, count=2)
    ... def last(**arguments):
    ...     "Return the last ones."
    ...     return first(arguments["items"][::-1], arguments["count"])
    >>> last([1, 2, 3]), inspect.signature(last)
    ([3, 2], <Signature (items, count=2)>)
    """
    parameters = [
        p.replace(default=defaults.get(name, p.default))
        for name, p in inspect.signature(model).parameters.items()
    ]
    return lambda own: _with_parameters(own, parameters, *_said_by(model))


def with_arguments_in_order(
    order: str, *models: Callable[..., Any]
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Give a function, or a method, its own arguments and some of others, in an order.

    Args:
      order: names of all arguments; one of a model may have another default, as in "x y=None", or
        none, as in "x y=".
      *models: the functions that the arguments are written at that are not its own: those without
        a default where a model has the name.

    Returns:
      A decorator. What it decorates is called with all arguments by name.

    >>> def first(items, count=1):
    ...     return items[:count]
    >>> @with_arguments_in_order("items start count=2", first)
    ... def some(start=0, **arguments):
    ...     return first(arguments["items"][start:], arguments["count"])
    >>> some([1, 2, 3], 1), inspect.signature(some)
    ([2, 3], <Signature (items, start=0, count=2)>)
    """
    theirs, texts = dict[str, inspect.Parameter](), dict[str, str]()
    for model in models[::-1]:
        theirs |= inspect.signature(model).parameters
        texts |= _said_by(model)[0]
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD

    def decorate(own: Callable[..., R]) -> Callable[..., R]:
        mine = inspect.signature(own).parameters
        parameters = [mine["self"]] if "self" in mine else []
        declared = {**mine, **theirs, **{n: p for n, p in mine.items() if p.default is not p.empty}}
        for name, changed, default in (word.partition("=") for word in order.split()):
            found = declared[name]
            said = ast.literal_eval(default) if default else found.empty
            parameters.append(found.replace(kind=plain, default=said if changed else found.default))
        return _with_parameters(own, parameters, texts, {})

    return decorate


def _said_by(model: Callable[..., Any]) -> tuple[dict[str, str], dict[str, str]]:
    """Return what a docstring says of each argument, and its other sections."""
    _, sections, _ = _sections(inspect.cleandoc(model.__doc__ or ""))
    return _entries(sections.pop("Args", "")), sections


def _with_parameters(
    own: Callable[..., R],
    parameters: Sequence[inspect.Parameter],
    texts: Mapping[str, str],
    sections: Mapping[str, str],
) -> Callable[..., R]:
    """Return a function of some parameters, with texts where it has none of its own."""
    result = inspect.signature(own).return_annotation
    here = inspect.Signature(parameters, return_annotation=result)
    bound = binder(own.__qualname__, here)

    @functools.wraps(own)
    def function(*args: Any, **kwargs: Any) -> R:
        return own(**bound(args, kwargs))

    function.__signature__ = here  # type: ignore[attr-defined]
    if own.__doc__ or texts or sections:
        function.__doc__ = _completed(own.__doc__, here.parameters, texts, sections)
    return function


def with_arguments_of_method(
    model: Callable[Concatenate[Any, P], Any], **defaults: Any
) -> Callable[[Callable[Concatenate[S, ...], R]], Callable[Concatenate[S, P], R]]:
    """Do as `with_arguments_of` for a method, here of a class that need not be the model's.

    >>> class Circle:
    ...     def __init__(self, radius=1, name="circle"):
    ...         self.text = f"{name} of {radius}"
    >>> class Ball:
    ...     @with_arguments_of_method(Circle.__init__, name="ball")
    ...     def __init__(self, **arguments):
    ...         Circle.__init__(self, **arguments)
    >>> Ball(2).text, inspect.signature(Ball)
    ('ball of 2', <Signature (radius=1, name='ball')>)
    """
    decorate: Any = with_arguments_of(model, **defaults)
    return decorate


def arguments_of(doc: str | None) -> dict[str, str]:
    """Return what a docstring's section "Args" says, by argument.

    >>> arguments_of("Return a sum.\\n\\nArgs:\\n  a, b: numbers.")
    {'a': ' numbers.', 'b': ' numbers.'}
    """
    section = _sections(inspect.cleandoc(doc or ""))[1].get("Args", "")
    return {name: entry.partition(":")[2] for name, entry in _entries(section).items()}


def binder(name: str, signature: inspect.Signature) -> Callable[[tuple, dict], dict[str, Any]]:
    """Return a function of (args, kwargs) that gives the value of each argument by its name.

    It is for signatures without ``*args`` and ``**kwargs``, and raises TypeError as a call does.
    """
    names = signature.parameters.keys()
    empty, keyword = inspect.Parameter.empty, inspect.Parameter.KEYWORD_ONLY
    positional = [n for n, p in signature.parameters.items() if p.kind is not keyword]
    defaults = {n: p.default for n, p in signature.parameters.items() if p.default is not empty}

    def bound(args: tuple, kwargs: dict) -> dict[str, Any]:
        given = dict(zip(positional, args, strict=False))
        found = {**defaults, **given, **kwargs}
        is_plain = len(args) <= len(positional) and given.keys().isdisjoint(kwargs)
        if not is_plain or found.keys() != names:
            for key in kwargs.keys() - names:
                said = f"got an unexpected keyword argument {key!r}{did_you_mean(key, names)}"
                raise TypeError(f"{name}() {said}")
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{name}() {error}") from None
        return found

    return bound


def _completed(
    doc: str | None, names: Iterable[str], texts: Mapping[str, str], shared: Mapping[str, str]
) -> str:
    """Return a docstring with the entries of arguments and the sections that it lacks."""
    before, sections, after = _sections(inspect.cleandoc(doc or ""))
    said = {**texts, **_entries(sections.get("Args", ""))}
    entries = dict.fromkeys(said[name] for name in names if name in said)
    parts = {**shared, **sections, "Args": "\n".join(entries)}
    headed = [f"{t}:\n{parts[t]}" for t in ("Args", "Returns", "Raises") if parts.get(t)]
    return "\n\n".join([*before, *headed, *after]) + "\n"


def _sections(doc: str) -> tuple[list[str], dict[str, str], list[str]]:
    """Return the paragraphs before the sections, the sections by title, and those after them."""
    before: list[str] = []
    sections: dict[str, str] = {}
    after: list[str] = []
    for paragraph in re.split(r"\n\n(?=\S)", doc):
        head = _SECTION.match(paragraph)
        if head is not None:
            sections[head[1]] = paragraph[head.end() :]
        elif sections or after or _AFTER.match(paragraph):
            after.append(paragraph)
        else:
            before.append(paragraph)
    return before, sections, after


def _entries(section: str) -> dict[str, str]:
    """Return the lines of "Args" by argument; several may share an entry."""
    entries = re.findall(r"(?m)^  \S.*(?:\n    .*|\n$)*", section)
    return {
        name.strip(" *"): entry for entry in entries for name in entry.partition(":")[0].split(",")
    }


def _entry(name: str, text: str) -> str:
    return textwrap.fill(
        f"{name}: {text}", 98, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )


def _indented(text: str) -> str:
    return textwrap.indent(inspect.cleandoc(text), "  ")
