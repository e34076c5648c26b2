"""A typed program: eager training with a tape, a compiled step, an optimizer and checkpoints."""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import daskvars as dv


def dense(x: dv.Tensor, units: int, name: str) -> dv.Tensor:
    with dv.variable_scope(name):
        kernel = dv.get_variable("kernel", [x.shape[-1], units], dv.float32)
        bias = dv.get_variable("bias", [units], initializer=dv.zeros_initializer())
    assert_type(kernel, dv.Variable)
    return dv.nn.relu(dv.matmul(x, kernel) + bias)


class Model:
    def __init__(self, rate: float) -> None:
        self.optimizer = dv.train.AdamOptimizer(rate)
        with dv.variable_scope("model"):
            self.weights = dv.get_variable("weights", [3, 1], initializer=dv.ones_initializer())

    def loss(self, x: dv.Tensor, y: dv.Tensor) -> dv.Tensor:
        error = dv.matmul(x, self.weights) - y
        return dv.reduce_mean(dv.square(error))

    @dv.function
    def step(self, x: dv.Tensor, y: dv.Tensor, scale: float = 1.0) -> dv.Tensor:
        with dv.GradientTape() as tape:
            loss = scale * self.loss(x, y)
        slopes = tape.gradient(loss, [self.weights])
        self.optimizer.apply_gradients(zip(slopes, [self.weights], strict=True))
        return loss


@dv.function(name="norm")
def norm(x: dv.Tensor, order: int = 2) -> dv.Tensor:
    return dv.norm(x, order)


@dv.custom_gradient
def clipped(x: dv.Tensor) -> Any:
    def slope(dy: dv.Tensor) -> dv.Tensor:
        return dv.clip_by_value(dy, -1.0, 1.0)

    return x, slope


def slopes(x: dv.Tensor, w: dv.Variable) -> None:
    with dv.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = dv.reduce_sum(dv.matmul(x**2, w) - 1.0)
    one = tape.gradient(y, x)
    assert isinstance(one, dv.Tensor)
    assert_type(one, dv.Tensor)
    many = tape.gradient(y, [w, w])
    named = tape.gradient(y, {"w": w})
    assert_type(many, list[dv.Tensor | dv.IndexedSlices | None])
    assert_type(named, dict[str, dv.Tensor | dv.IndexedSlices | None])


def main() -> None:
    rng = np.random.default_rng(0)
    data: NDArray[np.float32] = rng.normal(size=(64, 3)).astype("float32")
    inputs = dv.constant(data)
    targets = dv.convert_to_tensor(data @ np.full((3, 1), 2.0, "float32"))
    assert_type(inputs, dv.Tensor)
    model = Model(rate=0.1)
    for step in range(3):
        loss = model.step(inputs, targets, scale=0.5)
        assert_type(loss, dv.Tensor)
        print(f"step {step}: loss {float(loss):.2f}")
    assert_type(norm(inputs), dv.Tensor)
    assert_type(norm.explain(inputs, order=1), str)
    assert_type(model.weights.numpy(), NDArray[Any])
    assert_type(model.weights + 1.0, dv.Tensor)
    assert_type(1.0 - model.weights[0, :], dv.Tensor)
    assert_type(inputs.shape.as_list(), list[int | None])
    assert_type(model.weights.dtype, dv.DType)
    assert_type(model.weights.assign_add(dv.ones([3, 1])), dv.Tensor)
    slopes(inputs, model.weights)
    hidden = dv.layers.Dense(4, activation=dv.nn.relu)(inputs)
    assert_type(dv.reduce_mean(hidden, axis=0), dv.Tensor)
    assert_type(dv.argmax(hidden, axis=1) == 0, bool)
    assert_type(clipped(inputs), Any)
    parts = dv.split(inputs, 2)
    assert_type(parts, list[dv.Tensor])
    first, second = dv.nn.moments(inputs, [0])
    assert_type(first + second, dv.Tensor)
    saver = dv.train.Saver([model.weights], max_to_keep=2)
    path = saver.save(None, "checkpoints/model", global_step=3)
    assert path is not None
    saver.restore(None, path)
    print(dense(inputs, 2, "head").shape, dv.train.latest_checkpoint("checkpoints"))


def wrong(x: dv.Tensor) -> None:
    norm(x, 2, 3)  # type: ignore[call-arg]
    norm(x, order="two")  # type: ignore[arg-type]
    dv.get_variable(3)  # type: ignore[call-overload]
    print(x.shapes)  # type: ignore[attr-defined]


if __name__ == "__main__":
    main()
