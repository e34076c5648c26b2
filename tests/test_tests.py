"""The house rules of the tests themselves."""

import ast

import pytest

from tests.sources import ROOT, naming, nodes, statements

TESTS = sorted((ROOT / "tests").rglob("*.py"))
pytestmark = pytest.mark.usefixtures("trees")
CLUSTERS = {"LocalCluster", "SpecCluster", "Client", "Nanny"}
# Who may make clusters or clients: the rest asks `clusters` for them. A program that is only read,
# by type checkers, does as users do.
MAKES_CLUSTERS = {"clusters.py", "typed/cluster_training.py"}
# What takes time in a test, and what that stands for.
SLEEPS = {
    "waiting.py": "between two questions",
    "execution/cluster/test_clients.py": "a slow Python function",
    "execution/cluster/workers/test_elastic.py": "between two steps, while a cluster adapts",
    "remote/test_shared_buffers.py": "a turn of the event loop",
    "execution/test_commits.py": "a reader that reads now and then; the moment of a kill",
    "state/stores/test_crash.py": "the moment of a kill",
    "state/stores/test_objects.py": "slow requests",
    "train/checkpoints/test_one_file.py": "the moment of a kill",
    "train/checkpoints/test_saver_crash.py": "the moment of a kill",
}
# Folders of tests that are of no folder of the package: what they are.
OF_NO_ROOM = {
    "ops/samples": "what the tests of every op try",
    "ops/samples/nn": "those of neural networks",
    "seeds": "programs of users",
    "tensorflow_tests": "TensorFlow's own tests, where there is a checkout of it",
    "typed": "programs for type checkers",
    "v1/programs": "programs of TensorFlow 1, which use all of it",
}


def called(path):
    """Yield (line, last part of the name) of each call in a file."""
    for node in nodes(path):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            yield node.lineno, name


def callers(names):
    """Return file -> lines where one of the functions of some names is called."""
    found = {}
    for path in naming(TESTS, names):
        lines = [line for line, name in called(path) if name in names]
        if lines:
            found[path.relative_to(ROOT / "tests").as_posix()] = lines
    return found


def test_clusters_are_made_in_one_place():
    assert {*callers(CLUSTERS)} == MAKES_CLUSTERS


def test_a_client_of_another_machine_is_refused():
    from tests import clusters

    with pytest.raises(AssertionError, match="is not here"):
        clusters.connected("tcp://192.0.2.1:8786")


def test_tests_wait_for_conditions():
    assert {*callers({"sleep"})} == {*SLEEPS}


def test_calls_are_found(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text("import time\ntime.sleep(1)\nfrom dask import distributed\nClient('a')\n")
    assert [*called(path)] == [(2, "sleep"), (4, "Client")]


def test_files_that_name_something_are_found_however_it_is_spelled(tmp_path):
    texts = {"plain": "time.sleep(1)", "wide": "time.\uff53leep(1)", "other": "asleep, sleep_"}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    assert {path.stem for path in naming(tmp_path.iterdir(), {"sleep"})} == {"plain", "wide"}


def test_statements_are_all_nodes_but_those_of_expressions(tmp_path):
    path = tmp_path / "all.py"
    path.write_text(
        "import a\ntry:\n  b\nexcept c:\n  with d:\n    def e(): return f\n"
        "else:\n  g\nfinally:\n  h\n"
        "async def i():\n  async for j in k:\n    l\n  else:\n    m if n else lambda: o\n"
        "match p:\n  case q:\n    class r:\n      if s: t\n      elif u: v\n      else: w\n"
        "while x: y\nelse:\n  try: z\n  except* a: b\n"
    )
    kinds = ast.stmt | ast.ExceptHandler | ast.match_case | ast.Module
    found = [id(node) for node in statements(path)]
    assert sorted(found) == sorted(id(n) for n in nodes(path) if isinstance(n, kinds))


def folders(root):
    """Return the folders below `root` that hold modules, by their path from it."""
    found = {path.parent.relative_to(root).as_posix() for path in root.rglob("*.py")}
    return found - {"."}


def test_each_folder_of_tests_is_of_a_folder_of_the_package():
    rooms = folders(ROOT / "daskvars")
    assert folders(ROOT / "tests") - rooms == {*OF_NO_ROOM}
