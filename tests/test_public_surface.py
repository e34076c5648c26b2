"""What `import daskvars` gives: the names, their docstrings, eager and graph mode side by side."""

import doctest
import importlib
import inspect
import pickle
import sys
import types

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import errors
from daskvars.remote.regions.region_program import RegionProgram
from daskvars.surface.names_of_v1 import NAMES_OF_V1
from daskvars.v1.names import graph_mode
from tests import fresh

MODULES_OF_EAGER = [dv, dv.data, dv.layers, dv.nn, dv.nn.rnn_cell, dv.observe, dv.summary, dv.train]
MODULES = [*MODULES_OF_EAGER, tf]


def run(code, *arguments):
    """Run Python code in a process that has imported nothing; return the words that it prints."""
    return fresh.run(code, *arguments).split()


@pytest.mark.parametrize("module", MODULES_OF_EAGER, ids=lambda m: m.__name__)
def test_all_is_what_is_visible(module):
    def is_internal(value):  # subpackages become attributes when they are imported
        return isinstance(value, types.ModuleType) and value not in (
            dv.array_api,
            dv.config,
            dv.data,
            dv.errors,
            dv.observe,
            dv.patterns,
            *graph_mode.NAMESPACES,
        )

    for name in module.__all__:  # what is loaded when it is named
        getattr(module, name)
    visible = {n for n, v in vars(module).items() if n[0] != "_" and not is_internal(v)}
    if module is dv.layers:
        visible -= {"rnn_cell"}  # public as nn.rnn_cell
    assert set(module.__all__) == visible


@pytest.mark.parametrize("module", MODULES, ids=lambda m: m.__name__)
def test_all_is_sorted_and_resolves(module):
    names = [*getattr(module, "__all__", [])]
    assert names == sorted(set(names))
    for name in names:
        getattr(module, name)


def public_objects():
    for module in MODULES_OF_EAGER:
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                yield f"{module.__name__}.{name}", value


def test_every_public_function_and_class_has_a_docstring():
    found = dict(public_objects())
    for name, value in [*found.items()]:
        if inspect.isclass(value):
            for member_name, member in vars(value).items():
                if member_name[0] != "_" and (
                    inspect.isfunction(member) or isinstance(member, property)
                ):
                    found[f"{name}.{member_name}"] = getattr(value, member_name)
    assert len(found) > 800
    assert not [name for name, value in found.items() if not inspect.getdoc(value)]


def all_public_objects():
    """Return the functions and classes of every public module, v1's too, each once, by name."""
    modules, found = [dv, tf], {}
    for module in modules:
        for name in getattr(module, "__all__", [n for n in dir(module) if n[0] != "_"]):
            value = getattr(module, name)
            is_ours = getattr(value, "__name__", "").startswith("daskvars")
            if isinstance(value, types.ModuleType):
                # A file without `__all__` is no public module; the namespaces of v1 are no files.
                is_public = hasattr(value, "__all__") or value.__spec__ is None
                if is_ours and is_public and value not in modules:
                    modules.append(value)
            elif inspect.isclass(value) or inspect.isfunction(value):
                own = value if inspect.isclass(value) else inspect.unwrap(value)
                if own.__module__.startswith("daskvars"):
                    found.setdefault((own.__module__, own.__qualname__), value)
    return {".".join(key): value for key, value in found.items()}


def test_every_public_name_has_an_example():
    found = all_public_objects()
    assert len(found) > 800
    assert not sorted(n for n, v in found.items() if ">>>" not in (inspect.getdoc(v) or ""))


def test_examples_are_found_and_none_is_skipped():
    """Doctest takes what a module defines: of what another one made, what says that it is its."""
    of_modules = {}
    for name, value in all_public_objects().items():
        doc = inspect.getdoc(value) or ""
        assert "+SKIP" not in doc, name
        if ">>>" in doc:
            own = value if inspect.isclass(value) else inspect.unwrap(value)
            of_modules.setdefault(own.__module__, set()).add(name)
    finder = doctest.DocTestFinder()
    for module, names in of_modules.items():
        tests = finder.find(importlib.import_module(module))
        assert not names - {test.name for test in tests if test.examples}


