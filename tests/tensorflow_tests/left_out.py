"""Tests that do not count, and why: they are of TensorFlow's inside, not of what programs see.

A test is left out for what its source uses, and the functions and classes of its file that it uses.
What is exported says TensorFlow's own list of its public names, ``tools/api/golden``, and what the
packages of ``tf.contrib`` import.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path

from tests.tensorflow_tests.shim import Finder, StandIn, counterpart

PRIVATE = "private names of TensorFlow"
UNEXPORTED = "names that TensorFlow exports to no program, and that have no counterpart"
EAGER = "the inside of eager contexts"
# Reason -> names that are only used in tests of it.
REASONS = {
    "ops in C++ that are made for tests": r"test_ops|gen_test_ops|\w*load_op_library",
    "the C API of TensorFlow": (
        r"_USE_C_API|enable_c_api|disable_c_api|enable_c_shapes|TF_\w+|do_quantize_\w+"
    ),
    "XLA": r"jit|jit_scope|experimental_jit_scope|xla|enable_jit\w*|global_jit_level",
    EAGER: (
        r"eager_mode|num_gpus|get_default_context|context_safe|EagerTensor|backprop|tape|defun|"
        r"assert_no_(garbage_created|new_\w+)|eager_context|run_eager_op|set_server_def"
    ),
    PRIVATE: r"fft_kernel_label_map",  # which sets an attribute of graphs
    "GPUs only": r"force_gpu|CudaSupportsHalfMatMulAndConv|NHWCToNCHW_VECT_C|NCHW_VECT_CToNHWC",
}
# Modules of which nothing is public.
PRIVATE_MODULES = re.compile(
    r"tensorflow\.python\.(layers\.utils|training\.(checkpointable\w*|distribute|slot_creator|training_ops)|"
    r"keras\._impl.*)"
)
# Private by their look alone.
NAMED_TUPLES = {"_asdict", "_fields", "_make", "_replace"}


@cache
def exported(root: Path) -> frozenset[str]:
    """Return the last parts of the names that TensorFlow exports, by a checkout.

    Raises:
      FileNotFoundError: the checkout lacks the list.
    """
    tensorflow = root / "tensorflow"
    golden = [path.read_text() for path in (tensorflow / "tools/api/golden").glob("*.pbtxt")]
    if not golden:
        raise FileNotFoundError(f"{tensorflow} has no tools/api/golden/*.pbtxt")
    contrib = [path.read_text() for path in (tensorflow / "contrib").glob("*/__init__.py")]
    names = re.findall(r'name: "(\w+)"', "".join(golden))
    return frozenset([*names, *re.findall(r"\w+", "".join(contrib))])


class Source:
    """The source of a file of tests.

    Args:
      path: the file.
      root: the checkout.
    """

    def __init__(self, path: Path, root: Path) -> None:
        self.root = root
        self.is_eager = path.stem.endswith("_eager_test")
        self.tree = ast.parse(path.read_text())
        self.modules = dict(modules_of(self.tree))
        self.own_private = {
            name
            for node in ast.walk(self.tree)
            for name in names_made(node)
            if name.startswith("_")
        }
        self.private_imports = set(private_imports(self.tree))

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """The classes of the file, by name."""
        return {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """The functions of the file, by name."""
        return {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    def methods(self, class_name: str) -> dict[str, ast.AST]:
        """Return the methods of a class of the file, with those of its bases there."""
        found: dict[str, ast.AST] = {}
        for base in reversed(self.classes[class_name].bases):
            if isinstance(base, ast.Name) and base.id in self.classes:
                found |= self.methods(base.id)
        own = self.classes[class_name].body
        return found | {node.name: node for node in own if isinstance(node, ast.FunctionDef)}

    def used_by(self, class_name: str, test: str) -> list[ast.AST]:
        """Return the test, and the functions, methods and classes of its file that it uses."""
        methods = self.methods(class_name)
        waiting = [methods[name] for name in (test, "setUp", "__init__") if name in methods]
        seen: dict[int, ast.AST] = {}
        while waiting:
            node = waiting.pop()
            if id(node) in seen:
                continue
            seen[id(node)] = node
            for used in names_used(node):
                known = self.functions.get(used) or self.classes.get(used) or methods.get(used)
                waiting += [known] if known is not None else []
        return list(seen.values())

    def reason(self, class_name: str, test: str) -> str | None:
        """Return why a test does not count, None where it does."""
        if self.is_eager:
            return EAGER
        if class_name not in self.classes:
            return None
        used = self.used_by(class_name, test)
        names = {name for node in used for name in names_used(node)}
        for reason, pattern in REASONS.items():
            if any(re.fullmatch(pattern, name) for name in names):
                return reason
        if any(self.is_for_gpus(node) for node in used if isinstance(node, ast.FunctionDef)):
            return "GPUs only"
        if any(self.is_private(node) for top in used for node in ast.walk(top)):
            return PRIVATE
        if any(self.is_unexported(node) for top in used for node in ast.walk(top)):
            return UNEXPORTED
        return None

    def is_unexported(self, node: ast.AST) -> bool:
        """Return whether a node is a name of TensorFlow's that neither it exports nor we have."""
        if isinstance(node, ast.Name):
            module, _, name = self.modules.get(node.id, "").rpartition(".")
            if Finder.of_tensorflow(f"{module}.{name}"):
                return False
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, name = self.modules.get(node.value.id, ""), node.attr
        else:
            return False
        if not module or name in exported(self.root):
            return False
        return isinstance(counterpart(module, name), StandIn)

    def is_private(self, node: ast.AST) -> bool:
        """Return whether a node is an attribute that is private to TensorFlow."""
        if isinstance(node, ast.Name):
            return node.id in self.private_imports
        if not isinstance(node, ast.Attribute) or not re.match(r"_[^_]", node.attr):
            return False
        return node.attr not in self.own_private | NAMED_TUPLES

    def is_for_gpus(self, function: ast.FunctionDef) -> bool:
        """Return whether a function begins by giving up where there is no GPU."""
        asks = re.compile(r"not test(_util|_lib|)\.(is_gpu_available|is_built_with_cuda)")
        for node in function.body:
            if isinstance(node, ast.If) and asks.match(ast.unparse(node.test)):
                ends = ast.unparse(node.body[-1])
                return ends.startswith("return") or "skipTest" in ends
        return False


