"""`function`: one trace and one plan per signature."""

import copy
import dataclasses
import enum
import gc
import inspect
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import daskvars as dv
from daskvars import lowering
from daskvars.graph import nest


def test_counts_traces_by_dtype_shape_and_python_values():
    @dv.function
    def scaled(x, factor):
        return x * factor

    assert scaled(np.ones(3), 2.0).numpy().tolist() == [2.0] * 3
    scaled(np.zeros(3), 2.0)
    assert scaled.num_traces == 1
    scaled(np.zeros(4), 2.0)
    scaled(np.zeros(4, "f4"), 2.0)
    scaled(np.zeros(4, "f4"), 3.0)
    assert scaled.num_traces == 4
    before = lowering.num_lowerings
    scaled(np.ones(4, "f4"), 3.0)
    assert lowering.num_lowerings == before


def test_makes_variables_on_the_first_trace_only():
    made = []

    @dv.function
    def step(x):
        x = x + np.zeros(3)
        if not made:
            made.append(dv.Variable(np.zeros(3), name="made"))
        return made[0].assign_add(x)

    with pytest.raises(ValueError, match="Dimensions must be equal"):
        step(np.ones((3, 2)))
    for i in range(3):
        result = step(np.full(3, 2.0))
        assert result.numpy().tolist() == [2.0 * (i + 1)] * 3

    @dv.function
    def bad(x):
        made.append(dv.Variable(0.0))
        return made[-1] + x

    bad(np.float32(1))
    with pytest.raises(ValueError, match="traced again"):
        bad(np.zeros(2, "f4"))

    @dv.function
    def forgets(x):
        total = dv.Variable(0.0, name="total")
        return total.assign_add(x)  # would add up over calls

    with pytest.raises(ValueError, match=r"that nobody has once it is traced: total:0\. Each call"):
        forgets(np.float32(1))


def test_initial_values_may_be_computed_in_the_function():
    around, other = dv.constant([3.0, 4.0]) * 2.0, dv.Variable(1.0)

    def results(value):
        made = []

        @dv.function
        def step(x):
            if not made:
                made.append(dv.Variable(value(x)))
            return made[0] + x

        return [step(np.float32(x)).numpy().tolist() for x in (0, 1)]

    assert results(lambda x: dv.fill([2], 1.0) + around) == [[7.0, 9.0], [8.0, 10.0]]
    first, second = results(lambda x: dv.random_normal([2]))
    assert np.allclose(np.add(first, 1.0), second) and first[0] != first[1]
    of_first_call = results(lambda x: dv.stack([x, 2.0]) - 1.0)
    assert of_first_call == [[-1.0, 1.0], [0.0, 2.0]]
    with pytest.raises(ValueError, match="use a lambda as the initializer"):
        results(lambda x: other * 2.0)  # which a call may change


def test_a_function_is_traced_while_another_is():
    doubled = dv.function(lambda x: 2 * x)

    @dv.function
    def outer(x):
        with dv.init_scope():
            there = float(doubled(dv.constant(2.0)))
        return x + there

    assert float(outer(dv.constant(1.0))) == 5.0


def test_effects_follow_program_order_without_control_dependencies():
    v = dv.Variable(1.0)

    @dv.function
    def run():
        a = v + 0.0
        v.assign(5.0)
        b = v + 0.0
        v.assign_add(1.0)
        return a, b

    a, b = run()
    assert (float(a), float(b), float(v)) == (1.0, 5.0, 6.0)


def test_a_step_with_a_tape_trains():
    w = dv.Variable(np.array([[4.0]]))
    optimizer = dv.train.GradientDescentOptimizer(0.1)

    @dv.function
    def step(x):
        with dv.GradientTape() as tape:
            loss = dv.reduce_mean(dv.square(dv.matmul(x, w)))
        optimizer.apply_gradients([(tape.gradient(loss, w), w)])
        return {"loss": loss}

    losses = [float(step(np.ones((2, 1)))["loss"]) for _ in range(10)]
    assert losses[0] == 16.0
    assert losses[-1] < 1.0
    assert step.num_traces == 1


def test_eager_work_before_a_call_is_seen_by_it():
    v = dv.Variable(0.0)

    @dv.function
    def read():
        return v + 0.0

    v.assign_add(3.0)
    assert float(read()) == 3.0


def test_captured_tensors_are_inputs():
    c = dv.constant([1.0, 2.0]) * 2.0

    @dv.function
    def add(x):
        return x + c

    assert add(np.ones(2, "f4")).numpy().tolist() == [3.0, 5.0]


def test_a_tape_sees_through_a_call():
    v = dv.Variable(3.0)

    @dv.function
    def square(x):
        return x * x

    with dv.GradientTape() as tape:
        y = square(v.value()) * 2.0
    assert float(tape.gradient(y, v)) == 12.0


