"""Metrics over many runs: pairs of a value and an operation that updates it.

A metric keeps sums in local variables. Its update adds what a run computes and gives the metric so
far; its value reads without adding. The local variables are set by
`local_variables_initializer`, which begins a new count. Eager code has no operations to run
again: there, metrics raise RuntimeError.

Files: ``metric`` (what all of them are: the decorator, its arguments, local variables); ``means``
(accuracy, errors, plain means), ``counts`` (of a yes or no: precision, recall), ``thresholds`` (the
same at given ones), ``curves`` (areas under them, ``auc``), ``classes`` (class by class, IoU),
``top_k`` (rankings).

To add one, write its value and update as a function under ``@metric()`` in the file of its kind,
and name it here, in the imports and in ``__all__``; a test in ``tests/test_metrics.py`` has its
golden numbers. Scope, collections and what eager code gets follow.
"""

# fmt: off
from daskvars.metrics.classes import mean_iou, mean_per_class_accuracy
from daskvars.metrics.counts import (
    false_negatives, false_positives, precision, recall, true_negatives, true_positives,
)
from daskvars.metrics.curves import auc, sensitivity_at_specificity, specificity_at_sensitivity
from daskvars.metrics.means import (
    accuracy, mean, mean_absolute_error, mean_cosine_distance, mean_relative_error,
    mean_squared_error, mean_tensor, percentage_below, root_mean_squared_error,
)
from daskvars.metrics.thresholds import (
    false_negatives_at_thresholds, false_positives_at_thresholds, precision_at_thresholds,
    recall_at_thresholds, true_negatives_at_thresholds, true_positives_at_thresholds,
)
from daskvars.metrics.top_k import (
    average_precision_at_k, precision_at_k, precision_at_top_k, recall_at_k, recall_at_top_k,
    sparse_average_precision_at_k, sparse_precision_at_k,
)

__all__ = [
    "accuracy", "auc", "average_precision_at_k", "false_negatives", "false_negatives_at_thresholds",
    "false_positives", "false_positives_at_thresholds", "mean", "mean_absolute_error",
    "mean_cosine_distance", "mean_iou", "mean_per_class_accuracy", "mean_relative_error",
    "mean_squared_error", "mean_tensor", "percentage_below", "precision", "precision_at_k",
    "precision_at_thresholds", "precision_at_top_k", "recall", "recall_at_k",
    "recall_at_thresholds", "recall_at_top_k", "root_mean_squared_error",
    "sensitivity_at_specificity", "sparse_average_precision_at_k", "sparse_precision_at_k",
    "specificity_at_sensitivity", "true_negatives", "true_negatives_at_thresholds",
    "true_positives", "true_positives_at_thresholds",
]
