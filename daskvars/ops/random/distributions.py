"""Random tensors, and the seeds that they are drawn with.

Element n of a draw depends on its key and n alone, so that numbers do not depend on how a tensor
is cut. The key comes from the seeds, which an operation carries as a note, and from how often the
session has run the operation; see `daskvars.kernels.random.distributions`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from daskvars import dtypes, shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Contraction, Source
from daskvars.graph.definitions.static_values import partial_value
from daskvars.graph.interpreter import apply, builder_for
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.random import distributions as kernels
from daskvars.ops.array import constant, slicing
from daskvars.ops.math.arithmetic import add, multiply, number, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import floormod
from daskvars.ops.math.scans import whole_along
from daskvars.ops.rules import axes
from daskvars.ops.rules.shapes import like_first
from daskvars.shapes import Shape
from daskvars.surface.signatures import named, with_example

DEFAULT_GRAPH_SEED = 87654321  # TensorFlow's
_LIMIT = 2**31 - 1
# Notes of the eager program: how often each pair was drawn with, and by how many functions.
_USES, _STREAMS = "uses of seeds", "streams of functions"

# -- seeds -------------------------------------------------------------------------------------


def set_random_seed(seed: int | None) -> None:
    """Set the seed of the current graph, or of the eager program.

    With it every random operation made afterwards is repeatable; each draws numbers of its own.
    Without it, those are repeatable that were given a seed themselves.

    Args:
      seed: int, None for none.

    Source: TensorFlow 1.15, ``tf.set_random_seed``.

    >>> set_random_seed(7)
    >>> first = dv.random_uniform([2]).numpy()
    >>> set_random_seed(7)
    >>> bool((dv.random_uniform([2]).numpy() == first).all())
    True
    >>> set_random_seed(None)
    """
    builder = builder_for(())
    builder.seed = seed
    for note in _USES, _STREAMS:
        builder.notes.pop(note, None)


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the (graph seed, operation seed) of a random operation made now.

    Args:
      op_seed: the seed given to the operation, or None.

    Returns:
      Two ints; (None, None) where neither the graph nor the operation has a seed.

    Source: TensorFlow 1.15, ``tf.get_seed``.

    >>> get_seed(3)
    (87654321, 3)
    """
    return _seeds_in(builder_for(()), op_seed)


def _seeds_in(builder: Any, op_seed: int | None) -> tuple[int | None, int | None]:
    graph_seed = builder.seed
    if op_seed is None:
        return (None, None) if graph_seed is None else _distinct(graph_seed, _place_in(builder))
    return _distinct(DEFAULT_GRAPH_SEED if graph_seed is None else graph_seed, op_seed)


def _distinct(graph_seed: int, op_seed: int) -> tuple[int, int]:
    """Bring both into 31 bits; (0, 0) means "no seed" to TensorFlow's kernels."""
    seeds = int(graph_seed) % _LIMIT, int(op_seed) % _LIMIT
    return (0, _LIMIT) if seeds == (0, 0) else seeds


def _place_in(builder: Any) -> int:
    """Return the number of operations before, in this graph and in those around it."""
    if builder is None or builder.is_eager:
        return 0
    around = getattr(builder, "place", 0) or _place_in(getattr(builder, "outer", None))
    return builder.version + 1_000_003 * around


