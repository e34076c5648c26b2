"""What a file says becomes no text of a program, and names nothing that its op does not define."""

import ast
import json
from pathlib import Path

import numpy as np
import pytest

import daskvars
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from daskvars.graph.records.graph_def import GraphDef
from daskvars.graph.records.json_record import CHECKSUM
from daskvars.remote.regions.compilation import compiled
from daskvars.remote.regions.region_program import Call, RegionProgram
from tests.sources import naming, nodes

ROOT = Path(daskvars.__file__).parent
CODE = "axis=__import__('os').system('touch pwned'),keepdims"
ATTACKS = [
    [CODE],
    ["axis", CODE],
    [CODE, "axis"],
    ["keepdims"],
    ["axis", "axis"],
    ["no_such"],
    [3],
    "axis",
    ["axis"] * 9,
    {"list": ["axis"]},
    None,
    [["axis"]],
]


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write the graph of a sum over an axis that is fed; return the path of its file."""
    monkeypatch.chdir(tmp_path)
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [2, 3], name="x")
        k = tf.placeholder(tf.int32, [], name="k")
        tf.reduce_sum(x, axis=k, name="y")
        tf.train.export_meta_graph("model.meta")
    return tmp_path / "model.meta"


def imported_and_run():
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph("model.meta")
        return session.run("y:0", {"x:0": np.ones((2, 3)), "k:0": 0})


def test_what_is_sound_runs(written):
    assert imported_and_run().tolist() == [2, 2, 2]


@pytest.mark.parametrize("operands", ATTACKS, ids=str)
def test_operands_that_the_op_does_not_define_are_refused(written, operands):
    document = json.loads(written.read_text())
    del document[CHECKSUM]  # of a file that nobody damaged, but made
    (node,) = [n for n in document["graph"]["node"] if n["op"] == "Sum"]
    assert node["attr"]["operands"] == ["axis"]
    node["attr"]["operands"] = operands
    written.write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"model\.meta.*'y'.*'operands'"):
        imported_and_run()
    assert not (written.parent / "pwned").exists()


NODES = {
    "Sum": [("keepdims", "yes", "bool"), ("axis", None, "'axis'"), ("no", 1, "no attribute 'no'")],
    "If": [
        ("branches", None, "'branches'"),
        ("_specs", [], "results of"),
        ("_specs", None, "'_specs'"),
        ("kept", [7], "'kept'"),
        ("positions", [[0], [9]], "'positions'"),
        ("positions", 3, "'positions'"),
    ],
    "While": [("num_vars", 99, "loop"), ("maximum", "x", "'maximum'"), ("_specs", [], "loop")],
    "Shape": [("out_type", "int32", "'out_type'")],
    "VariableV2": [
        ("chunks", [2, 3], "'chunks'"),
        ("chunks", 2, "'chunks'"),
        ("key", 3, "'key'"),
        ("shape", "ab", "'shape'"),
    ],
    "RegexReplace": [
        (
            "pattern",
            {"graph": {"name": "g", "node": [], "input": [], "result": [], "effect": []}},
            "'pattern'",
        )
    ],
    "Split": [("num_split", 10**18, "'num_split'"), ("num_split", -1, "'num_split'")],
    "Conv2D": [("strides", "x", "'strides'"), ("strides", None, "'strides'")],
}


def with_each_op():
    """Build a graph with the ops of `NODES`."""
    x = tf.placeholder(tf.float32, [2, 3], name="x")
    tf.get_variable("v", [2, 3])
    tf.reduce_sum(x, axis=tf.placeholder(tf.int32, []), name="Sum")
    tf.cond(x[0, 0] > 0, lambda: x * 2, lambda: x, name="If")
    tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * 2), [0, x], name="While")
    tf.shape(tf.placeholder(tf.float32), name="Shape")
    tf.regex_replace(tf.constant("a"), "a", "b", name="RegexReplace")
    tf.split(x, 3, axis=1, name="Split")
    tf.nn.conv2d(tf.zeros([1, 4, 4, 1]), tf.zeros([2, 2, 1, 1]), [1, 1, 1, 1], "SAME")


@pytest.mark.parametrize(
    ("op", "name", "value", "text"), [(op, *case) for op, cases in NODES.items() for case in cases]
)
def test_attributes_of_another_kind_are_refused(op, name, value, text):
    with tf.Graph().as_default() as graph:
        with_each_op()
    document = graph.as_graph_def().to_json()
    document = json.loads(json.dumps(document))
    node = next(n for n in document["node"] if n["op"] == op)
    if value is None:
        node["attr"].pop(name)
    else:
        node["attr"][name] = value
    with tf.Graph().as_default(), pytest.raises(ValueError, match=text) as found:
        tf.import_graph_def(GraphDef.from_json(document))
    assert node["name"] in str(found.value)


def program(**fields):
    """Give a region of one call with other fields."""
    call = Call("add", (0, 1), (2,), {}, name="y", shapes=((),), dtypes=(np.dtype("f4"),))
    return RegionProgram(
        **{
            "label": "r",
            "num_inputs": 2,
            "constants": {},
            "calls": (call._replace(**{k: v for k, v in fields.items() if k in Call._fields}),),
            "outputs": (2,),
            **{k: v for k, v in fields.items() if k not in Call._fields},
        }
    )


SLOT = "0)or(__import__('os').system('touch pwned'))or(s0"


@pytest.mark.parametrize(
    "fields",
    [
        {"args": (0, SLOT)},
        {"outs": (SLOT,)},
        {"operands": (CODE,)},
        {"block": SLOT},
        {"outputs": (SLOT,)},
        {"num_inputs": SLOT},
        {"constants": {SLOT: 3}},
        {"label": "\0"},
        {"into": {2: SLOT}},
        {"copied": (SLOT,)},
        {"args": (0, 7)},
        {"kernel": SLOT},
        {"attrs": {SLOT: 1}},
        {"num_inputs": 10**18},
        {"calls": (None,)},
        {"args": 3},
    ],
    ids=str,
)
def test_no_text_of_a_region_becomes_code(tmp_path, monkeypatch, fields):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidArgumentError, match=next(iter(fields))):
        compiled(program(**fields), np)(np.float32(1), np.float32(2))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("trees")
def test_only_one_module_makes_code_of_text():
    made = {"exec", "eval", "compile", "__import__", "import_module", "_import_module"}
    found = set()
    for path in naming(ROOT.rglob("*.py"), made):
        for node in nodes(path):
            if isinstance(node, ast.Call):  # by name: `re.compile` is another thing
                name = getattr(node.func, "id", "")
                is_fixed = bool(node.args) and isinstance(node.args[0], ast.Constant)
                if name in made and not (name == "import_module" and is_fixed):
                    found.add((str(path.relative_to(ROOT)), name))
            if isinstance(node, ast.Attribute):
                assert getattr(node.value, "id", "") not in ("builtins", "importlib") or (
                    node.attr not in made
                )
    allowed = {("remote/regions/codegen.py", name) for name in ("exec", "compile")}
    # of CuPy, and of the package's own modules by their own names
    by_known_names = {("backend.py", "import_module"), ("__init__.py", "_import_module")}
    assert found - by_known_names == allowed
