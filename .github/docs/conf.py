"""Reference documentation, built by Sphinx from docstrings.

    sphinx-build -W --keep-going -j auto .github/docs build/docs

The guides of ``examples/guides`` are its first pages. What is public is written to pages: the names
of ``daskvars`` by the room that defines them, its modules of names, what only ``daskvars.v1`` has,
and the design notes of the rooms. A name in single
backticks is a link, an argument, or something else that the code knows; of any other the build
fails.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import inspect
import os
import pkgutil
import re
import shutil
import sys
import types
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.roles import XRefRole
from sphinx.util.nodes import make_refnode

import daskvars
import daskvars.v1
from daskvars.v1.contrib.tables import NAMESPACES

project = "daskvars"
release = version = daskvars.__version__
author = copyright = "the authors of daskvars"
extensions = ["sphinx.ext.autodoc", "sphinx.ext.napoleon", "myst_parser"]
html_theme = "furo"
html_title = f"daskvars {release}"
html_copy_source = False
default_role = "name"
add_module_names = False
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_custom_sections = ["Source", "Gradient"]
napoleon_use_rtype = False
napoleon_use_ivar = True
suppress_warnings = [
    "myst.xref_missing",  # links of CONTRIBUTING and CHANGELOG into the checkout
    "ref.python",  # a class in a signature that has the name of another
]

PAGES = Path(__file__).parent / "pages"
EXAMPLES = Path(__file__).parents[2] / "examples"
# In the order in which they are read.
GUIDES = {
    "Guides": [
        "start",
        "variables",
        "eager",
        "input_pipelines",
        "large_models",
        "clusters",
        "checkpoints",
        "profiling",
        "own_ops",
    ],
    "Coming from": ["from_tensorflow1", "from_pytorch", "from_dask"],
    "Behind it": ["how_it_works", "promises", "comparison"],
}
# The rooms that names are grouped by, and their titles, in the order of the pages.
GROUPS = {
    "daskvars.variables": "Variables",
    "daskvars.execution": "Sessions, functions, tapes",
    "daskvars.backpropagation": "Gradients",
    "daskvars.ops.math": "Mathematics",
    "daskvars.ops.array": "Arrays",
    "daskvars.ops.gather_scatter": "Gather, scatter, segments",
    "daskvars.ops.linalg": "Linear algebra",
    "daskvars.ops.random": "Random numbers",
    "daskvars.ops.control": "Control flow",
    "daskvars.ops.state": "Assignment",
    "daskvars.ops.strings": "Strings",
    "daskvars.ops.checks": "Checks",
    "daskvars.graph": "Graphs",
    "daskvars.dtypes": "Types",
    "daskvars": "Shapes and other names",
}


# -- pages -------------------------------------------------------------------------------------


def write_pages(app: Sphinx) -> None:
    """Write the sources of all pages."""
    shutil.rmtree(PAGES, ignore_errors=True)
    PAGES.mkdir()
    modules = {n: m for n in daskvars.__all__ if is_module(m := getattr(daskvars, n))}
    groups = defaultdict(list)
    for name in daskvars.__all__:
        if name not in modules:
            groups[room(getattr(daskvars, name))].append(name)
    where: dict[str | int, str] = {}
    for place in GROUPS:
        write(place, GROUPS[place], entries("daskvars", sorted(groups[place]), where))
    for name, module in modules.items():
        documented = f"daskvars.{name}"
        about = inspect.getdoc(module) or ""
        here = f".. py:currentmodule:: {documented}"
        listed = entries(documented, names_of(module), where)
        write(documented, f"dv.{name}", [here, about, *listed])
    write_v1(modules, where)
    write_rooms()
    write_guides()
    for file in (PAGES.parents[1] / "CONTRIBUTING.md", PAGES.parents[2] / "CHANGELOG.md"):
        path = os.path.relpath(file, PAGES)
        (PAGES / file.name).write_text(f"```{{include}} {path}\n```\n")
    trees = {caption: [f"pages/guides/{name}" for name in GUIDES[caption]] for caption in GUIDES}
    trees["Guides"].append("pages/examples")
    trees |= {
        "Names": [f"pages/{place}" for place in GROUPS],
        "Modules of names": [f"pages/daskvars.{name}" for name in modules],
        "TensorFlow 1": ["pages/daskvars.v1", "pages/daskvars.v1.contrib"],
        "The house": ["pages/rooms", "pages/CONTRIBUTING", "pages/CHANGELOG"],
    }
    text = heading("daskvars", "#") + "\n.. automodule:: daskvars\n   :no-members:\n"
    for caption, pages in trees.items():
        listed = "\n".join(f"   {page}" for page in pages)
        text += f"\n.. toctree::\n   :caption: {caption}\n   :hidden:\n\n{listed}\n"
    (PAGES.parent / "index.rst").write_text(text)


def write_v1(modules: dict[str, types.ModuleType], where: dict[str | int, str]) -> None:
    """Write the page of what `daskvars.v1` has beyond `daskvars`."""
    tf = daskvars.v1
    lines = [".. automodule:: daskvars.v1\n   :no-members:\n"]
    own = sorted(set(tf.__all__) - set(daskvars.__all__))
    lines += entries("daskvars.v1", [n for n in own if not is_module(getattr(tf, n))], where)
    spaces = [n for n in tf.__all__ if n not in modules and is_module(getattr(tf, n))]
    for name in [*spaces, *modules]:
        module = getattr(tf, name, None)
        if module is None:  # of eager code alone
            continue
        known = set(names_of(modules[name])) if name in modules else set()
        extra = [n for n in names_of(module) if n not in known or is_v1_own(getattr(module, n))]
        lines += namespace(name, extra, where)
    write("daskvars.v1", "Names of TensorFlow 1 alone", lines)
    lines = [n for name in sorted(NAMESPACES) for n in namespace(f"contrib.{name}", None, where)]
    write("daskvars.v1.contrib", "tf.contrib", lines)


def namespace(path: str, names: list[str] | None, where: dict[str | int, str]) -> list[str]:
    """Return the section of a namespace of `daskvars.v1`, and those of namespaces in it.

    Args:
      path: as in ``contrib.layers``.
      names: which of its names are written; None is all.
      where: as of `entries`.
    """
    module = importlib_or_attribute(f"daskvars.v1.{path}")
    names = names_of(module) if names is None else names
    written = entries(f"daskvars.v1.{path}", names, where)
    lines = [heading(f"tf.{path}", "-"), *written] if len(written) > 1 else []
    for name in names:
        if getattr(getattr(module, name), "__name__", "").startswith(f"daskvars.v1.{path}."):
            lines += namespace(f"{path}.{name}", None, where)
    return lines


def is_v1_own(value: Any) -> bool:
    """Return whether something is v1's own, be it under a name that the package has too."""
    return (getattr(value, "__module__", None) or "").startswith("daskvars.v1.")


