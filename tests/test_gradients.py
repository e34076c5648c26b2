"""gradients: paths, accumulation, sparse gradients, names and errors."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.backpropagation import AggregationMethod, UnconnectedGradients
from daskvars.graph.definitions.opdef import NO_GRADIENT, OpDef
from daskvars.graph.definitions.patterns import Elementwise
from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.interpreter import apply
from daskvars.ops.rules.shapes import like_first
from tests.sessions import run

pytestmark = pytest.mark.usefixtures("graph")


def negative(type, gradient):
    """Return the definition of an op whose gradient is wrong in some way."""
    return OpDef(
        type, "x:F", infer=like_first, pattern=Elementwise(), kernel="negative", gradient=gradient
    )


STOPS = negative("TestStops", NO_GRADIENT)
TOO_MANY = negative("TestTooMany", lambda op, dy: (dy, dy))
WRONG_SHAPE = negative("TestWrongShape", lambda op, dy: tf.zeros([7]))
WRONG_DTYPE = negative("TestWrongDtype", lambda op, dy: tf.cast(dy, tf.float64))


def test_product_and_sum():
    x = tf.constant([1.0, 2.0])
    y = tf.constant([3.0, 4.0])
    dx, dy = run(tf.gradients(tf.reduce_sum(x * y + x), [x, y]))
    np.testing.assert_allclose(dx, [4.0, 5.0])
    np.testing.assert_allclose(dy, [1.0, 2.0])


def test_single_x_gives_a_list_of_one():
    x = tf.constant(2.0)
    assert len(tf.gradients(x * x, x)) == 1


def test_no_xs():
    assert tf.gradients(tf.constant(1.0), []) == []


def test_x_itself_has_gradient_one():
    x = tf.constant(5.0)
    assert run(tf.gradients(x, x)) == [1.0]


def test_an_integer_by_itself_has_gradient_one():
    n = tf.constant([5, 6])
    (dn,) = tf.gradients(n, n)
    assert dn.dtype == tf.int32
    assert run(dn).tolist() == [1, 1]
    assert tf.gradients(n * n, n) == [None]


def test_sum_of_several_ys():
    x = tf.constant(3.0)
    assert run(tf.gradients([x * x, 2.0 * x, x], x)) == [9.0]


def test_same_y_twice_counts_twice():
    x = tf.constant(3.0)
    y = x * x
    assert run(tf.gradients([y, y], x)) == [12.0]


def test_grad_ys_scale():
    x = tf.constant([1.0, 2.0])
    (dx,) = tf.gradients(x * x, x, grad_ys=tf.constant([10.0, 100.0]))
    np.testing.assert_allclose(run(dx), [20.0, 400.0])


def test_grad_ys_may_be_none_in_part():
    x = tf.constant(3.0)
    assert run(tf.gradients([x * x, 5.0 * x], x, grad_ys=[None, 2.0])) == [16.0]


def test_intermediate_and_input_together():
    x = tf.constant(2.0)
    y = x * x
    z = y * y * y
    assert run(tf.gradients(z, [x, y])) == [192.0, 48.0]


def test_second_order():
    x = tf.constant(2.0)
    (first,) = tf.gradients(x * x * x, x)
    (second,) = tf.gradients(first, x)
    assert run([first, second]) == [12.0, 12.0]


@pytest.mark.parametrize("function", [tf.nn.relu, tf.nn.relu6, tf.nn.leaky_relu])
def test_a_slope_that_jumps_has_a_gradient_of_zero(function):
    x = tf.constant([-2.0, 3.0])
    (second,) = tf.gradients(tf.gradients(function(x), x)[0], x)
    assert run(second).tolist() == [0.0, 0.0]


def test_unconnected_is_none_or_zeros():
    x = tf.constant([1.0, 2.0])
    y = tf.constant(3.0)
    assert tf.gradients(y * y, x) == [None]
    for way in ("zero", UnconnectedGradients.ZERO):
        (zeros,) = tf.gradients(y * y, x, unconnected_gradients=way)
        assert run(zeros).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="sometimes"):
        tf.gradients(y * y, x, unconnected_gradients="sometimes")


def test_unconnected_zeros_of_a_variable():
    v = tf.Variable([1.0, 2.0])
    (zeros,) = tf.gradients(tf.constant(1.0), v, unconnected_gradients="zero")
    assert run(zeros).tolist() == [0.0, 0.0]


def test_only_ops_on_the_path_are_visited(graph):
    x = tf.constant(2.0)
    aside = apply(TOO_MANY, tf.constant(1.0))  # its gradient raises if asked
    assert run(tf.gradients(x * aside, x)) == [-1.0]


def test_nothing_is_built_where_nothing_is_connected(graph):
    x, y = tf.constant(2.0), tf.constant(3.0) * 2.0
    before = graph.version
    assert tf.gradients(y, x) == [None]
    assert graph.version == before


def test_stop_gradients_makes_a_constant():
    a = tf.constant(0.0)
    b = 2.0 * a
    assert run(tf.gradients(a + b, [a, b], stop_gradients=[a, b])) == [1.0, 1.0]
    assert run(tf.gradients(a + b, [a, b])) == [3.0, 1.0]


def test_integers_stop_the_walk():
    x = tf.constant(2.0)
    through = tf.cast(tf.cast(x, tf.int32), tf.float32)
    n = tf.constant(3)
    assert tf.gradients(through, x) == [None]
    assert tf.gradients(tf.cast(n, tf.float32) * x, n) == [None]


def test_no_gradient_stops_silently():
    x = tf.constant(2.0)
    assert tf.gradients(apply(STOPS, x), x) == [None]
    assert run(tf.gradients(apply(STOPS, x) * x, x)) == [-2.0]


def gamma_slope(x):
    return tf.gradients(tf.igamma(x, 2.0), x)[0]


def labels_slope(x):
    labels = tf.SparseTensor([[0, 0]], [0], [1, 1])
    return tf.gradients(tf.nn.ctc_loss(labels, tf.reshape(x, [2, 1, 2]), [2]), x)[0]


def crop_slope(x):
    boxes = tf.reshape(x, [1, 4])
    return tf.gradients(tf.image.crop_and_resize(tf.ones([1, 2, 2, 1]), boxes, [0], [2, 2]), x)[0]


def pool_slope(x):
    pooled = tf.nn.fractional_max_pool(tf.reshape(x, [1, 2, 2, 1]), [1.0, 2.0, 2.0, 1.0])[0]
    return tf.gradients(pooled * pooled, x)[0]


def test_where_nobody_wrote_a_gradient_it_is_an_error_not_none():
    x, boxes = tf.ones([4]), tf.ones([1, 1, 4])
    v = tf.Variable(tf.ones([4]))
    pixels = x[:3]
    for type, y in {
        "AdjustHue": tf.image.adjust_hue(pixels, 0.5),
        "AdjustSaturation": tf.image.adjust_saturation(pixels, 0.5),
        "Bitcast": tf.bitcast(x, tf.float16),
        "PreventGradient": labels_slope(x),
        "CombinedNonMaxSuppression": tf.image.combined_non_max_suppression(
            [boxes * x[0]], tf.ones([1, 1, 1]), 1, 1
        )[0],
        "CropAndResizeGradBoxes": crop_slope(x),
        "DecodeCSV": tf.decode_csv(["1,", ",2"], [[0.0], x[:1]])[1],
        "DrawBoundingBoxesV2": tf.image.draw_bounding_boxes(
            tf.reshape(x, [1, 2, 2, 1]), boxes, colors=[[1.0]]
        ),
        "FractionalMaxPoolGrad": pool_slope(x),
        "IgammaGradA": gamma_slope(x),
        "ListDiff": tf.setdiff1d(x, [2.0])[0],
        "MatrixLogarithm": tf.linalg.logm(tf.complex(*[tf.reshape(x, [2, 2])] * 2)),
        "RandomPoissonV2": tf.random_poisson(x, []),
        "ScatterUpdate": tf.scatter_update(v, [0], x[:1]),
        "StridedSliceAssign": v[:2].assign(x[:2]),
        "WeightedBincount": tf.bincount([0, 1, 1, 1], x),
    }.items():
        with pytest.raises(LookupError, match=rf"No gradient .*\(op type: {type}\)"):
            tf.gradients(tf.abs(y), x)


def test_unused_output_gets_zeros():
    x = tf.constant([1.0, 2.0, 3.0, 4.0])
    first, _ = tf.split(x, 2)
    assert run(tf.gradients(tf.reduce_sum(first * first), x))[0].tolist() == [2.0, 4.0, 0.0, 0.0]


def test_integer_output_gets_none():
    x = tf.constant([1.0, 3.0, 2.0])
    values, _ = tf.nn.top_k(x, 2)
    assert run(tf.gradients(tf.reduce_sum(values * values), x))[0].tolist() == [0.0, 6.0, 4.0]


def test_variables_gather_at_the_handle():
    v = tf.Variable([2.0, 3.0])
    once = v * v
    again = v.read_value() * 10.0
    (dv,) = tf.gradients(tf.reduce_sum(once + again), v)
    assert run(dv).tolist() == [14.0, 16.0]


def test_a_read_is_a_tensor_like_others():
    v = tf.Variable(3.0)
    value = v.read_value()
    assert run(tf.gradients(value * value + v, [value, v])) == [6.0, 7.0]


def test_complex_needs_grad_ys():
    x = tf.constant(1 + 2j, dtype=tf.complex64)
    with pytest.raises(TypeError, match="Gradients of complex tensors must set grad_ys"):
        tf.gradients(x * x, x)
    with pytest.raises(TypeError, match="must be complex"):
        tf.gradients(x * x, x, grad_ys=tf.constant(1.0))


def test_grad_ys_are_checked():
    x = tf.constant([1.0, 2.0])
    with pytest.raises(ValueError, match="Passed 2 grad_ys for 1 ys"):
        tf.gradients(x * x, x, grad_ys=[None, None])
    with pytest.raises(TypeError, match="must be real"):
        tf.gradients(x * x, x, grad_ys=tf.constant([1j, 1j], dtype=tf.complex64))
    with pytest.raises(ValueError, match=r"grad_ys\[0\] has shape"):
        tf.gradients(x * x, x, grad_ys=tf.constant([1.0, 1.0, 1.0]))
    with pytest.raises(TypeError, match="must be numeric"):
        tf.gradients(tf.constant("text"), x)


def test_wrong_gradients_are_named():
    x = tf.constant([1.0, 2.0], name="x")
    with pytest.raises(ValueError, match="Num gradients 2 generated for op 'TestTooMany'"):
        tf.gradients(apply(TOO_MANY, x), x)
    with pytest.raises(ValueError, match="Forward operation: TestWrongShape"):
        tf.gradients(apply(WRONG_SHAPE, x), x)
    with pytest.raises(TypeError, match=r"'TestWrongDtype'.*float64"):
        tf.gradients(apply(WRONG_DTYPE, x), x)


def test_aggregation_methods_agree():
    x = tf.constant(2.0)
    ways = [
        AggregationMethod.ADD_N,
        AggregationMethod.EXPERIMENTAL_TREE,
        AggregationMethod.EXPERIMENTAL_ACCUMULATE_N,
    ]
    found = [tf.gradients(x * x + x, x, aggregation_method=way)[0] for way in ways]
    assert run(found) == [5.0, 5.0, 5.0]
    with pytest.raises(ValueError, match="aggregation_method"):
        tf.gradients(x * x, x, aggregation_method=9)


def test_static_shape_comes_from_the_input():
    x = tf.placeholder(tf.float32, [None, 3])
    (dx,) = tf.gradients(tf.reduce_sum(tf.reshape(x, [-1])), x)
    assert dx.shape.as_list() == [None, 3]


def test_names_and_scopes(graph):
    with tf.name_scope("layer"):
        x = tf.constant(2.0, name="x")
        y = tf.sin(x, name="wave")
    before = set(graph.get_operations())
    tf.gradients(y, x)
    made = [op.name for op in graph.get_operations() if op not in before]
    assert "gradients/grad_ys_0" in made
    assert [n for n in made if n.startswith("gradients/layer/wave_grad/")]
    assert all(n.startswith("gradients/") for n in made)
    before = set(graph.get_operations())
    tf.gradients(y, x)
    made = [op.name for op in graph.get_operations() if op not in before]
    assert made and all(n.startswith("gradients_1/") for n in made)
    tf.gradients(y, x, name="mine")
    assert graph.get_operation_by_name("mine/grad_ys_0")


def test_colocation_follows_the_op():
    with tf.device("/job:ps/task:3"):
        x = tf.constant(2.0)
        y = tf.exp(x)
    (near,) = tf.gradients(y, x, colocate_gradients_with_ops=True)
    (free,) = tf.gradients(y, x)
    assert (near.device, free.device) == ("/job:ps/task:3", "")


def test_what_is_on_a_gpu_has_its_gradients_there_unless_a_device_is_asked_for():
    with tf.device("/gpu:1"):
        x = tf.constant(2.0)
        y = tf.exp(x) * x
    (there,) = tf.gradients(y, x)
    with tf.device("/cpu:0"):
        (here,) = tf.gradients(y, x)
    assert (there.device, here.device) == ("/device:GPU:1", "/device:CPU:0")


# -- functions ------------------------------------------------------------------------------


def body_of(outer, build):
    def parameter(graph, tensor):
        with graph.as_default():
            return tf.placeholder(tensor.dtype, tensor.shape)

    body = FuncGraph("body", outer, parameter)
    with body.as_default():
        return body, build()


def test_walk_goes_on_at_captured_tensors(graph):
    x = tf.constant(3.0)
    square = x * x
    body, (dx, dsquare, inner) = body_of(
        graph, lambda: (*tf.gradients(square * 2.0, [x, square]), square * 1.0)
    )
    assert dx.graph is body and dsquare.graph is body and inner.graph is body


def test_inputs_of_a_body_are_sources_too(graph):
    x = tf.constant(3.0)

    def build():
        y = x * 2.0
        return tf.gradients(y, list(tf.get_default_graph().inputs))

    body, (dx,) = body_of(graph, build)
    assert dx is not None and dx.graph is body


def test_inputs_of_a_branch_are_independent():
    x = tf.constant(2.0)
    y = x * x
    z = tf.cond(tf.placeholder_with_default(True, []), lambda: x * y, lambda: x)
    assert run(tf.gradients(z, [x, y])) == [12.0, 2.0]


def test_variables_in_a_branch():
    v = tf.Variable(3.0)
    pred = tf.placeholder(tf.bool, [])
    (dv,) = tf.gradients(tf.cond(pred, lambda: v * v, lambda: 5.0 * v), v)
    assert run(dv, {pred: True}) == 6.0
    assert run(dv, {pred: False}) == 5.0


def test_loop_with_captured_values():
    x, v = tf.constant(2.0), tf.Variable(3.0)
    square = x * x
    _, z = tf.while_loop(
        lambda i, a: i < 3, lambda i, a: (i + 1, a * x + square * v), [0, tf.constant(1.0)]
    )
    assert run(tf.gradients(z, [x, v])) == [156.0, 28.0]  # of x**3 + v*(x**4 + x**3 + x**2)


# -- size -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_long_chain_is_linear_and_does_not_recurse():
    def calls(n):
        """Return how many functions are called to find the gradient of a chain."""
        count = 0

        def note(frame, event, argument):
            nonlocal count
            count += event == "call"

        with tf.Graph().as_default():
            x = tf.constant(1.0)
            y = x
            for _ in range(n):
                y = tf.sin(y)
            sys.setprofile(note)
            try:
                (dx,) = tf.gradients(y, x)
            finally:
                sys.setprofile(None)
            assert dx is not None
            return count

    assert calls(10_000) < 11 * calls(1000)


# -- hessians -------------------------------------------------------------------------------


def test_hessian_of_a_quadratic_form():
    a = np.array([[2.0, 1.0], [0.0, 3.0]], np.float32)
    x = tf.constant([1.0, 2.0])
    form = tf.reduce_sum(tf.matmul(tf.matmul(tf.reshape(x, [1, 2]), a), tf.reshape(x, [2, 1])))
    (h,) = tf.hessians(form, x)
    np.testing.assert_allclose(run(h), a + a.T)


def test_hessian_of_a_matrix_argument():
    x = tf.constant([[1.0, 2.0]])
    (h,) = tf.hessians(tf.reduce_sum(x * x * x), x)
    assert h.shape.as_list() == [1, 2, 1, 2]
    np.testing.assert_allclose(run(h).reshape(2, 2), [[6.0, 0.0], [0.0, 12.0]])


@pytest.mark.parametrize("shape", [[None], [None, 1], None])
def test_hessian_of_a_shape_known_only_when_run(shape):
    x = tf.placeholder(tf.float32, shape)
    (h,) = tf.hessians(tf.reduce_sum(x * x * x), x)
    assert h.shape.as_list() == shape * 2 if shape else h.shape.ndims is None
    value = np.array([1.0, 2.0, 3.0], np.float32).reshape([-1, 1] if shape == [None, 1] else [-1])
    np.testing.assert_allclose(run(h, {x: value}).reshape(3, 3), np.diag([6.0, 12.0, 18.0]))


@pytest.mark.parametrize("shape", [[2], [None]])
def test_hessian_without_a_path(shape):
    x = tf.placeholder(tf.float32, shape, name="x")
    with pytest.raises(ValueError, match=r"the first derivative does not depend on .*x:0"):
        tf.hessians(x, x)
    with pytest.raises(ValueError, match="the ys do not depend on"):
        tf.hessians(tf.constant(1.0), x)


def test_arguments_that_are_none_of_those_known_are_refused(graph):
    x = tf.constant(1.0)
    with pytest.raises(ValueError, match="Invalid aggregation_method specified 7"):
        tf.gradients(x * x, x, aggregation_method=7)
    with pytest.raises(ValueError, match="Unknown value for unconnected_gradients: 'bad'"):
        tf.gradients(x * x, x, unconnected_gradients="bad")
    with tf.Graph().as_default():
        foreign = tf.constant(1.0)
    with pytest.raises(ValueError, match="must be from the same graph"):
        tf.gradients(x * x, foreign)


def test_sparse_gradients_are_tensors_to_every_op(graph):
    table = tf.ones([4, 2])
    rows = tf.gradients(tf.gather(table, [1, 3, 1]), table)[0]
    assert str(rows).startswith('IndexedSlices(indices=Tensor("')
    dense = [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0], [1.0, 1.0]]
    both, product = tf.stack([rows, rows]), tf.multiply(rows, 2.0)
    with tf.Session() as sess:
        assert sess.run(both).tolist() == [dense, dense]
        assert sess.run(product).tolist() == (2 * np.array(dense)).tolist()
