"""TensorFlow 1.8's own tests: of those that count, none fails that is not known to."""

import os
from pathlib import Path

import pytest

from tests.tensorflow_tests.groups import GROUPS
from tests.tensorflow_tests.left_out import UNEXPORTED, Source
from tests.tensorflow_tests.running import rate, run_group
from tests.tensorflow_tests.shim import Finder

ROOT = os.environ.get("DASKVARS_TENSORFLOW_TESTS", "")
KNOWN = Path(__file__).parents[1] / "data" / "tensorflow_xfails.txt"


def known_failures():
    """Return the tests that are known to fail; each stands before the reason, after a colon."""
    lines = KNOWN.read_text().splitlines()
    return {line.partition(": ")[0] for line in lines if line and line[0] != "#"}


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not ROOT, reason="DASKVARS_TENSORFLOW_TESTS names no TensorFlow 1.8")
@pytest.mark.parametrize("group", GROUPS)
def test_what_fails_of_a_group_is_known(group):
    outcomes = [*run_group(group, Path(ROOT).resolve())]
    print(rate(group, outcomes))
    failed = {outcome.test: outcome.reason for outcome in outcomes if outcome.what == "failed"}
    known = known_failures()
    assert not {test: reason for test, reason in failed.items() if test not in known}


def test_known_failures_have_a_reason():
    lines = [line for line in KNOWN.read_text().splitlines() if line and line[0] != "#"]
    assert not [line for line in lines if not line.partition(": ")[2]]
    assert len(known_failures()) == len(lines)


def test_what_is_left_out_is_found_in_the_source(tmp_path, monkeypatch):
    monkeypatch.setattr(Finder, "root", tmp_path, raising=False)
    golden = tmp_path / "tensorflow" / "tools" / "api" / "golden"
    golden.mkdir(parents=True)
    (golden / "tensorflow.pbtxt").write_text('member_method { name: "quantize" }')
    ops = tmp_path / "tensorflow" / "python" / "ops"
    ops.mkdir(parents=True)
    for module in ("array_ops", "data_flow_ops"):
        (ops / f"{module}.py").write_text("")
    path = tmp_path / "some_test.py"
    path.write_text(
        "from tensorflow.python.layers import utils\n"
        "from tensorflow.python.ops import array_ops, data_flow_ops\n"
        "add = array_ops._add\n"
        "def helper():\n"
        "    return context.eager_mode()\n"
        "class SomeTest(test.TestCase):\n"
        "    def _own(self):\n"
        "        return ops.constant(1)\n"
        "    def testOfPrograms(self):\n"
        "        self._own()\n"
        "    def testPrivate(self):\n"
        "        ops._private(1)\n"
        "    def testPrivateByAnotherName(self):\n"
        "        add(1)\n"
        "    def testPrivateModule(self):\n"
        "        utils.normalize(1)\n"
        "    def testThroughAFunction(self):\n"
        "        helper()\n"
        "    def testExported(self):\n"
        "        array_ops.quantize(array_ops.concat([1]))\n"
        "    def testUnexported(self):\n"
        "        data_flow_ops.Barrier()\n"
        "    def testGPU(self):\n"
        "        if not test.is_gpu_available():\n"
        "            self.skipTest('no GPU')\n"
    )
    source = Source(path, tmp_path)
    reasons = {test: source.reason("SomeTest", test) for test in source.methods("SomeTest")}
    assert reasons == {
        "_own": None,
        "testOfPrograms": None,
        "testPrivate": "private names of TensorFlow",
        "testPrivateByAnotherName": "private names of TensorFlow",
        "testPrivateModule": "private names of TensorFlow",
        "testThroughAFunction": "the inside of eager contexts",
        "testExported": None,
        "testUnexported": UNEXPORTED,
        "testGPU": "GPUs only",
    }