def drawn_with(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the seeds as a note; in eager code a pair that is used again draws other numbers."""
    return _seeds_drawn(builder_for(()), op_seed)


def _seeds_drawn(builder: Any, op_seed: int | None) -> tuple[int | None, int | None]:
    seeds = _seeds_in(builder, op_seed)
    if not builder.is_eager or seeds[1] is None:
        return seeds
    uses = builder.notes.setdefault(_USES, {})
    count = uses[seeds] = uses.get(seeds, -1) + 1
    return seeds[0], seeds[1] + (count << 32)


def next_stream(builder: Any) -> int:
    """Return the number of a function that eager code has traced, among those since the seed.

    Operations of two functions may have the same seeds, as they have the same places in them.
    """
    number = builder.notes[_STREAMS] = builder.notes.get(_STREAMS, -1) + 1
    return number


# -- sources -----------------------------------------------------------------------------------


def _drawn(inputs: Sequence[Spec], *, shape: Shape, dtype: DType, **attrs: Any) -> Spec:
    return Spec(as_dtype(dtype), axes.sizes_of(shape, inputs))


def part_of_block(attrs: Any, block: Any) -> dict[str, Any]:
    """Return the attributes of one block of a source: its extents, and where it lies."""
    whole = block.full_out_shapes[0]
    return axes.in_block(
        attrs, shape=block.out_shapes[0], offset=block.out_offsets[0], full_shape=whole
    )


def source(type: str, kernel: Any, *operands: str, seeded: bool = True) -> OpDef:
    """Define an op that draws an array; without `seeded` the seed is one of its operands."""
    return without_gradient(
        type,
        "",
        infer=_drawn,
        kernel=kernel,
        pattern=Source(),
        operands=("shape", *operands),
        block=part_of_block,
        seeded=seeded,
    )


RANDOM_UNIFORM = source("RandomUniform", kernels.random_uniform)
RANDOM_UNIFORM_INT = source("RandomUniformInt", kernels.random_uniform, "minval", "maxval")
RANDOM_NORMAL = source("RandomStandardNormal", kernels.random_normal)
TRUNCATED_NORMAL = source("TruncatedNormal", kernels.truncated_normal)


_DRAWN = (dtypes.float32, dtypes.float64, dtypes.float16)


def _draw(
    definition: OpDef,
    shape: Any,
    dtype: dtypes.DType,
    seed: int | None,
    name: str | None = None,
    **bounds: float,
) -> Tensor:
    """Draw numbers, standard ones without `bounds`; bfloat16 is rounded from float32."""
    kind = dtypes.float32 if dtype is dtypes.bfloat16 else dtype
    if kind not in _DRAWN:
        raise TypeError(f"Random {definition.type} numbers are floating, not {dtype.name}")
    plain = kind is dtype
    drawn = apply(
        definition,
        name=name if plain else None,
        shape=axes.as_sizes(shape),
        dtype=kind.name,
        _seed=drawn_with(seed),
        **bounds,
    )
    return drawn if plain else cast(drawn, dtype, name=name)


_NUMBERS = (int, float, numpy.number)


def are_numbers(*values: Any) -> bool:
    """Return whether the kernel can take these itself: numbers known now, not tensors."""
    for value in values:
        if type(value) is not float and not isinstance(value, _NUMBERS):
            return False
    return True


def random_uniform(
    shape: TensorLike,
    minval: Any = 0,
    maxval: Any = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return numbers uniform in [minval, maxval).

    Args:
      shape: [rank] int32 or int64, the shape.
      minval: scalar, or a tensor that broadcasts to `shape` (floats), included.
      maxval: as `minval`, excluded; 1 by default for floats.
      dtype: a float dtype, int32 or int64.
      seed: int, see `set_random_seed`.
      name: name of the operation, by default "random_uniform".

    Returns:
      [*shape] `dtype`.

    Raises:
      ValueError: integers are asked for without `maxval`.

    >>> numbers = random_uniform([1000], -1.0, 1.0).numpy()
    >>> bool(((-1 <= numbers) & (numbers < 1)).all())
    True
    """
    dtype = as_dtype(dtype).base_dtype
    if maxval is None:
        if dtype.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {dtype.name}")
        maxval = 1
    with name_scope(name, "random_uniform", [shape, minval, maxval]) as scope:
        if dtype.is_integer:
            return apply(
                RANDOM_UNIFORM_INT,
                name=scope,
                shape=axes.as_sizes(shape),
                dtype=dtype.name,
                **axes.as_integers(minval=minval, maxval=maxval),
                _seed=drawn_with(seed),
            )
        if are_numbers(minval, maxval):
            bounds = {"minval": float(minval), "maxval": float(maxval)}
            return _draw(RANDOM_UNIFORM, shape, dtype, seed, scope, **bounds)
        low = convert_to_tensor(minval, dtype, name="min")
        high = convert_to_tensor(maxval, dtype, name="max")
        drawn = _draw(RANDOM_UNIFORM, shape, dtype, seed)
        span = subtract(high, low, name="sub")
        return add(multiply(drawn, span, name="mul"), low, name=scope)


def _scaled(
    definition: OpDef,
    default: str,
    shape: Any,
    mean: Any,
    stddev: Any,
    dtype: Any,
    seed: int | None,
    name: str | None,
) -> Tensor:
    dtype, shape = as_dtype(dtype).base_dtype, axes.as_sizes(shape)
    plain = are_numbers(mean, stddev)
    bounds = {"mean": float(mean), "stddev": float(stddev)} if plain else {}
    if plain and dtype in _DRAWN and shapes.are_sizes(shape):
        # One operation; its name is that of the scope that several would be in.
        builder = builder_for(())
        seeds = _seeds_drawn(builder, seed)
        attrs = {"shape": shape, "dtype": dtype.name, "_seed": seeds, **bounds}
        full_name = builder.op_name(name or default, definition.type)
        return builder.create(definition, (), attrs, Spec(dtype, shape), full_name).outputs[0]
    with name_scope(name, default, [shape, mean, stddev]) as scope:
        if plain:
            return _draw(definition, shape, dtype, seed, scope, **bounds)
        middle = convert_to_tensor(mean, dtype, name="mean")
        width = convert_to_tensor(stddev, dtype, name="stddev")
        drawn = _draw(definition, shape, dtype, seed)
        return add(multiply(drawn, width, name="mul"), middle, name=scope)


def _normal(name: str, definition: OpDef) -> Callable[[str, str], Callable[..., Tensor]]:
    """Return what gives a function of normal numbers, by its docstring's first line and example."""
    default = name

    def normal(
        shape: TensorLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = dtypes.float32,
        seed: int | None = None,
        name: str | None = None,
    ) -> Tensor:
        return _scaled(definition, default, shape, mean, stddev, dtype, seed, name)

    doc = f"""

    Args:
      shape: [rank] int32 or int64, the shape.
      mean: scalar, or a tensor that broadcasts to `shape`.
      stddev: as `mean`, the standard deviation.
      dtype: a float dtype.
      seed: int, see `set_random_seed`.
      name: name of the operation, by default "{name}".

    Returns:
      [*shape] `dtype`.
    """
    return lambda summary, example: named(normal, name, with_example(summary + doc, example))


random_normal = _normal("random_normal", RANDOM_NORMAL)(
    "Return normally distributed numbers.",
    "draws = random_normal([10000], mean=5.0, stddev=2.0, seed=1).numpy()\n"
    "round(float(draws.mean()), 1), round(float(draws.std()), 1) -> (5.0, 2.0)",
)
truncated_normal = _normal("truncated_normal", TRUNCATED_NORMAL)(
    "Return normal numbers that lie within two standard deviations of the mean.",
    "draws = truncated_normal([10000], stddev=0.5, seed=1).numpy()\n"
    "bool(0.9 < abs(draws).max() <= 1.0) -> True",
)


# -- draws from tensors ------------------------------------------------------------------------

RANDOM_SHUFFLE = without_gradient(
    "RandomShuffle",
    "value:T",
    infer=like_first,
    kernel=kernels.random_shuffle,
    pattern=Contraction(
        lambda inputs, attrs: whole_along(inputs, {"axis": 0}) if inputs[0] else "->", None
    ),
    seeded=True,
)


def random_shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """Return a tensor with its entries along the first dimension in random order.

    Args:
      value: [n, ...] any dtype.
      seed: int, see `set_random_seed`.
      name: name of the operation, by default "RandomShuffle".

    Returns:
      [n, ...] of the dtype of `value`. It has no gradient.

    >>> sorted(random_shuffle([3, 1, 2], seed=1).numpy().tolist())
    [1, 2, 3]
    """
    return apply(RANDOM_SHUFFLE, value, name=name, _seed=drawn_with(seed))


def _classes(inputs: Sequence[Spec], *, num_samples: int, dtype: DType, **attrs: Any) -> Spec:
    shape = inputs[0].shape
    if shape is not None and len(shape) != 2:
        raise ValueError(f"Shape must be rank 2 but is rank {len(shape)}")
    return Spec(as_dtype(dtype), (None if shape is None else shape[0], num_samples))


def draws_of_classes(type: str, kernel: Any, *operands: str, seeded: bool = True) -> OpDef:
    """Define an op that draws classes of rows of logits; see `source`."""
    return without_gradient(
        type,
        "logits:R",
        infer=_classes,
        kernel=kernel,
        pattern=Contraction("b_->b_", None),
        operands=("num_samples", *operands),
        seeded=seeded,
        block=lambda attrs, block: axes.in_block(
            attrs, offset=block.out_offsets[0], full_shape=block.full_out_shapes[0]
        ),
    )


MULTINOMIAL = draws_of_classes("Multinomial", kernels.multinomial)


def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> Tensor:
    """Draw classes with the probabilities softmax(logits).

    Args:
      logits: [batch, classes] floating, unnormalised log-probabilities.
      num_samples: scalar integer, draws per row.
      seed: int, see `set_random_seed`.
      name: name of the operation, by default "multinomial".
      output_dtype: int32 or int64, the default.

    Returns:
      [batch, num_samples] of `output_dtype`.

    Raises:
      ValueError: `logits` is no matrix.

    >>> multinomial([[0.0, 100.0]], 3).numpy().tolist()
    [[1, 1, 1]]
    """
    dtype = as_dtype(output_dtype or dtypes.int64).base_dtype
    with name_scope(name, "multinomial", [logits]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        return apply(
            MULTINOMIAL,
            logits,
            name=scope,
            num_samples=axes.as_operand(num_samples),
            dtype=dtype.name,
            _seed=drawn_with(seed),
        )


def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Draw classes with the probabilities softmax(logits). See `multinomial`.

    Args:
      logits: [batch, classes] floating.
      num_samples: [] integer, how many are drawn of each row.
      dtype: int32 or int64 (the default), of the classes.
      seed: int, see `set_random_seed`.
      name: name of the operation.

    >>> categorical([[0.0, -100.0]], 3, seed=1).numpy().tolist()
    [[0, 0, 0]]
    """
    return multinomial(logits, num_samples, seed, name or "categorical", dtype)


def random_crop(
    value: TensorLike, size: TensorLike, seed: int | None = None, name: str | None = None
) -> Tensor:
    """Return a part of a tensor from a random place.

    Args:
      value: [...] any dtype.
      size: [rank] integer, the shape of the part.
      seed: int, see `set_random_seed`.
      name: name of the operation, by default "random_crop".

    Returns:
      [*size] of the dtype of `value`.

    Raises:
      ValueError: `size` is larger than the shape of `value`.

    >>> random_crop([[1, 2, 3], [4, 5, 6]], [1, 2]).shape.as_list()
    [1, 2]
    """
    with name_scope(name, "random_crop", [value, size]) as scope:
        value = convert_to_tensor(value, name="value")
        size = convert_to_tensor(size, dtypes.int32, name="size")
        _check_room(value, size)
        sizes = constant.shape(value)
        room = add(subtract(sizes, size), number(1, size))
        drawn = random_uniform(
            constant.shape(sizes), maxval=dtypes.int32.max, dtype=dtypes.int32, seed=seed
        )
        return slicing.slice(value, floormod(drawn, room), size, name=scope)


def _check_room(value: Tensor, size: Tensor) -> None:
    known, wanted = value.spec.shape, partial_value(size)
    if known is None or wanted is None:
        return
    if len(known) != len(wanted) or any(
        n is not None and m is not None and n < m for n, m in zip(known, wanted, strict=True)
    ):
        raise ValueError(f"Need value.shape >= size, got {shapes.show(known)} and {wanted}")
