"""Pipelines give what TensorFlow's give: elements, types, shapes, and errors in their places."""

import json
from pathlib import Path

import pytest

import daskvars.v1 as tf
from tests.data import cases

TENSORFLOW = json.loads(Path(__file__).with_name("tensorflow.json").read_text())


@pytest.mark.parametrize("name", cases.CASES)
def test_a_pipeline_is_tensorflows(name):
    found, wanted = cases.result(tf, cases.CASES[name]), TENSORFLOW[name]
    assert found == wanted
