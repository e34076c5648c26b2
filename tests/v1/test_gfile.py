"""Files: what TensorFlow's functions give, and the errors in place of OSError."""

import os
import time

import fsspec
import pytest

import daskvars.v1 as tf
from daskvars import errors
from daskvars.v1 import gfile


def test_reading_and_writing(tmp_path):
    path = str(tmp_path / "words.txt")
    with gfile.GFile(path, "w") as file:
        file.write("é\n")
        file.write(b"two\n")
        assert file.tell() == 7
        assert file.size() == 7
    with gfile.FastGFile(path) as file:
        assert (file.name, file.mode) == (path, "r")
        assert file.readline() == "é\n"
        assert file.tell() == 3
        assert file.read(2) == "tw"
        file.seek(0)
        assert file.readlines() == ["é\n", "two\n"]
        file.seek(position=3)
        assert list(file) == ["two\n"]
        assert file.read() == ""
    with gfile.Open(path, "a") as file:
        file.write("three")
        file.flush()
    with gfile.GFile(path, "rb") as file:
        assert file.read() == "é\ntwo\nthree".encode()
    with pytest.raises(errors.InvalidArgumentError, match="mode 'x'"):
        gfile.GFile(path, "x")


def check_walks(top):
    """Check the files x and y, and z in b with an empty folder c; then delete them all."""
    walked = [
        (top, ["b"], ["x.txt", "y.txt"]),
        (f"{top}/b", ["c"], ["z.txt"]),
        (f"{top}/b/c", [], []),
    ]
    assert list(gfile.Walk(top)) == walked
    assert list(gfile.Walk(top, in_order=False)) == walked[::-1]
    gfile.DeleteRecursively(top)
    assert not gfile.Exists(top)
    assert list(gfile.Walk(top)) == []


def test_folders(tmp_path):
    top = str(tmp_path / "top")
    assert not gfile.Exists(top)
    gfile.MkDir(top)
    gfile.MakeDirs(os.path.join(top, "b", "c"))
    gfile.MakeDirs(os.path.join(top, "b", "c"))
    for name in ("y.txt", "x.txt", "b/z.txt"):
        gfile.GFile(os.path.join(top, name), "w").close()
    assert gfile.IsDirectory(top)
    assert not gfile.IsDirectory(os.path.join(top, "x.txt"))
    assert gfile.ListDirectory(top) == ["b", "x.txt", "y.txt"]
    assert gfile.Glob(f"{top}/[x-z].txt") == [f"{top}/x.txt", f"{top}/y.txt"]
    assert gfile.Glob([f"{top}/y*", f"{top}/x*"]) == [f"{top}/x.txt", f"{top}/y.txt"]
    check_walks(top)


def test_copying_and_renaming(tmp_path):
    first, second = str(tmp_path / "first"), tmp_path / "second"
    with gfile.GFile(first, "w") as file:
        file.write("text")
    gfile.Copy(first, second)
    with pytest.raises(errors.AlreadyExistsError, match="overwrite=True"):
        gfile.Copy(first, second)
    gfile.Copy(first, second, overwrite=True)
    with pytest.raises(errors.AlreadyExistsError):
        gfile.Rename(first, second)
    gfile.Rename(first, second, overwrite=True)
    assert not gfile.Exists(first)
    found = gfile.Stat(second)
    assert (found.length, found.is_directory) == (4, False)
    assert found.mtime_nsec == os.stat(second).st_mtime_ns
    gfile.Remove(second)
    assert gfile.Stat(tmp_path).is_directory


OF_WHAT_IS_THERE = [
    lambda path: gfile.GFile(path),
    lambda path: gfile.Remove(path),
    lambda path: gfile.Stat(path),
    lambda path: gfile.ListDirectory(path),
    lambda path: gfile.DeleteRecursively(path),
    lambda path: gfile.Copy(path, f"{path}2"),
    lambda path: gfile.Rename(path, f"{path}2"),
]


@pytest.mark.parametrize(
    "call",
    [
        *OF_WHAT_IS_THERE,
        lambda path: gfile.MkDir(f"{path}/inner"),
        lambda path: gfile.GFile(f"{path}/inner", "w"),
    ],
)
def test_what_is_not_there(tmp_path, call):
    with pytest.raises(errors.NotFoundError, match="missing"):
        call(str(tmp_path / "missing"))


def test_other_errors(tmp_path):
    with pytest.raises(errors.AlreadyExistsError):
        gfile.MkDir(tmp_path)
    with pytest.raises(errors.FailedPreconditionError):
        gfile.GFile(tmp_path)
    (tmp_path / "file").touch()
    for name in ("file", "file/in/it"):  # TensorFlow: "<tmp_path>/file is not a directory"
        with pytest.raises(errors.FailedPreconditionError):
            gfile.MakeDirs(tmp_path / name)
    with pytest.raises(errors.UnimplementedError, match=r"gs://bucket/file .*fsspec"):
        tf.gfile.Exists("gs://bucket/file")
    assert tf.gfile.Exists(f"file://{tmp_path}")


