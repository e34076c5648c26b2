"""The checkers themselves: they must notice small mistakes."""

import numpy
import pytest

import daskvars as dv
from daskvars.errors import InvalidArgumentError
from daskvars.graph.definitions.opdef import REGISTRY, OpDef, Spec
from daskvars.graph.definitions.patterns import Elementwise
from daskvars.graph.interpreter import apply
from daskvars.ops.math.arithmetic import multiply
from tests.ops import checks
from tests.ops.each_op import of_samples
from tests.ops.sample import Sample


@pytest.fixture
def define():
    """Register ops for one test."""
    made = []

    def register(type, **rules):
        rules = {
            "infer": lambda inputs: inputs[0],
            "pattern": Elementwise(),
            "kernel": "exp",
            "gradient": lambda op, dy: multiply(dy, op.outputs[0]),
            **rules,
        }
        made.append(type)
        definition = OpDef(type, "x:F", **rules)
        return Sample(type, lambda x: apply(definition, x), (numpy.array([0.3, -1.2]),), (0,))

    yield register
    for type in made:
        del REGISTRY[type]


def test_accepts_a_right_gradient(define):
    checks.assert_gradients(define("RightExp"))


@pytest.mark.parametrize("error", [1.001, 0.999])
def test_rejects_a_gradient_off_by_a_thousandth(define, error):
    sample = define(
        "WrongExp", gradient=lambda op, dy: multiply(multiply(dy, op.outputs[0]), error)
    )
    with pytest.raises(AssertionError):
        checks.assert_gradients(sample)


def test_rejects_a_wrong_dtype(define):
    sample = define("WrongDtype", infer=lambda inputs: Spec(checks.tf.float32, inputs[0].shape))
    with pytest.raises(InvalidArgumentError, match="promised float32"):
        checks.graph_run(sample)
    with pytest.raises(AssertionError):
        checks.assert_inferred(dv.zeros([2], dv.float32), numpy.zeros(2))


def test_rejects_a_wrong_shape(define):
    sample = define("WrongShape", infer=lambda inputs: Spec(inputs[0].dtype, (3,)))
    with pytest.raises(InvalidArgumentError, match=r"promised float64 \[3\]"):
        checks.graph_run(sample)
    with pytest.raises(AssertionError):
        checks.assert_inferred(dv.zeros([3], dv.float64), numpy.zeros(2))


def of_names(*names):
    return [Sample("Op", lambda: None, id=name) for name in names]


def test_a_test_of_samples_tries_all_and_says_which_failed():
    tried = []

    @of_samples
    def test(sample, wrong):
        tried.append(sample.id)
        if sample.id in wrong:
            pytest.fail("wrong")
        if sample.id == "skipped":
            pytest.skip("why")

    samples = of_names("a", "b", "skipped")
    test(samples, wrong="")
    assert tried == ["a", "b", "skipped"]
    with pytest.raises(pytest.fail.Exception, match="wrong") as one:
        test(samples, wrong="a")
    assert one.value.__notes__ == ["the case: Op-a"]
    with pytest.raises(BaseExceptionGroup, match="2 of 3 samples") as both:
        test(samples, wrong="ab")
    assert [e.__notes__ for e in both.value.exceptions] == [["the case: Op-a"], ["the case: Op-b"]]
    with pytest.raises(pytest.skip.Exception, match="why"):
        test(samples[2:], wrong="")


def test_rejects_values_that_differ():
    with pytest.raises(AssertionError):
        checks.assert_same([numpy.array([1.0, 2.0])], [numpy.array([1.0, 2.001])])
