"""A typed program: batches from Zarr, a cluster's workers, a state that lives in a store."""

from __future__ import annotations

from pathlib import Path
from typing import Any, assert_type

import numpy as np
import zarr
from distributed import Client, LocalCluster
from numpy.typing import NDArray

import daskvars as dv


@dv.function
def update(table: dv.Variable, ids: dv.Tensor, rows: dv.Tensor) -> dv.Tensor:
    return dv.reduce_sum(dv.scatter_sub(table, ids, 0.1 * rows))


def train(store: Path) -> int:
    array = zarr.open_array(store / "rows.zarr", mode="r")  # pyright: ignore[reportUnknownMemberType]
    batches = dv.data.batches({"rows": array}, 32, shuffle=True, seed=1, epochs=2)
    assert_type(batches, dv.data.Batches)
    graph = dv.Graph()
    with graph.as_default():
        rows = dv.placeholder(dv.float32, [None, 8], name="rows")
        with dv.device("/job:worker/task:0"), dv.variable_scope("model"):
            table = dv.get_variable("table", [1000, 8], chunks=(250, 8))
            mean = dv.get_variable("mean", [8], initializer=dv.zeros_initializer())
        moved = dv.assign(mean, 0.9 * mean + 0.1 * dv.reduce_mean(rows, axis=0))
        init = dv.global_variables_initializer()
        saver = dv.train.Saver(max_to_keep=3)
    assert_type(table, dv.Variable)
    with dv.Session(graph=graph, store=store / "state.zarr") as sess:
        newest = dv.train.latest_checkpoint(str(store))
        if newest is None:
            sess.run(init)
        else:
            saver.restore(sess, newest)
        for batch in batches:
            value = sess.run(moved, {rows: batch["rows"]})
            assert_type(value, NDArray[Any])
        text = sess.explain([moved], {rows: np.zeros((64, 8), "float32")})
        assert_type(text, str)
        sess.seal()
        saver.save(sess, str(store / "checkpoint"), global_step=1)
        version = sess.recover()
        assert_type(version, int)
    return version


def main(store: Path) -> None:
    local = LocalCluster(n_workers=2, host="127.0.0.1")  # type: ignore[no-untyped-call]
    with local as cluster, Client(cluster):  # type: ignore[no-untyped-call]
        print(train(store))
    with dv.variable_scope("eager"):
        table = dv.get_variable("table", [100, 4], dtype="float32", chunks=(25, 4))
    print(float(update(table, dv.constant([1, 2]), dv.ones([2, 4]))))
    values: NDArray[np.float32] = np.asarray(table)
    reader = dv.train.NewCheckpointReader(str(store / "checkpoint-1"))
    assert_type(reader.get_variable_to_shape_map(), dict[str, list[int]])
    print(values.shape, dv.train.list_variables(str(store / "checkpoint-1")))


if __name__ == "__main__":
    main(Path("work"))