def test_v1_has_the_names_of_the_package():
    eager_only = {"GradientTape", "config", "function", "profile", "reset", "sync"}
    assert set(tf.__all__) == (set(dv.__all__) - eager_only) | set(graph_mode.V1_ONLY)
    assert not set(graph_mode.V1_ONLY) & set(dv.__all__)
    for namespace in ("layers", "nn", "train"):
        assert set(getattr(dv, namespace).__all__) <= set(vars(getattr(tf, namespace)))


@pytest.mark.parametrize("module", [dv, dv.nn, tf], ids=lambda m: m.__name__)
def test_what_is_missing_is_looked_for_once(module, monkeypatch):
    """Tools like pytest ask for the same names again and again; a like name takes a millisecond."""
    asked = []
    monkeypatch.setattr(errors, "near_matches", lambda *args: asked.append(args) or [])
    for _ in range(3):
        assert not hasattr(module, "name_that_is_asked_for_again_and_again")
    assert len(asked) == 1


@pytest.mark.parametrize("module", NAMES_OF_V1)
def test_names_that_only_v1_has_are_known(module):
    """They are those of `daskvars.v1` that the package lacks, and the error says where they are."""
    eager, graph = (importlib.import_module(name) for name in (module, "daskvars.v1"))
    for part in module.split(".")[1:]:
        graph = getattr(graph, part)
    names = {n for n in vars(graph) if n[0] != "_"} & set(getattr(graph, "__all__", vars(graph)))
    names -= {"dtypes"}  # a file of the package has that name
    assert set(NAMES_OF_V1[module].split()) == names - set(eager.__all__)
    for name in NAMES_OF_V1[module].split():
        with pytest.raises(AttributeError, match=rf"daskvars\.v1\.([a-z]+\.)?{name}$"):
            getattr(eager, name)


def test_what_is_nowhere_is_not_said_to_be_in_v1():
    with pytest.raises(
        AttributeError, match=r"no attribute 'Savr' \(did you mean 'Saver'"
    ) as found:
        dv.train.Savr  # noqa: B018
    assert "v1" not in str(found.value)


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        ("train", "Adam", "'daskvars.train' has no attribute 'Adam' (did you mean 'AdamOptimizer'"),
        ("random", "set_seed", "daskvars.random has no 'set_seed': it is daskvars.set_random_seed"),
        ("layers", "Dens", "'daskvars.layers' has no attribute 'Dens' (did you mean 'Dense'"),
        ("", "keras", "daskvars has no 'keras': use layers, losses, metrics and train"),
        ("train", "SGD", "daskvars.train has no 'SGD': it is daskvars.train.GradientDescent"),
        ("data", "AUTOTUNE", "daskvars.data has no 'AUTOTUNE': it is daskvars.data.experimental"),
    ],
)
def test_every_namespace_says_what_is_meant(module, name, said):
    code = f"import daskvars\ntry: daskvars.{module}.{name}".replace("..", ".")
    assert said in fresh.run(f"{code}\nexcept AttributeError as error: print(error)")


def test_v1_says_what_is_missing():
    meant = r"no 'matmull' \(did you mean 'matmul' or 'sparse_matmul'\?\)"
    with pytest.raises(AttributeError, match=meant):
        tf.matmull  # noqa: B018
    with pytest.raises(AttributeError, match=r"eager code: use daskvars\.GradientTape"):
        tf.GradientTape  # noqa: B018


@pytest.mark.parametrize(
    "name",
    [
        "Variable",
        "Session",
        "zeros_initializer",
        "initializers.Zeros",
        "train.Optimizer",
        "train.AdamOptimizer",
        "PartitionedVariable",
        "InteractiveSession",
        "Graph",
        "Tensor",
    ],
)
def test_v1_classes_are_the_package_s(name):
    eager, graph = dv, tf
    for part in name.split("."):
        eager, graph = getattr(eager, part), getattr(graph, part)
    assert issubclass(eager, graph)
    assert issubclass(graph, eager)
    assert not issubclass(int, graph)


