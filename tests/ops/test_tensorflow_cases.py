"""What TensorFlow has run gives the same here."""

import json
from pathlib import Path

import pytest

import daskvars.v1 as tf
from tests.ops.image import cases as images
from tests.ops.signal import cases as signals
from tests.ops.sparse import set_cases as sets

RESULTS = {
    images: "image/tensorflow.json",
    signals: "signal/tensorflow.json",
    sets: "sparse/set_results.json",
}
EXPECTED = {
    cases: json.loads((Path(__file__).parent / path).read_text()) for cases, path in RESULTS.items()
}


@pytest.mark.parametrize(
    "cases, name",
    [
        pytest.param(cases, name, id=f"{Path(path).parent}-{name}")
        for cases, path in RESULTS.items()
        for name in cases.CASES
    ],
)
def test_results_are_those_of_tensorflow(cases, name):
    found = cases.plain(cases.CASES.result(name, tf))
    assert_alike(found, EXPECTED[cases][name], cases.compare)


@pytest.mark.parametrize("cases", RESULTS)
def test_every_case_has_a_result(cases):
    assert cases.CASES.keys() == EXPECTED[cases].keys()


def assert_alike(found, expected, compare):
    """Compare results, [dtype, shape, elements], that may be nested in lists."""
    if isinstance(expected[0], list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_alike(one, other, compare)
        return
    assert found[:2] == expected[:2]
    compare(found, expected)
