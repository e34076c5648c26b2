"""TensorFlow's tests get what NumPy 1 and Python 3.5 gave them, and nobody else does."""

import importlib.util

import numpy
import pytest

from tests.tensorflow_tests.of_their_day import Loader


@pytest.fixture
def loaded(tmp_path):
    """Return a function that runs a source as a file of the checkout and returns its names."""

    def load(source):
        path = tmp_path / "some_test.py"
        path.write_text(source)
        spec = importlib.util.spec_from_loader("some_test", Loader("some_test", str(path)))
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return vars(module)

    return load


def test_removed_names_are_back_in_the_file_alone(loaded):
    names = loaded(
        "import numpy as np\n"
        "import numpy.testing\n"
        "import collections\n"
        "from collections import Iterable\n"
        "old = [np.float, np.object, np.string_, np.infty, np.asscalar(np.int8(3))]\n"
        "utils, testing = np.testing.utils, numpy.testing.utils\n"
        "same = collections.Iterable is Iterable, collections.OrderedDict() == {}\n"
        "array = np.zeros(2)\n"
    )
    assert names["old"] == [float, object, numpy.bytes_, numpy.inf, 3]
    assert names["utils"] is names["testing"] is numpy.testing
    assert names["same"] == (True, True)
    assert type(names["array"]) is numpy.ndarray
    assert not hasattr(numpy, "float")


@pytest.mark.filterwarnings("ignore:the matrix subclass")
def test_arguments_are_taken_as_they_were(loaded):
    names = loaded(
        "import numpy as np\n"
        "reshaped = np.reshape(np.arange(4), newshape=(2, 2))\n"
        "stacked = np.hstack(np.ones(1) for _ in range(2))\n"
        "wrapped = np.array([200], dtype=np.int8)\n"
        "squeezed = np.squeeze(1.0, axis=(1,)), np.squeeze(np.ones([2, 1]), axis=1)\n"
        "floats = np.asfarray([1], np.int32).dtype, np.asfarray([1], np.float32).dtype\n"
        "data = np.matrix([[1]], np.int8).tostring()\n"
    )
    assert names["reshaped"].shape == (2, 2)
    assert names["stacked"].tolist() == [1, 1]
    assert names["wrapped"].tolist() == [-56]
    assert [value.shape for value in names["squeezed"]] == [(), (2,)]
    assert names["floats"] == (numpy.float64, numpy.float32)
    assert names["data"] == b"\x01"


def test_a_list_of_slices_is_an_index(loaded):
    names = loaded(
        "import numpy as np\n"
        "array, every = np.arange(6).reshape(2, 3), [slice(None), slice(1, 2)]\n"
        "part = array[every].tolist()\n"
        "rows = array[[0]].tolist()\n"
        "array[every] = 7\n"
        "last = {'a': [1, 2]}['a'][-1]\n"
    )
    assert names["part"] == [[1], [4]]
    assert names["rows"] == [[0, 1, 2]]
    assert names["array"].tolist() == [[0, 7, 2], [3, 7, 5]]
    assert names["last"] == 2


def test_scalars_and_numbers_both_decide_a_dtype(loaded):
    names = loaded(
        "import numpy as np\n"
        "scalars = np.float32(1) * 1.0, 2 - np.uint8(1), np.float32(1) / np.float32(2)\n"
        "arrays = np.ones(1, np.float32) * 1.0\n"
        "text = 'a' + 'b' + '%d' % 3\n"
    )
    assert [value.dtype for value in names["scalars"]] == ["float64", "int64", "float32"]
    assert names["arrays"].dtype == "float32"
    assert names["text"] == "ab3"
