"""Makes the files under ``golden`` with TensorFlow: ``python -m ...make_golden`` where it is.

It was 2.21; the format is the same since 0.12. `objects.json` has the values in
``objects-1``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.state.external.tensorflow.samples import GOLDEN, PARTITIONED, array, by_dtype


def dtypes(tf: Any) -> None:
    """Write tensors of every dtype."""
    values = by_dtype()
    with tf.Graph().as_default(), tf.Session() as sess:
        tensors = [
            tf.constant(v.tolist() if v.dtype == object else v, shape=v.shape, dtype=kind)
            for v, kind in (
                (v, tf.string if v.dtype == object else v.dtype) for v in values.values()
            )
        ]
        names = list(values)
        op = tf.raw_ops.SaveV2(
            prefix=str(GOLDEN / "dtypes"),
            tensor_names=names,
            shape_and_slices=[""] * len(names),
            tensors=tensors,
        )
        sess.run(op)


def part_of(whole: np.ndarray) -> Callable[..., np.ndarray]:
    """Give the initializer that makes each part of a variable."""

    def part(shape: list[int], dtype: Any, partition_info: Any = None) -> np.ndarray:
        offset = [0] * len(shape) if partition_info is None else partition_info.var_offset
        return whole[tuple(slice(a, a + n) for a, n in zip(offset, shape, strict=True))]

    return part


def partitioned(tf: Any) -> None:
    """Write partitioned variables, in two files of data."""
    config = tf.ConfigProto(device_count={"CPU": 2})
    with tf.Graph().as_default(), tf.Session(config=config) as sess:
        for number, (name, (shape, parts)) in enumerate(PARTITIONED.items()):
            with tf.device(f"/cpu:{number % 2}"):
                tf.get_variable(
                    name,
                    shape,
                    initializer=part_of(array("float32", shape)),
                    partitioner=None if parts == (1, 1) else lambda parts=parts, **_: list(parts),
                )
        sess.run(tf.global_variables_initializer())
        saver = tf.train.Saver(sharded=True)
        saver.save(sess, str(GOLDEN / "partitioned"), write_meta_graph=False, write_state=False)


def objects(tf: Any, tensorflow: Any) -> None:
    """Write an object-based checkpoint: a model and an optimizer with slots."""

    def variable(value: Any, name: str) -> Any:
        return tf.Variable(value, name=name, use_resource=True)

    model, layer = tensorflow.Module(), tensorflow.Module()
    model.kernel = model.same = variable(np.float32([1, 2]), "kernel")
    layer.bias = variable(np.float32(3), "bias")
    model.layers = [tensorflow.Module(), layer]
    model.tables = {"a/b.c": variable(np.int64([4, 5]), "table")}
    optimizer = tf.train.MomentumOptimizer(0.5, 0.5)
    with tensorflow.GradientTape() as tape:
        loss = tf.reduce_sum(model.kernel) + layer.bias
    variables = [model.kernel, layer.bias]
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
    checkpoint = tensorflow.train.Checkpoint(model=model, optimizer=optimizer)
    checkpoint.save(str(GOLDEN / "objects"))
    (GOLDEN / "checkpoint").unlink()


def main() -> None:
    """Make all."""
    import tensorflow
    import tensorflow.compat.v1 as tf

    GOLDEN.mkdir(exist_ok=True)
    dtypes(tf)
    partitioned(tf)
    objects(tf, tensorflow)
    reader = tf.train.NewCheckpointReader(str(GOLDEN / "objects-1"))
    shapes = reader.get_variable_to_shape_map()
    found = {
        name: np.asarray(reader.get_tensor(name)).tolist()
        for name in sorted(shapes)
        if name != "_CHECKPOINTABLE_OBJECT_GRAPH"
    }
    (GOLDEN / "objects.json").write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
