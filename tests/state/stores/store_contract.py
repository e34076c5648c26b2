"""What every state store does: subclass `StoreContract` and provide `store`."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from daskvars.errors import CorruptChunkError, InvalidArgumentError, NotFoundError
from daskvars.shapes import block_indices
from daskvars.state import ConflictError, Store, VariableRecord, stored_chunk, stored_chunks
from daskvars.state.format.manifest import NO_VERSION, VersionId
from tests.at_once import at_once
from tests.state.samples import DTYPES, LAYOUTS, assert_same, cut, joined, sample, variable


def put(store: Store, version: int, **arrays: np.ndarray) -> None:
    """Commit a version with variables of one chunk."""
    variables = {key: variable(key, array) for key, array in arrays.items()}
    writer = store.begin([record for record, _ in variables.values()], version)
    writer.write_values({key: blocks for key, (_, blocks) in variables.items()})
    writer.commit(global_step=version * 10)


class StoreContract:
    """The contract; a subclass overrides `store`, and `reopened` where a store outlives it."""

    @pytest.fixture
    def store(self, tmp_path) -> Store:
        raise NotImplementedError

    def reopened(self, store: Store) -> Store:
        """Give the store as another process would find it."""
        return store

    def test_an_empty_store_has_no_head(self, store: Store) -> None:
        assert store.head() is None
        assert store.snapshots() == ()
        for call in (store.manifest, store.drop):
            with pytest.raises(NotFoundError):
                call(1)

    def test_nothing_is_there_before_the_commit(self, store: Store) -> None:
        record, blocks = variable("w", np.arange(3.0))
        writer = store.begin([record], 1)
        writer.write_values({"w": blocks})
        assert self.reopened(store).head() is None
        writer.commit()
        assert self.reopened(store).head().version == 1

    def test_a_commit_is_the_head_with_what_it_was_given(self, store: Store) -> None:
        record = VariableRecord("w", "int8", (2,), ((2,),), False, ("LOCAL", "mine"), "/cpu:0")
        writer = store.begin([record], 4)
        writer.write_chunk("w", (0,), np.int8([1, 2]))
        manifest = writer.commit(global_step=np.int64(12), extra={"note": ["a", 1, None]})
        head = self.reopened(store).head()
        assert head == manifest
        assert (head.version, head.global_step, head.extra["note"]) == (4, 12, ["a", 1, None])
        found = head.record("w")
        assert (found.trainable, found.collections, found.device) == (
            *(False, ("LOCAL", "mine")),
            "/cpu:0",
        )
        assert len(found.digests) == 1

    @pytest.mark.parametrize("dtype", DTYPES)
    def test_every_dtype_comes_back_bit_by_bit(self, store: Store, dtype: str) -> None:
        array = sample(dtype, (5, 3))
        record, blocks = variable("w", array, ((2, 2, 1), (2, 1)), dtype)
        writer = store.begin([record], 1)
        writer.write_values({"w": blocks})
        writer.commit()
        found = self.reopened(store).read_values(1)["w"]
        assert_same(joined(found, record.chunks), array)

    @pytest.mark.parametrize("chunks", LAYOUTS, ids=str)
    def test_every_layout_comes_back(self, store: Store, chunks) -> None:
        array = sample("float32", tuple(sum(sizes) for sizes in chunks))
        record, blocks = variable("w", array, chunks)
        writer = store.begin([record], 1)
        writer.write_values({"w": blocks})
        writer.commit()
        found = store.read_values(1)["w"]
        assert list(found) == list(block_indices(chunks))
        for index in block_indices(chunks):
            assert_same(found[index], blocks[index])
        for index in block_indices(stored_chunks(chunks)):
            assert_same(store.read_chunk("w", 1, index), stored_chunk(record, blocks, index))

    def test_any_region_and_any_layout_can_be_read(self, store: Store) -> None:
        array = sample("int32", (7, 6))
        record, blocks = variable("w", array, ((3, 3, 1), (4, 2)))
        writer = store.begin([record], 1)
        writer.write_values({"w": blocks})
        writer.commit()
        for selection in np.s_[:, :], np.s_[2:5, 3:], np.s_[6:, :0], np.s_[-3:-1, 1:2]:
            assert_same(store.read_selection("w", 1, selection), array[selection])
        for layout in [((7,), (6,)), ((1,) * 7, (3, 3)), ((2, 5), (1, 4, 1)), ((0, 7), (6, 0))]:
            found = store.read_values(1, {"w": layout})["w"]
            wanted = cut(array, layout)
            assert all((found[i] == wanted[i]).all() for i in wanted)
        with pytest.raises(InvalidArgumentError, match="do not add up"):
            store.read_values(1, {"w": ((7,), (5,))})
        with pytest.raises(InvalidArgumentError, match="one slice with step 1"):
            store.read_selection("w", 1, np.s_[::2, :])

    def test_what_is_read_may_be_written_into(self, store: Store) -> None:
        put(store, 1, w=np.zeros(4))
        store.read_chunk("w", 1, (0,))[:] = 7
        store.read_selection("w", 1, np.s_[:,])[:] = 7
        assert (store.read_chunk("w", 1, (0,)) == 0).all()

    def test_what_was_written_may_be_changed_afterwards(self, store: Store) -> None:
        array = np.zeros(4)
        record, _ = variable("w", array)
        writer = store.begin([record], 1)
        writer.write_chunk("w", (0,), array)
        array[:] = 7
        writer.commit()
        assert (store.read_chunk("w", 1, (0,)) == 0).all()

    def test_wrong_names_chunks_shapes_and_dtypes_are_refused(self, store: Store) -> None:
        record, _ = variable("dense/kernel", np.zeros((4, 2), np.float32), ((2, 2), (2,)))
        writer = store.begin([record], 1)
        for key, index, array, says in [
            ("dense/kernal", (0, 0), np.zeros((2, 2), np.float32), "not declared"),
            ("dense/kernel", (2, 0), np.zeros((2, 2), np.float32), r"no chunk \(2, 0\)"),
            ("dense/kernel", (-1, 0), np.zeros((2, 2), np.float32), r"no chunk \(-1, 0\)"),
            ("dense/kernel", (0,), np.zeros((2, 2), np.float32), r"no chunk \(0,\)"),
            ("dense/kernel", (0, 0), np.zeros((2, 3), np.float32), r"shape \(2, 3\)"),
            ("dense/kernel", (0, 0), np.zeros((2, 2)), "float64"),
        ]:
            with pytest.raises(InvalidArgumentError, match=says):
                writer.write_chunk(key, index, array)
        with pytest.raises(InvalidArgumentError, match="block"):
            writer.write_values({"dense/kernel": {(0, 0): np.zeros((2, 2), np.float32)}})

    def test_a_commit_names_the_chunks_that_are_missing(self, store: Store) -> None:
        record, blocks = variable("w", np.arange(6.0), ((2, 2, 2),))
        writer = store.begin([record], 1)
        writer.write_chunk("w", (1,), blocks[1,])
        with pytest.raises(InvalidArgumentError, match=r"2 chunks .*'w' \(0,\), 'w' \(2,\)"):
            writer.commit()
        assert self.reopened(store).head() is None
        writer.write_values({"w": blocks})
        writer.commit()
        assert store.head().version == 1

    def test_extra_data_must_be_json(self, store: Store) -> None:
        writer = store.begin([], 1)
        for extra in ({"loss": float("nan")}, {"array": np.zeros(2)}):
            with pytest.raises(InvalidArgumentError, match="JSON"):
                writer.commit(extra=extra)

    def test_two_variables_of_one_key_are_refused(self, store: Store) -> None:
        record, _ = variable("w", np.zeros(2))
        with pytest.raises(InvalidArgumentError, match="twice: w"):
            store.begin([record, record], 1)

    def test_version_numbers_only_go_up(self, store: Store) -> None:
        put(store, 3, w=np.zeros(2))
        assert store.begin([], 2).version == 4
        assert self.reopened(store).begin([], 3).version == 5
        put(store, 7, w=np.zeros(2))
        store.drop(7)
        assert self.reopened(store).head().version == 3
        assert self.reopened(store).begin([]).version == 8

    def test_old_versions_go_and_kept_ones_stay_readable(self, store: Store) -> None:
        for version in range(1, 5):
            put(store, version, w=np.full(3, version))
        assert self.reopened(store).snapshots() == (3, 4)
        assert store.read_chunk("w", 3, (0,)).tolist() == [3, 3, 3]
        assert store.manifest(3).global_step == 30
        with pytest.raises(NotFoundError):
            store.read_chunk("w", 2, (0,))
        store.drop(3)
        assert self.reopened(store).snapshots() == (4,)

    def test_unknown_variables_are_named_with_near_matches(self, store: Store) -> None:
        put(store, 1, kernel=np.zeros(2))
        with pytest.raises(NotFoundError, match=r"kernal.*kernel"):
            store.read_chunk("kernal", 1, (0,))
        with pytest.raises(InvalidArgumentError, match="no chunk"):
            store.read_chunk("kernel", 1, (1,))

    def test_an_aborted_version_leaves_the_head(self, store: Store) -> None:
        put(store, 1, w=np.ones(2))
        record, blocks = variable("w", np.zeros(2))
        writer = store.begin([record], 2)
        writer.write_values({"w": blocks})
        writer.abort()
        assert self.reopened(store).head().version == 1
        assert store.read_chunk("w", 1, (0,)).tolist() == [1, 1]
        put(store, 2, w=np.zeros(2))
        assert self.reopened(store).head().version > 1

    def test_of_two_writers_on_one_version_the_first_to_commit_wins(self, store: Store) -> None:
        put(store, 1, w=np.zeros(2))
        record, blocks = variable("w", np.ones(2))
        base = store.head().id
        writers = [self.reopened(store).begin([record], 2, base=base) for _ in range(3)]
        assert len({writer.version for writer in writers}) == 3
        for writer in writers:
            writer.write_values({"w": blocks})
        won = writers[1].commit()
        for writer in writers[::2]:
            says = rf"computed from version 1 .* version {won.version}\b.* is the head"
            with pytest.raises(ConflictError, match=says):
                writer.commit()
        again = self.reopened(store)
        assert again.snapshots() == (1, won.version)
        assert again.read_chunk("w", won.version, (0,)).tolist() == [1, 1]

    @pytest.mark.parametrize("number", [-1, 0, 1, 2])
    def test_a_version_is_built_on_the_head_only(self, store: Store, number: int) -> None:
        base = VersionId(number, "of another version" if number >= 0 else "")
        assert store.begin([], base=NO_VERSION).version == 0
        with pytest.raises(ConflictError, match=r"no version is the head .*the store was deleted"):
            store.begin([], base=VersionId(3, "gone"))
        put(store, 1, w=np.zeros(2))
        with pytest.raises(ConflictError, match=r"version 1\b.* is the head"):
            store.begin([], base=base)
        assert store.begin([], base=store.head().id).version == 2

    def test_no_increment_of_many_threads_is_lost(self, store: Store) -> None:
        put(store, 1, n=np.zeros(1))

        def add_one(store: Store) -> None:
            while True:
                head = store.head()
                try:
                    number = store.read_chunk("n", head.version, (0,)) + 1
                    writer = store.begin([variable("n", number)[0]], base=head.id)
                    writer.write_chunk("n", (0,), number)
                    writer.commit()
                except (ConflictError, NotFoundError, CorruptChunkError):
                    continue  # another was faster, or has dropped what was being read
                return

        def work() -> None:
            mine = self.reopened(store)
            for _ in range(10):
                add_one(mine)

        at_once(*[work] * 3)
        head = store.head()
        assert store.read_chunk("n", head.version, (0,)).tolist() == [30]

    def test_unchanged_variables_are_carried_over(self, store: Store) -> None:
        put(store, 1, frozen=np.arange(4.0), w=np.zeros(2))
        records = [variable(key, np.zeros(n))[0] for key, n in (("frozen", 4), ("w", 3))]
        writer = store.begin(records, 2)
        assert writer.carry("frozen")
        assert not writer.carry("w")
        writer.write_chunk("w", (0,), np.ones(3))
        writer.commit()
        store.drop(1)
        assert store.read_chunk("frozen", 2, (0,)).tolist() == [0, 1, 2, 3]
        assert store.read_chunk("w", 2, (0,)).tolist() == [1, 1, 1]

    def test_chunks_are_written_from_many_threads(self, store: Store) -> None:
        array = sample("float32", (64, 8))
        record, blocks = variable("w", array, ((4,) * 16, (8,)))
        writer = store.begin([record], 1)
        digests: dict = {}

        def write(index) -> None:
            digests[index] = writer.write_chunk("w", index, blocks[index])

        at_once(*[partial(write, index) for index in blocks])
        writer.commit({"w": digests})
        assert_same(store.read_selection("w", 1, np.s_[:, :]), array)