def names_used(node: ast.AST) -> Iterator[str]:
    """Give the names, attributes and keywords within a node."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Name):
            yield inner.id
        elif isinstance(inner, ast.Attribute):
            yield inner.attr
        elif isinstance(inner, ast.keyword) and inner.arg and not is_false(inner.value):
            yield inner.arg


def is_false(node: ast.AST) -> bool:
    """Return whether a node is the constant False."""
    return isinstance(node, ast.Constant) and node.value is False


def names_made(node: ast.AST) -> Iterator[str]:
    """Give the names that a node defines: functions, classes, attributes that are assigned."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield node.id
    elif (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and ast.unparse(node.value) in ("self", "cls")
    ):
        yield node.attr


def modules_of(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Give (name in the file, name of the module) of what a file imports of TensorFlow."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tensorflow."):
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def private_imports(tree: ast.Module) -> Iterator[str]:
    """Give the names by which a file calls what is private, among what it imports.

    It may be of an imported module: ``add = sparse_ops._add``.
    """
    modules = dict(modules_of(tree))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
            owner, name = ast.unparse(node.value.value), node.value.attr
            if owner in modules and re.match(r"_[^_]", name):
                yield from map(ast.unparse, node.targets)
        if not isinstance(node, ast.ImportFrom) or not node.module:
            continue
        for alias in node.names:
            dotted = f"{node.module}.{alias.name}"
            is_ours = dotted.startswith("tensorflow.")
            is_private = alias.name.startswith("_") or PRIVATE_MODULES.fullmatch(dotted)
            if is_ours and is_private:
                yield alias.asname or alias.name