def write_rooms() -> None:
    """Write the page of the rooms' design notes."""
    lines = []
    for info in sorted(pkgutil.walk_packages(daskvars.__path__, "daskvars."), key=lambda i: i.name):
        module = None if info.name.endswith("__main__") else importlib.import_module(info.name)
        if info.ispkg and info.name != "daskvars.v1":
            path = info.name.removeprefix("daskvars.").replace(".", "/") + "/"
            about = inspect.getdoc(module) or ""
            lines += [heading(path, "-"), f".. py:currentmodule:: {info.name}\n", about]
    write("rooms", "Rooms and their notes", lines)


def write_guides() -> None:
    """Copy the guides, and write a page of the examples."""
    (PAGES / "guides").mkdir()
    files = {path.stem for path in (EXAMPLES / "guides").glob("*.md")}
    assert files == {name for names in GUIDES.values() for name in names}, files
    for name in files:
        text = (EXAMPLES / "guides" / f"{name}.md").read_text()
        text = text.replace("](../README.md)", "](../examples.md)")
        (PAGES / "guides" / f"{name}.md").write_text(text)
    text = (EXAMPLES / "README.md").read_text()
    text = re.sub(r"\]\((\w+)\.(?:py|ipynb)\)", r"](#\1)", text)
    for path in sorted(EXAMPLES.glob("*.py")):
        source = os.path.relpath(path, PAGES)
        text += f"\n({path.stem})=\n## {path.name}\n\n```{{literalinclude}} {source}\n```\n"
    (PAGES / "examples.md").write_text(text)


