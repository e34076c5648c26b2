"""Metrics: values of TensorFlow, variables and collections, accumulation, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf

M = tf.metrics
L = [1, 0, 1, 0, 1, 1]
P = np.array([0.9, 0.2, 0.6, 0.4, 0.3, 0.8], "float32")
W = [1.0, 2.0, 0.5, 1.0, 1.0, 3.0]
N = [1.0, 2.0, 0.0, 4.0, 5.0, 6.0]
A = [[1, 0, 1], [0, 1, 1]]
B = [[0.9, 0.2, 0.6], [0.4, 0.3, 0.8]]
C, D = [0, 1, 2, 1, 0, 2], [0, 1, 1, 1, 2, 2]
T = [[1, 3], [2, 2], [0, 1]]
SCORES = [[0.1, 0.4, 0.2, 0.3], [0.6, 0.1, 0.2, 0.1], [0.3, 0.2, 0.1, 0.4]]

AREAS = {  # by TensorFlow 2.21's compat.v1
    ("ROC", "trapezoidal"): 0.9393938,
    ("ROC", "minoring"): 0.9393938,
    ("ROC", "majoring"): 0.9393938,
    ("ROC", "careful_interpolation"): 0.9393938,
    ("PR", "trapezoidal"): 0.9694849,
    ("PR", "minoring"): 0.9669421,
    ("PR", "majoring"): 0.9720279,
    ("PR", "careful_interpolation"): 0.9696265,
}
AT_THRESHOLDS = {  # by the same
    "true_positives_at_thresholds": [11.0, 9.0, 8.0],
    "false_positives_at_thresholds": [2.0, 0.0, 0.0],
    "true_negatives_at_thresholds": [4.0, 6.0, 6.0],
    "false_negatives_at_thresholds": [0.0, 2.0, 3.0],
    "precision_at_thresholds": [0.8461539, 1.0, 1.0],
    "recall_at_thresholds": [1.0, 0.8181818, 0.7272727],
}
CASES = {  # name: (metric, value by TensorFlow 2.21's compat.v1)
    **{
        f"auc {curve} {method}": (
            lambda c=curve, m=method: M.auc(L, P, W, 10, None, None, c, None, m),
            wanted,
        )
        for (curve, method), wanted in AREAS.items()
    },
    **{
        name: (lambda name=name: getattr(M, name)(L, P, [0.25, 0.5, 0.75], W), wanted)
        for name, wanted in AT_THRESHOLDS.items()
    },
    "true_positives": (lambda: M.true_positives(L, [1, 1, 1, 0, 0, 1], W), 9.0),
    "false_positives": (lambda: M.false_positives(L, [1, 1, 1, 0, 0, 1], W), 4.0),
    "true_negatives": (lambda: M.true_negatives(L, [1, 1, 1, 0, 0, 1], W), 2.0),
    "false_negatives": (lambda: M.false_negatives(L, [1, 1, 1, 0, 0, 1], W), 2.0),
    "precision": (lambda: M.precision(L, [1, 1, 1, 0, 0, 1], W), 0.6923077),
    "recall": (lambda: M.recall(L, [1, 1, 1, 0, 0, 1], W), 0.8181818),
    "mean_absolute_error": (lambda: M.mean_absolute_error(tf.to_float(L), P, W), 0.2823529),
    "mean_squared_error": (lambda: M.mean_squared_error(tf.to_float(L), P, W), 0.1105882),
    "root_mean_squared_error": (lambda: M.root_mean_squared_error(tf.to_float(L), P, W), 0.3325481),
    "mean_relative_error": (lambda: M.mean_relative_error(tf.to_float(L), P, N, W), 0.0752941),
    "mean_cosine_distance": (
        lambda: M.mean_cosine_distance(tf.to_float(A), B, 1, [[1.0], [0.5]]),
        -0.3666667,
    ),
    "percentage_below": (lambda: M.percentage_below(P, 0.5, W), 0.4705882),
    "sens": (lambda: M.sensitivity_at_specificity(L, P, 0.6, W, num_thresholds=10), 1.0),
    "spec": (lambda: M.specificity_at_sensitivity(L, P, 0.6, W, num_thresholds=10), 1.0),
    "mean_tensor": (lambda: M.mean_tensor(B, [[1.0], [0.5]]), [[0.9, 0.2, 0.6], [0.4, 0.3, 0.8]]),
    "mean_iou": (lambda: M.mean_iou(C, D, 4, W), 0.6746032),
    "mpca": (lambda: M.mean_per_class_accuracy(C, D, 4, W), 0.5892857),
    "prec@1": (lambda: M.precision_at_k(T, SCORES, 1, weights=[1.0, 2.0, 0.5]), 0.2857143),
    "rec@1": (lambda: M.recall_at_k(T, SCORES, 1, weights=[1.0, 2.0, 0.5]), 0.2),
    "ap@1": (lambda: M.average_precision_at_k(T, SCORES, 1, weights=[1.0, 2.0, 0.5]), 0.2857143),
    "prec@1c1": (lambda: M.precision_at_k(T, SCORES, 1, class_id=1), 1.0),
    "rec@1c1": (lambda: M.recall_at_k(T, SCORES, 1, class_id=1), 0.5),
    "prec@2": (lambda: M.precision_at_k(T, SCORES, 2, weights=[1.0, 2.0, 0.5]), 0.6428571),
    "rec@2": (lambda: M.recall_at_k(T, SCORES, 2, weights=[1.0, 2.0, 0.5]), 0.9),
    "ap@2": (lambda: M.average_precision_at_k(T, SCORES, 2, weights=[1.0, 2.0, 0.5]), 0.4642857),
    "prec@2c1": (lambda: M.precision_at_k(T, SCORES, 2, class_id=1), 1.0),
    "rec@2c1": (lambda: M.recall_at_k(T, SCORES, 2, class_id=1), 0.5),
    "prec@3": (lambda: M.precision_at_k(T, SCORES, 3, weights=[1.0, 2.0, 0.5]), 0.4761905),
    "rec@3": (lambda: M.recall_at_k(T, SCORES, 3, weights=[1.0, 2.0, 0.5]), 1.0),
    "ap@3": (lambda: M.average_precision_at_k(T, SCORES, 3, weights=[1.0, 2.0, 0.5]), 0.5119048),
    "prec@3c1": (lambda: M.precision_at_k(T, SCORES, 3, class_id=1), 0.6666667),
    "rec@3c1": (lambda: M.recall_at_k(T, SCORES, 3, class_id=1), 1.0),
}


@pytest.fixture(autouse=True)
def graph():
    tf.reset_default_graph()


@pytest.mark.parametrize("name", CASES)
def test_values_are_tensorflow_s(name):
    make, wanted = CASES[name]
    value, update = make()
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        sess.run(update)
        new = sess.run(update)
        assert_allclose(sess.run(value), wanted, rtol=2e-6)
    if name not in ("mean_iou", "mpca"):  # their updates give the counts
        assert_allclose(new, wanted, rtol=2e-6)


VARIABLES = {
    "mean": (lambda: M.mean([1.0]), ["mean/total:0", "mean/count:0"]),
    "accuracy": (lambda: M.accuracy([1], [1], name="acc"), ["acc/total:0", "acc/count:0"]),
    "precision": (
        lambda: M.precision([1], [1]),
        ["precision/true_positives/count:0", "precision/false_positives/count:0"],
    ),
    "auc": (
        lambda: M.auc([1], [1.0]),
        [
            f"auc/{n}:0"
            for n in ("true_positives", "false_negatives", "true_negatives", "false_positives")
        ],
    ),
    "recall_at_k": (
        lambda: M.recall_at_k([[1]], [[0.1, 0.9]], 1, class_id=1),
        [
            "recall_at_1_class1/true_positive_at_1_class1:0",
            "recall_at_1_class1/false_negative_at_1_class1:0",
        ],
    ),
    "average_precision_at_k": (
        lambda: M.average_precision_at_k([[1]], [[0.1, 0.9]], 1),
        ["average_precision_at_1/max:0", "average_precision_at_1/total:0"],
    ),
    "mean_iou": (lambda: M.mean_iou([1], [1], 2), ["mean_iou/total_confusion_matrix:0"]),
}


@pytest.mark.parametrize("name", VARIABLES)
def test_variables_are_local_under_tensorflow_s_names(name):
    make, names = VARIABLES[name]
    make()
    assert [v.name for v in tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)] == names
    assert [v.name for v in tf.local_variables()] == names
    assert tf.global_variables() == tf.trainable_variables() == []


def test_collections():
    value, update = tf.metrics.mean(
        [1.0], metrics_collections=["values"], updates_collections=["updates", "more"]
    )
    assert tf.get_collection("values") == [value]
    assert tf.get_collection("updates") == tf.get_collection("more") == [update]


def test_updates_accumulate_and_values_only_read():
    x, w = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32)
    value, update = tf.metrics.mean(x, w)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(value) == 0.0
        assert sess.run(update, {x: [1.0, 3.0], w: 1.0}) == 2.0
        assert sess.run(update, {x: [5.0, 9.0], w: [1.0, 0.0]}) == 3.0
        assert sess.run([value, value]) == [3.0, 3.0]
        sess.run(tf.local_variables_initializer())
        assert sess.run(value) == 0.0


def test_labels_and_weights_of_another_rank():
    labels, predictions = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    weights = tf.placeholder(tf.float32)
    _, update = tf.metrics.accuracy(labels, predictions, weights)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        feeds = {labels: [[1], [2]], predictions: [1, 0], weights: [[1.0], [1.0]]}
        assert sess.run(update, feeds) == 0.5


def test_ranking_counts_a_repeated_label_once():
    _, recall = tf.metrics.recall_at_k([[1, 1, 1]], [[0.9, 0.1]], 1)
    _, precision = tf.metrics.precision_at_top_k([[1, 2]], [[1, 1, 0]])
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run([recall, precision]) == [0.0, 0.5]


@pytest.mark.parametrize("name", list(dv.metrics.__all__))
def test_eager_code_gets_a_clear_error(name):
    with pytest.raises(RuntimeError, match=f"{name} is not supported when eager"):
        getattr(dv.metrics, name)([1], [1])


def test_refused():
    with pytest.raises(ValueError, match="curve must be either"):
        tf.metrics.auc([1], [1.0], curve="ROCK")
    with pytest.raises(ValueError, match="Invalid summation_method"):
        tf.metrics.auc([1], [1.0], summation_method="guess")
    with pytest.raises(ValueError, match="incompatible"):
        tf.metrics.accuracy([1, 2], [1])
    with pytest.raises(ValueError, match="Invalid k=0"):
        tf.metrics.average_precision_at_k([[1]], [[1.0]], 0)
    with pytest.raises(ValueError, match=r"in the range \[0, 1\]"):
        tf.metrics.sensitivity_at_specificity([1], [1.0], 1.5)
    with pytest.raises(ValueError, match="weights must be equal"):
        tf.metrics.mean_iou([1, 1], [1, 1], 2, [1.0])
    x = tf.placeholder(tf.float32, [None])
    _, update = tf.metrics.auc([1], x)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be in \[0, 1\]"):
            sess.run(update, {x: [1.5]})


# Each row's classes: 3 and 0, none, 4. What TensorFlow 2.21 (compat.v1) gives.
SPARSE_LABELS = {
    "recall_at_k": (lambda labels, scores: tf.metrics.recall_at_k(labels, scores, 2), 1 / 3),
    "recall_at_k of a class": (
        lambda labels, scores: tf.metrics.recall_at_k(labels, scores, 2, class_id=4),
        0.0,
    ),
    "precision_at_k": (lambda labels, scores: tf.metrics.precision_at_k(labels, scores, 2), 1 / 6),
    "precision_at_top_k": (
        lambda labels, scores: tf.metrics.precision_at_top_k(
            labels, tf.constant([[3, 1], [1, 4], [3, 0]])
        ),
        1 / 6,
    ),
    "recall_at_top_k": (
        lambda labels, scores: tf.metrics.recall_at_top_k(
            labels, tf.constant([[3, 1], [1, 4], [4, 0]])
        ),
        2 / 3,
    ),
}


@pytest.mark.parametrize("name", SPARSE_LABELS)
def test_labels_of_rankings_may_be_sparse(name):
    make, wanted = SPARSE_LABELS[name]
    scores = [[0.1, 0.3, 0.2, 0.4, 0.0], [0.2, 0.6, 0.1, 0.1, 0.3], [0.5, 0.1, 0.2, 0.9, 0.3]]
    labels = tf.SparseTensorValue([[0, 0], [0, 1], [2, 0]], [3, 0, 4], [3, 2])
    with tf.Graph().as_default(), tf.Session() as sess:
        value, update = make(tf.SparseTensor(*labels), tf.constant(scores))
        sess.run(tf.local_variables_initializer())
        assert sess.run(update) == pytest.approx(wanted)
        assert sess.run(value) == pytest.approx(wanted)


def test_sparse_labels_may_be_values():
    scores = [[0.1, 0.3, 0.6], [0.5, 0.2, 0.3]]
    labels = tf.SparseTensorValue([[0, 0], [0, 1], [1, 0]], np.array([2, 1, 1]), [2, 2])
    _, recall = tf.metrics.recall_at_k(labels, scores, 1)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(recall) == pytest.approx(1 / 3)