def test_v1_s_saver_is_the_package_s_with_graphs():
    assert issubclass(tf.train.Saver, dv.train.Saver)
    assert not issubclass(dv.train.Saver, tf.train.Saver)


def test_v1_instances_pass_isinstance_both_ways():
    with tf.Graph().as_default() as graph:
        of_graph = tf.Variable(1.0, name="v")
        session = tf.Session(graph=graph)
    of_eager = dv.Variable(1.0, name="test_public_surface/v")
    for variable in (of_graph, of_eager):
        assert isinstance(variable, tf.Variable)
        assert isinstance(variable, dv.Variable)
    assert isinstance(session, tf.Session)
    assert isinstance(session, dv.Session)
    assert not isinstance(session, tf.Variable)
    assert not isinstance(tf.train.AdamOptimizer(), tf.train.MomentumOptimizer)
    session.close()


def test_both_modes_live_in_one_process():
    tf.reset_default_graph()
    placeholder = tf.placeholder(tf.float32, [], name="x")
    doubled = placeholder * 2.0
    eager = dv.constant(3.0) * 2.0
    assert float(eager) == 6.0
    assert doubled.graph is tf.get_default_graph()
    with tf.Session() as sess:
        assert sess.run(doubled, {placeholder: 4.0}) == 8.0
        assert dv.constant(1.0).graph is sess.graph, "inside a session's graph dv builds too"
    assert float(dv.constant(5.0)) == 5.0
    tf.reset_default_graph()


def test_an_interactive_session_is_the_default_one_until_it_is_closed():
    tf.reset_default_graph()
    session = tf.InteractiveSession()
    try:
        assert int((tf.constant(3) + 1).eval()) == 4
        assert session.graph is tf.get_default_graph()
    finally:
        session.close()
    assert tf.get_default_session() is None
    assert float(dv.constant(1.0)) == 1.0
    tf.reset_default_graph()


def test_an_eager_value_in_a_graph_is_a_clear_error():
    eager = dv.constant(3.0)
    with tf.Graph().as_default(), pytest.raises((TypeError, ValueError), match=r"(?i)eager"):
        tf.constant(1.0) + eager


def test_an_op_registered_through_v1_builds_into_the_default_graph():
    tf.reset_default_graph()
    function = tf.register_op(
        "PublicSurfaceTwice",
        "x:F",
        infer=lambda inputs: inputs[0],
        pattern=tf.patterns.Elementwise(),
        kernel="positive",
        gradient=tf.NO_GRADIENT,
    )
    assert function(1.0).graph is tf.get_default_graph()
    tf.reset_default_graph()


LOADED = """
import sys
{}
print(*[name for name in sys.modules if name.startswith(("daskvars.", "filelock"))])
"""
LATER = ("data", "layers", "losses", "metrics", "nn", "observe", "summary", "train", "v1")


@pytest.mark.slow
def test_a_bare_import_leaves_all_that_computes():
    loaded = run(LOADED.format("import daskvars as dv; dv.config.set(tile_elements=9); dv.errors"))
    rooms = {name.split(".")[1] for name in loaded}
    assert rooms == {"config", "errors", "surface", "remote"}
    declaring = [name for name in loaded if name.startswith("daskvars.surface.")]
    assert declaring == ["daskvars.surface.loading"]


@pytest.mark.slow
def test_what_the_first_name_leaves():
    program = "import gc, daskvars as dv; v = dv.Variable(2.0); assert v * 3.0 > 5.0"
    loaded = run(LOADED.format(f"{program}; assert gc.isenabled()"))
    assert "daskvars.graph.graph" in loaded
    assert not [name for name in loaded if name.split(".")[1:2] in [[later] for later in LATER]]
    assert not [name for name in loaded if name.startswith(("daskvars.ops.nn.c", "daskvars.insp"))]
    assert not [name for name in loaded if name.startswith("daskvars.namespaces")]
    assert "filelock" not in loaded, "it takes as long as forty of our modules"