def write(page: str, title: str, lines: list[str]) -> None:
    (PAGES / f"{page}.rst").write_text("\n\n".join([heading(title, "#"), *lines]) + "\n")


def heading(title: str, line: str) -> str:
    return f"{title}\n{line * len(title)}"


def identity(thing: Any) -> str | int:
    """Return what is the same for a function or class and for what `daskvars.v1` makes of it."""
    name = f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '<locals>')}"
    return id(thing) if "<locals>" in name else name


def entries(module: str, names: list[str], where: dict[str | int, str]) -> list[str]:
    """Return the directives of names; those that have an entry elsewhere are listed as links."""
    home, own, others = importlib_or_attribute(module), [], []
    for name in names:
        thing = getattr(home, name)
        if is_module(thing):
            continue
        known = where.setdefault(identity(thing), f"{module}.{name}")
        if known != f"{module}.{name}":
            others.append(f"`{name} <{known}>`")
        elif inspect.isclass(thing):
            own.append(f".. autoclass:: {name}\n   :members:\n   :show-inheritance:")
        elif callable(thing):
            own.append(f".. autofunction:: {name}")
        else:
            own.append(f".. py:data:: {name}\n   :value: {thing!r}")
    also = ["Described elsewhere, and here too: " + ", ".join(others) + "."] if others else []
    return [f".. py:currentmodule:: {module}", *also, *own]


def names_of(module: types.ModuleType) -> list[str]:
    """Return the public names of a module, sorted."""
    listed = getattr(module, "__all__", None)
    if listed is None:
        listed = [n for n, o in vars(module).items() if n[0] != "_" and of_module(o, module)]
    return sorted(listed)


def of_module(thing: Any, module: types.ModuleType) -> bool:
    return f"{getattr(thing, '__module__', None)}.".startswith(f"{module.__name__}.")


def is_module(thing: Any) -> bool:
    return isinstance(thing, types.ModuleType)


def room(thing: Any) -> str:
    """Return the group of what is public: the longest name of a room that it was defined in."""
    module = getattr(thing, "__module__", None) or type(thing).__module__
    return max((g for g in GROUPS if f"{module}.".startswith(f"{g}.")), key=len, default="daskvars")


# -- links -------------------------------------------------------------------------------------


def resolve(
    app: Sphinx, env: BuildEnvironment, node: addnodes.pending_xref, text: nodes.Element
) -> nodes.Element | None:
    """Make a link of a name in backticks, or leave what the code knows as it is."""
    if node["reftype"] != "name":
        return None
    target = node["reftarget"].removesuffix("()").lstrip("*")
    if not re.fullmatch(r"[A-Za-z_][\w.]*", target):
        return text  # an expression, not a name
    things, modules = surroundings(node)
    if any(target in parameters(thing) for thing in things):
        return text
    for thing in things:
        named, found = attribute(thing, target)
        if found:
            break
    else:
        named, found = named_in(modules, target)
    if not found:
        return None
    name, objects = documented(env).get(identity(named)), env.get_domain("py").objects
    if name is None:
        return text
    entry = objects[name]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, text, name)


def surroundings(node: nodes.Node) -> tuple[list[Any], tuple[str, ...]]:
    """Return what a name may be of: the object described and its class; names of their modules."""
    things, modules = [], [node.get("py:module")]
    while node is not None:
        if isinstance(node, addnodes.desc) and node.children:
            signature = node.children[0]
            thing, found = attribute(None, f"{signature['module']}.{signature['fullname']}")
            if found:
                things.append(thing)
                modules.insert(0, getattr(thing, "__module__", None))
        node = node.parent
    return things, tuple(filter(None, modules))


@cache
def named_in(modules: tuple[str, ...], target: str) -> tuple[Any, bool]:
    """Return what a name stands for in modules, in their rooms, or in public."""
    scopes: list[Any] = []
    for module in modules:
        home, _ = attribute(None, module)
        scopes.append(home)
        room = module if hasattr(home, "__path__") else module.rpartition(".")[0]
        while "." in room:
            scopes += modules_in(room)
            room = room.rpartition(".")[0]
    scopes += [*modules_in("daskvars.execution"), daskvars, daskvars.v1]
    for scope in [*scopes, daskvars.nn, daskvars.layers, builtins, None]:
        thing, found = attribute(scope, target)
        if found:
            return thing, True
    return None, False


