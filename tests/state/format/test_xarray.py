"""xarray opens a checkpoint: its arrays have names for their axes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import zarr

from daskvars.inspect_checkpoint import damages
from daskvars.state import save
from tests.state.samples import variable

xarray = pytest.importorskip("xarray")

ARRAYS = {
    "conv1/weights": np.arange(12.0).reshape(3, 4),
    "conv1/weights/Adam": np.ones((3, 4)),
    "conv1/biases": np.arange(4.0),
    "conv1/biases/Adam": np.ones(4),  # the slots' axes are of other sizes, in one group
    "conv1/square": np.eye(3),
    "conv2/weights": np.zeros((2, 2)),
    "steps": np.array(7),
    "text": np.array([b"a", b"bc"], object),
}


@pytest.fixture(params=["m", "m.zip"])
def place(request, tmp_path):
    """A checkpoint, as a directory and as one file, as something that xarray opens."""
    path = tmp_path / request.param
    save({name: variable(name, array) for name, array in ARRAYS.items()}, path)
    assert list(damages(str(path))) == []
    return zarr.storage.ZipStore(path) if request.param.endswith(".zip") else path


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_a_group_is_a_dataset(place):
    found = xarray.open_zarr(place, group="conv1", consolidated=False)
    assert found["weights"].dims == ("weights[0]", "weights[1]")
    assert found["biases%2FAdam"].dims == ("biases/Adam[0]",)
    assert found["weights"].chunks is not None
    for name in "weights", "biases", "square":
        np.testing.assert_array_equal(found[name], ARRAYS[f"conv1/{name}"])


def test_a_checkpoint_is_a_tree(place):
    tree = xarray.open_datatree(place, engine="zarr", consolidated=False)
    assert {node.path for node in tree.subtree} == {"/", "/conv1", "/conv2"}
    assert int(tree["steps"]) == 7
    assert list(tree["text"].values) == [b"a", b"bc"]
    np.testing.assert_array_equal(tree["conv1/weights"], ARRAYS["conv1/weights"])


def test_a_checkpoint_without_names_for_axes_is_whole(tmp_path):
    save({"v": variable("v", np.zeros(3))}, tmp_path)
    document = tmp_path / "v" / "zarr.json"
    text = document.read_text()
    assert '"dimension_names":["v[0]"]' in text
    document.write_text(text.replace(',"dimension_names":["v[0]"]', ""))
    assert list(damages(str(tmp_path))) == []
