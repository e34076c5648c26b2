"""Files that ops read and write whole: what a system refuses is raised as TensorFlow does it."""

import pytest

import daskvars as dv
from daskvars.errors import FailedPreconditionError, NotFoundError


def read(path):
    return dv.read_file(str(path)).numpy()


def written(path):
    dv.write_file(str(path), "text")
    dv.sync()


@pytest.mark.parametrize("call", [read, written])
def test_a_folder_is_no_file(call, tmp_path):
    with pytest.raises(FailedPreconditionError, match=f"{tmp_path}; Is a directory"):
        call(tmp_path)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(NotFoundError, match="none; No such file"):
        read(tmp_path / "none")