@cache
def modules_in(room: str) -> list[types.ModuleType]:
    return [m for name, m in list(sys.modules.items()) if name.startswith(f"{room}.")]


def parameters(thing: Any) -> set[str]:
    """Return the names of a function's arguments, of a class's constructor and attributes."""
    if inspect.isclass(thing):
        assigned = re.findall(r"(?:self\.|^    )(\w+)(?=:| =)", source(thing), re.M)
        return {*assigned, *listed(thing), *parameters(thing.__init__)}
    if not callable(thing):
        return set()
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return set()
    return {*signature.parameters, *listed(thing)}


def listed(thing: Any) -> list[str]:
    """Return the names that a docstring describes: ``name, other: what they are``."""
    lines = re.findall(r"^ +((?:\*{0,2}\w+, )*\*{0,2}\w+):", thing.__doc__ or "", re.M)
    return [name.strip("* ") for line in lines for name in line.split(",")]


@cache
def source(thing: type) -> str:
    """Return the source of a class and of its bases; what was made by code has none."""
    found = ""
    for base in thing.__mro__:
        if "daskvars" in base.__module__:
            with contextlib.suppress(OSError):
                found += inspect.getsource(base)
    return found


def attribute(scope: Any, path: str) -> tuple[Any, bool]:
    """Return what a dotted name stands for within `scope`, None being all modules."""
    first, *rest = path.split(".")
    if scope is None:
        names = {"dv": daskvars, "tf": daskvars.v1, "np": sys.modules["numpy"]}
        scope = names.get(first) or sys.modules.get(first) or sys.modules.get(f"daskvars.{first}")
    else:
        rest = [first, *rest]
    if scope is None:
        return None, False
    for name in rest:
        if not hasattr(scope, name) and is_module(scope):
            scope = sys.modules.get(f"{scope.__name__}.{name}")
            if scope is None:
                return None, False
        elif hasattr(scope, name):
            scope = getattr(scope, name)
        else:
            return None, False
    return scope, True


def importlib_or_attribute(module: str) -> Any:
    """Return a module by its name, or by the name that it is public under."""
    thing, found = attribute(None, module)
    assert found, module
    return thing


@cache
def documented(env: BuildEnvironment) -> dict[str | int, str]:
    """Return the names that have an entry, by what they are."""
    found = {}
    for name in env.get_domain("py").objects:
        thing, known = attribute(None, name)
        if known:
            found.setdefault(identity(thing), name)
    return found


class NameRole(XRefRole):
    """The role of names in single backticks."""

    def process_link(
        self, env: Any, refnode: Any, has_explicit_title: bool, title: str, target: str
    ) -> tuple[str, str]:
        refnode["py:module"] = env.ref_context.get("py:module")
        return title, target


def escape(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Let stars, bars and underscores be such, and plurals follow names, in objects' docstrings."""
    in_example = False
    for number, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example and what != "module":
            line = re.sub(
                r"(``.+?``|`[^`]+`)(?=(\w)?)|(?<!\\)([*|]|(?<=\w)_(?!\w))",
                lambda m: f"{m[1]}\\ " if m[2] else m[1] or rf"\{m[3]}",
                line,
            )
            lines[number] = line


def arrange(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Put names that share a description on one line, and several results into a list."""
    text = "\n".join(lines)
    text = re.sub(r"^( +(?:\w+, )+\w+,)\n +(?=\w+[,:])", r"\1 ", text, flags=re.M)
    section = re.search(r"^Returns:\n((?: .*\n)+)", f"{text}\n", re.M)
    if section and len(re.findall(r"^  \w+: ", section[1], re.M)) > 1:
        listed = re.sub(r"^  (?=\w+: )", "  - ", section[1], flags=re.M)
        text = f"{text}\n".replace(section[0], f"Returns:\n  Several values:\n\n{listed}")
    lines[:] = text.split("\n")


def setup(app: Sphinx) -> None:
    app.add_role("name", NameRole(innernodeclass=nodes.literal, warn_dangling=True))
    app.connect("autodoc-process-docstring", arrange, priority=400)  # before napoleon
    app.connect("autodoc-process-docstring", escape, priority=600)  # after napoleon
    app.connect("builder-inited", write_pages)
    app.connect("missing-reference", resolve)