@pytest.mark.slow
@pytest.mark.parametrize("name", LATER)
def test_what_is_left_is_loaded_when_it_is_imported_or_named(name):
    for code in (f"import daskvars.{name}", f"import daskvars as dv; dv.{name}.__name__"):
        assert f"daskvars.{name}" in run(LOADED.format(code))


@pytest.mark.slow
def test_what_is_left_is_listed():
    assert {*LATER} - {"v1"} <= {*run("import daskvars; print(*dir(daskvars))")}


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "from daskvars import constant as c, train; print(float(c(2.0) + 1.0))",
        "import daskvars as dv; print(float(dv.math.add(2.0, 1.0)))",
        "from daskvars.layers import flatten; print(float(flatten([[3.0]])[0][0]))",
        "from daskvars.ops.math.arithmetic import add; print(float(add(2.0, 1.0)))",
    ],
)
def test_eager_code_is_there_whatever_is_named_first(code):
    assert run(code) == ["3.0"]


def test_a_name_is_not_that_of_another_module():
    """Once a module is loaded, it is an attribute of the package under its own name."""
    for name in dv.__all__:
        module = sys.modules.get(f"daskvars.{name}")
        assert module in (None, getattr(dv, name))


@pytest.mark.slow
def test_an_op_that_is_not_loaded_is_found_by_its_name():
    code = """
import daskvars as dv
with dv.Graph().as_default() as graph:
    print(graph.create_op("Relu", [dv.constant(1.0)], name="r").name)
"""
    assert run(code) == ["r"]
    taken = """
import daskvars as dv
try:
    {}
except (KeyError, ValueError) as error:
    print("refused", error)
"""
    for code in (
        'dv.RegisterGradient("Conv2D")(print)',
        'dv.register_op("Conv2D", "x:F", infer=None, pattern=None, kernel=None, gradient=None)',
    ):
        assert run(taken.format(code))[0] == "refused"


@pytest.mark.slow
def test_import_is_quick_and_leaves_cupy_alone():
    code = """
import sys, time
import dask.array, distributed, ml_dtypes, threadpoolctl, zarr
others = {"cupy", "scipy.linalg", "scipy.optimize", "sklearn"}
before = others & set(sys.modules)  # dask.array imports CuPy where it is installed
start = time.process_time()
import daskvars, daskvars.v1
print(time.process_time() - start, others & set(sys.modules) == before)
"""
    seconds, imports_nothing_else = fresh.run(code).split()
    assert float(seconds) < 3.0, "0.5 s on an idle machine, dependencies not counted"
    assert imports_nothing_else == "True"


@pytest.mark.slow
def test_workers_run_a_region_without_the_graph(tmp_path):
    with dv.Graph().as_default(), dv.Session() as sess:
        x = dv.placeholder(dv.float32, [None, 4])
        program, _ = sess._executable(dv.reduce_sum(dv.tanh(x @ dv.ones([4, 2]))), (x,))
        plan = program.plan([np.ones((3, 4), "float32")])
    programs = [region.program for region in plan.regions]
    assert all(isinstance(p, RegionProgram) for p in programs)
    path = tmp_path / "programs.pickle"
    path.write_bytes(pickle.dumps(programs))
    code = """
import pickle, sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        part = name.split(".")[1:2]
        if part and part[0] in sys.argv[2:]:
            raise ImportError(f"{name} is not for workers")

sys.meta_path.insert(0, Refuse())
import numpy
from daskvars.remote.regions.compilation import compiled
for program in pickle.load(open(sys.argv[1], "rb")):
    assert callable(compiled(program, numpy))
    print("compiled")
"""
    rooms = ("graph", "ops", "backpropagation", "variables", "lowering", "execution")
    assert run(code, str(path), *rooms) == ["compiled"] * len(programs)


def test_names_that_tensorflow_1_has_twice_are_of_one_function():
    assert dv.linalg.transpose is dv.linalg.matrix_transpose
    assert dv.sparse.matmul is dv.sparse.sparse_dense_matmul
