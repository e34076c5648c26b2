"""What TensorFlow 1 has and `daskvars.v1` lacks, so that an error can tell it from a slip."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import NoReturn

from daskvars.errors import did_you_mean

# Namespace ("" for the top) -> names of TensorFlow 1.15 that are not here.
NOT_HERE = {
    "": """
        AttrValue
        IndexedSlicesSpec LogMessage NameAttrList OptionalSpec QUANTIZED_DTYPES
        RaggedTensor RaggedTensorSpec SparseTensorSpec
        TensorArraySpec TensorInfo TypeSpec audio autograph
        distribute extract_volume_patches fingerprint
        lite load_file_system_library load_library load_op_library
        quantized_concat ragged resource_loader sysconfig
        user_ops wrap_function xla
    """,
    "image": """
        non_max_suppression_with_scores
    """,
    "io": """
        decode_proto encode_proto
    """,
    "linalg": """
        LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorCirculant
        LinearOperatorCirculant2D LinearOperatorCirculant3D LinearOperatorComposition
        LinearOperatorHouseholder LinearOperatorInversion LinearOperatorKronecker
        LinearOperatorLowRankUpdate LinearOperatorToeplitz LinearOperatorZeros
    """,
    "nn": """
        quantized_avg_pool quantized_max_pool quantized_relu_x
    """,
    "quantization": """
        quantize_and_dequantize quantized_concat
    """,
    "random": "experimental",
    "strings": """
        bytes_split ngrams unicode_decode unicode_decode_with_offsets unicode_encode unicode_script
        unicode_split unicode_split_with_offsets
    """,
    "train": "sdca_fprint sdca_optimizer sdca_shrink_l1",
}
_TREES = "there are no trees here: use XGBoost or LightGBM on Dask, or tf.estimator.DNN"
# Path of a name -> what does its work.
INSTEAD = {
    "Barrier": "use tf.FIFOQueue, or tf.PriorityQueue where elements have an order",
    "CriticalSection": "leave it out: a run is a transaction, no other's updates come between",
    "RecordInput": "use tf.data.TFRecordDataset",
    "StagingArea": "as in TensorFlow, it is tf.contrib.staging.StagingArea",
    "distributions.bijectors": "as in TensorFlow, they are in tf.contrib.distributions.bijectors",
    "estimator.BoostedTreesClassifier": f"{_TREES}Classifier",
    "estimator.BoostedTreesEstimator": f"{_TREES}Classifier",
    "estimator.BoostedTreesRegressor": f"{_TREES}Regressor",
    "graph_util.must_run_on_cpu": "leave it out: operations without a device run where they can",
    "io.parse_sequence_example": "use tf.io.parse_single_sequence_example in a dataset's map(), "
    "then padded_batch()",
    "keras": "use layers, losses, train and metrics",
    "profiler": "flops are in what sess.explain(fetches, feed_dict) tells, times in a "
    "tf.RunMetadata, and the number of parameters is "
    "sum(v.shape.num_elements() for v in tf.trainable_variables())",
    "summary.get_summary_description": "use the type of the summary's operation, op.type",
    "train.experimental": "for mixed precision, use tf.cast to tf.bfloat16 or tf.float16",
}


def why_not(namespace: str, name: str, names: Collection[str]) -> str:
    """Return what an error says of a name that is not in a namespace.

    Args:
      namespace: as in "nn"; "" for the top.
      name: the name.
      names: those that are there.

    >>> why_not("", "fingerprint", [])
    "daskvars.v1 has no 'fingerprint': TensorFlow 1 has it, and nothing here does its work"
    """
    place = f"daskvars.v1.{namespace}" if namespace else "daskvars.v1"
    path = f"{namespace}.{name}" if namespace else name
    if path in INSTEAD:
        return f"{place} has no {name!r}: {INSTEAD[path]}"
    if name in NOT_HERE.get(namespace, "").split():
        return f"{place} has no {name!r}: TensorFlow 1 has it, and nothing here does its work"
    return f"{place} has no {name!r}{did_you_mean(name, names)}"


def refuses(namespace: str, names: Collection[str]) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a namespace: an error with the text of `why_not`."""

    @lru_cache(maxsize=256)  # tools ask for the same few names, thousands of times
    def message(name: str) -> str:
        return why_not(namespace, name, names)

    def missing(name: str) -> NoReturn:
        raise AttributeError(message(name))

    return missing