def test_control_flow_inside():
    @dv.function
    def collatz(n):
        return dv.while_loop(
            lambda n, steps: n > 1,
            lambda n, steps: (
                dv.cond(dv.equal(n % 2, 0), lambda: n // 2, lambda: 3 * n + 1),
                steps + 1,
            ),
            (n, dv.constant(0)),
        )[1]

    assert int(collatz(np.int32(6))) == 8


def test_many_traces_are_warned_of():
    @dv.function
    def same(n):
        return dv.constant(n)

    with dv.config.set(retrace_warning=3), pytest.warns(UserWarning, match="traced 4 times"):
        for n in range(5):
            same(n)


def test_methods_and_explain():
    class Model:
        def __init__(self):
            self.w = dv.Variable(2.0)

        @dv.function
        def __call__(self, x):
            return self.w * x

    model = Model()
    assert float(model(np.float32(3))) == 6.0
    assert model.__call__.num_traces == 1 and Model.__call__.num_traces == 0
    assert "mul" in model.__call__.explain(np.float32(3))
    double = dv.function(lambda x: x * 2.0)
    assert "1 task," in double.explain(np.ones(2))
    assert double.plan(np.ones(2)).num_tasks == 1


def test_a_method_is_a_function_of_each_object_and_goes_with_it():
    class Model:
        def __init__(self, value):
            self.made, self.value, self.kept = [], value, self.times

        @dv.function
        def times(self, x):
            if not self.made:
                self.made.append(dv.Variable(self.value, name="of_method"))
            return self.made[0] * x

    x, models = np.float32(3), [Model(1.0), Model(2.0)]
    assert [float(model.times(x)) for model in models] == [3.0, 6.0]
    assert float(Model.times(models[1], x)) == float(Model(2.0).times(x)) == 6.0
    copied = copy.deepcopy(models[1])
    copied.made[0].assign(5.0)
    assert float(copied.kept(x)) == 15.0 and models[1].times == models[1].times
    assert list(inspect.signature(copied.times).parameters) == ["x"]
    del models[0], copied
    gc.collect()
    assert len(dv.global_variables("of_method")) == 1


def test_inside_a_graph_it_is_part_of_the_graph():
    double = dv.function(lambda x: x * 2.0)
    with dv.Graph().as_default():
        y = double(dv.constant(4.0))
        with dv.Session() as session:
            assert session.run(y) == 8.0


@pytest.mark.parametrize("taken", [True, False])
def test_what_a_branch_assigns_is_assigned_although_its_result_is_not_used(taken):
    v = dv.Variable(1.0)

    @dv.function
    def step(x):
        dv.cond(x > 0.0, lambda: v.assign_add(x), lambda: v * 1.0)
        return v * 1.0

    assert float(step(np.float32(2.0 if taken else -2.0))) == (3.0 if taken else 1.0)


@pytest.mark.parametrize(
    "body",
    [
        lambda v, add: dv.cond(v[0] > 0.0, lambda: (add(), 1.0)[1], lambda: 0.0),
        lambda v, add: dv.cond(v[0] < 0.0, lambda: 0.0, lambda: (add(), dv.reduce_sum(v))[1]),
        lambda v, add: dv.switch_case(dv.constant(1), [lambda: 0.0, lambda: (add(), 1.0)[1]]),
        lambda v, add: dv.while_loop(
            lambda i: i < 3, lambda i: (add(), i + 1)[1], [dv.constant(0)]
        ),
        lambda v, add: dv.map_fn(
            lambda x: (add(), x * dv.reduce_sum(v))[1], dv.constant([1.0, 2.0])
        ),
        lambda v, add: dv.while_loop(
            lambda i: i < 2,
            lambda i: (dv.cond(i > 0, lambda: (add(), 1)[1], lambda: 0), i + 1)[1],
            [dv.constant(0)],
        ),
    ],
)
def test_what_a_body_does_is_done_although_nothing_needs_it(body):
    v = dv.Variable([1.0, 2.0])

    def step():
        results = body(v, lambda: v.assign_add([10.0, 10.0]))
        return results, dv.reduce_sum(v) * 1.0

    wanted, after = step(), v.numpy()
    v.assign([1.0, 2.0])
    found = dv.function(step)()
    assert after.tolist() != [1.0, 2.0]
    assert v.numpy().tolist() == after.tolist()
    for one, other in zip(nest.flatten(found), nest.flatten(wanted), strict=True):
        assert np.asarray(one).tolist() == np.asarray(other).tolist()


def test_the_gradient_of_a_branch_reaches_the_variables_that_it_reads():
    v = dv.Variable(3.0)

    @dv.function
    def slopes(x):
        return dv.gradients(dv.cond(x > 0.0, lambda: v * x * v, lambda: x), [v, x])

    assert [float(slope) for slope in slopes(np.float32(2.0))] == [12.0, 9.0]


class _Level(enum.IntEnum):
    ONE = 1


class _Weight(float, enum.Enum):
    ZERO = 0.0


@dataclasses.dataclass(frozen=True)
class _Options:
    rate: float
    name: str = "adam"


# Values that Python, or a careless key, takes for equal: each is another argument.
_DIFFERENT = [
    0,
    False,
    0.0,
    -0.0,
    0j,
    complex(0.0, -0.0),
    complex(-0.0, 0.0),
    Fraction(0),
    Decimal("0"),
    Decimal("-0"),
    Decimal("0.0"),
    _Weight.ZERO,
    1,
    True,
    1.0,
    1 + 0j,
    _Level.ONE,
    math.nan,
    "nan",
    None,
    "1",
    b"1",
    (),
    [],
    {},
    set(),
    frozenset(),
    (1,),
    [1],
    {1: 1},
    {True: 1},
    {1: True},
    {"a": 1, "b": 2},
    {"b": 2, "a": 1},
    ([1, 2], [3]),
    ([1], [2, 3]),
    ([], [1, 2, 3]),
    {1.0, 2},
    {1, 2},
    frozenset({0.0}),
    frozenset({-0.0}),
    _Options(0.0),
    _Options(-0.0),
    _Options(math.nan),
    _Options(0),
    slice(0, 1),
    slice(False, 1),
    slice(0.0, 1),
    np.int32(1),
    np.int64(1),
    np.float32(1),
    np.bool_(True),
    np.zeros(()),
    np.zeros(1),
    int,
    bool,
    float,
]


def _again(value):
    """Return an equal value that is another object, where such can be made."""
    if isinstance(value, float) and not isinstance(value, enum.Enum):
        return float(str(value))
    if isinstance(value, _Options):
        return _Options(float(str(value.rate)) if isinstance(value.rate, float) else value.rate)
    if isinstance(value, list | dict | set):
        return type(value)(value)
    return value


def test_each_python_value_has_a_trace_of_its_own():
    seen = []

    @dv.function
    def given(value):
        seen.append(value)
        return dv.constant(float(len(seen) - 1))

    with dv.config.set(retrace_warning=1000):
        for i, value in enumerate(_DIFFERENT):
            assert float(given(value)) == i, f"{value!r} was taken for {seen[int(given(value))]!r}"
        for i, value in enumerate(_DIFFERENT):
            assert float(given(_again(value))) == i, f"{value!r} was traced again"
    assert given.num_traces == len(_DIFFERENT)


def test_the_sign_of_a_zero_reaches_the_result():
    atan2 = dv.function(lambda y: dv.atan2(dv.constant(0.0) * 1.0, dv.constant(y)))
    assert float(atan2(0.0)) == 0.0
    assert float(atan2(-0.0)) == pytest.approx(math.pi)


def test_nesting_is_part_of_the_signature():
    @dv.function
    def total(first, rest):
        return dv.add_n(list(first)) - dv.add_n(list(rest))

    one, two, four = (np.float32(2**i) for i in range(3))
    assert float(total([one, two], [four])) == -1.0
    assert float(total([one], [two, four])) == -5.0

    @dv.function
    def named(**options):
        return next(iter(options.values())) * (2.0 if "twice" in options else 1.0)

    assert float(named(once=one)) == 1.0 and float(named(twice=one)) == 2.0
    by_name = dv.function(lambda a, b: a - b)
    assert float(by_name(a=two, b=one)) == float(by_name(b=one, a=two)) == 1.0
    assert by_name.num_traces == 1


def test_an_object_without_a_hash_is_kept_by_its_trace():
    class Setting:
        __hash__ = None

        def __init__(self, value):
            self.value = value

        def __eq__(self, other):
            raise AssertionError("nothing is known of when two are equal")

    read = dv.function(lambda setting: dv.constant(setting.value))
    with dv.config.set(retrace_warning=1000):
        for i in range(100):  # each could take the address of the one before
            assert float(read(Setting(float(i)))) == i


def test_sparse_tensors_are_taken_and_given_and_traced_once():
    @dv.function
    def doubled(given):
        x = given["x"]
        return dv.SparseTensor(x.indices, 2 * x.values, x.dense_shape), dv.sparse.to_dense(x)

    for dense in ([[1.0, 0.0], [0.0, 2.0]], [[1.0, 3.0], [5.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]):
        found, whole = doubled({"x": dv.sparse.from_dense(dense)})
        assert isinstance(found, dv.SparseTensor)
        np.testing.assert_array_equal(dv.sparse.to_dense(found), 2 * np.array(dense))
        np.testing.assert_array_equal(whole, dense)
    assert doubled.num_traces == 1
    unknown = dv.SparseTensor([[0, 1]], [4.0], dv.cast(np.array([3.0, 2.0]), dv.int64))
    np.testing.assert_array_equal(doubled({"x": unknown})[1], [[0, 4], [0, 0], [0, 0]])


def test_a_tape_sees_through_sparse_results():
    @dv.function
    def scaled(x, w):
        return dv.SparseTensor(x.indices, x.values * w, x.dense_shape)

    w = dv.Variable(3.0)
    with dv.GradientTape() as tape:
        loss = dv.reduce_sum(scaled(dv.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]]), w).values)
    assert float(tape.gradient(loss, w)) == 3.0


def test_gradients_of_rows_stay_rows():
    table = dv.Variable(np.ones((5, 3)))

    @dv.function
    def gradient(ids):
        with dv.GradientTape() as tape:
            loss = dv.reduce_sum(dv.nn.embedding_lookup(table, ids))
        return tape.gradient(loss, table)

    found = gradient(np.array([1, 2]))
    assert isinstance(found, dv.IndexedSlices)
    assert found.values.shape == (2, 3)