# -- elsewhere ---------------------------------------------------------------------------------


@pytest.fixture
def bucket():
    files = fsspec.filesystem("memory")
    yield "memory://gfile-bucket"
    if files.exists("/gfile-bucket"):
        files.rm("/gfile-bucket", recursive=True)


def test_files_elsewhere_are_read_and_written(bucket):
    path = f"{bucket}/a/words.txt"
    with gfile.GFile(path, "w") as file:
        file.write("é\n")
        file.write(b"two\n")
        assert file.tell() == file.size() == 7
    with gfile.GFile(path) as file:
        assert file.size() == 7
        assert file.readlines() == ["é\n", "two\n"]
    with gfile.GFile(path, "a") as file:
        file.write("three")
    found = gfile.Stat(path)
    assert (found.length, found.is_directory) == (12, False)
    assert abs(found.mtime_nsec / 1e9 - time.time()) < 60


def test_folders_elsewhere(bucket):
    gfile.MakeDirs(f"{bucket}/b/c")
    gfile.MakeDirs(f"{bucket}/b/c")
    with pytest.raises(errors.AlreadyExistsError):
        gfile.MkDir(f"{bucket}/b")
    for name in ("y.txt", "x.txt", "b/z.txt"):
        gfile.GFile(f"{bucket}/{name}", "w").close()
    assert gfile.IsDirectory(bucket)
    assert gfile.Stat(bucket).is_directory
    assert not gfile.IsDirectory(f"{bucket}/x.txt")
    assert gfile.ListDirectory(bucket) == ["b", "x.txt", "y.txt"]
    assert gfile.Glob(f"{bucket}/[x-z].txt") == [f"{bucket}/x.txt", f"{bucket}/y.txt"]
    check_walks(bucket)


def test_copying_and_renaming_elsewhere(bucket, tmp_path):
    here, there = str(tmp_path / "here"), f"{bucket}/there"
    with gfile.GFile(here, "w") as file:
        file.write("text")
    gfile.Copy(here, there)
    with pytest.raises(errors.AlreadyExistsError, match="overwrite=True"):
        gfile.Copy(here, there)
    gfile.Rename(there, f"{bucket}/moved")
    assert not gfile.Exists(there)
    assert gfile.GFile(f"{bucket}/moved").read() == "text"
    with pytest.raises(errors.UnimplementedError, match="copy it, and remove"):
        gfile.Rename(here, there)
    gfile.Remove(f"{bucket}/moved")
    assert not gfile.Exists(f"{bucket}/moved")


@pytest.mark.parametrize("call", OF_WHAT_IS_THERE)
def test_what_is_not_there_elsewhere(bucket, call):
    with pytest.raises(errors.NotFoundError, match="missing"):
        call(f"{bucket}/missing")


def test_a_mode_says_what_a_file_is_for(tmp_path):
    path = str(tmp_path / "x.txt")
    with gfile.GFile(path, "w") as file:
        with pytest.raises(errors.PermissionDeniedError, match=r"x.txt; the mode .* read"):
            file.read()
        file.write("text")
    with gfile.GFile(path) as file:
        with pytest.raises(errors.PermissionDeniedError, match=r"x.txt; the mode .* write"):
            file.write("more")
        assert file.read() == "text"


def test_schemes_that_nobody_knows():
    with pytest.raises(errors.UnimplementedError, match=r"zzz://x .*Protocol not known"):
        gfile.Exists("zzz://x")


def test_tensorflow_2_s_names_are_in_io(tmp_path):
    files, top = tf.io.gfile, str(tmp_path / "a")
    files.makedirs(os.path.join(top, "b"))
    files.mkdir(os.path.join(top, "c"))
    with files.GFile(os.path.join(top, "x.txt"), "w") as file:
        file.write("words")
    files.copy(os.path.join(top, "x.txt"), os.path.join(top, "y.txt"))
    files.rename(os.path.join(top, "y.txt"), os.path.join(top, "z.txt"))
    assert files.exists(top) and files.isdir(top) and not files.isdir(f"{top}/x.txt")
    assert files.listdir(top) == ["b", "c", "x.txt", "z.txt"]
    assert files.glob(f"{top}/*.txt") == [f"{top}/x.txt", f"{top}/z.txt"]
    assert files.stat(f"{top}/z.txt").length == 5
    assert next(files.walk(top)) == (top, ["b", "c"], ["x.txt", "z.txt"])
    files.remove(f"{top}/x.txt")
    files.rmtree(top)
    told = []
    assert list(files.walk(top, onerror=told.append)) == [] and len(told) == 1
    assert not files.exists(top)
