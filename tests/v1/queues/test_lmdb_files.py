"""LMDB files that LMDB 0.9 wrote: ``lmdb/many`` has long values, and pairs that were deleted."""

import gzip
import random
from functools import partial
from pathlib import Path

import pytest

import daskvars.v1 as tf
from daskvars.errors import DataLossError, NotFoundError, OutOfRangeError, UnimplementedError
from daskvars.v1.queues.lmdb_files import pairs
from tests import case

FILES = Path(__file__).parent / "lmdb"
MANY = [
    (b"%08d" % n, b"long " * 2000 if n == 100 else b"%d " % n * (n % 20))
    for n in range(300)
    if n % 3
]


@pytest.fixture
def unpacked(tmp_path):
    """Return a function that gives the path of a file."""

    def path_of(name, change=bytes):
        path = tmp_path / f"{name}.mdb"
        path.write_bytes(change(gzip.decompress((FILES / f"{name}.mdb.gz").read_bytes())))
        return str(path)

    return path_of


def test_the_pairs_come_in_the_order_of_their_keys(unpacked):
    assert list(pairs(unpacked("many"))) == MANY
    assert list(pairs(unpacked("none"))) == []


def test_a_reader_goes_through_files_and_folders(unpacked, tmp_path):
    many = unpacked("many")
    (tmp_path / "folder").mkdir()
    Path(unpacked("many")).rename(tmp_path / "folder" / "data.mdb")
    many = unpacked("many")
    with tf.Graph().as_default(), tf.Session() as sess:
        names = tf.FIFOQueue(9, tf.string)
        reader = tf.LMDBReader()
        keys, values = reader.read_up_to(names, 70)
        sess.run(names.enqueue_many([[many, unpacked("none"), str(tmp_path / "folder")]]))
        sess.run(names.close())
        found = []
        with pytest.raises(OutOfRangeError):
            while True:
                found += zip(*sess.run((keys, values)), strict=True)
        assert found == MANY * 2
        assert sess.run((reader.num_records_produced(), reader.num_work_units_completed())) == (
            400,
            3,
        )


def test_what_is_refused(unpacked, tmp_path):
    with pytest.raises(NotFoundError):
        next(pairs(str(tmp_path / "nowhere.mdb")))
    with pytest.raises(UnimplementedError, match="a file of its own"):
        list(pairs(unpacked("names")))
    (tmp_path / "text").write_text("no database " * 1000)
    with pytest.raises(DataLossError, match="is damaged, or no LMDB file"):
        next(pairs(str(tmp_path / "text")))
    with pytest.raises(DataLossError, match="has 9000 bytes, and refers to"):
        list(pairs(unpacked("many", lambda data: data[:9000])))


def damaged(data, seed):
    """Return a file with some bytes altered, the more often those that say where things are."""
    draw, changed = random.Random(seed), bytearray(data)
    for _ in range(draw.randrange(1, 4)):
        page = draw.randrange(len(data) >> 12) << 12
        changed[page + draw.randrange(draw.choice([32, 160, 4096]))] = draw.randrange(256)
    return changed


def test_damage_is_noticed_or_changes_values_alone(unpacked):
    for seed in range(200):
        with case.of(seed):
            path = unpacked("many", partial(damaged, seed=seed))
            try:
                found = list(pairs(path))
            except (DataLossError, UnimplementedError):
                continue
            size = sum(len(key) + len(value) for key, value in found)
            assert size < 2 * Path(path).stat().st_size
