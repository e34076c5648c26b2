"""What TensorFlow 1 has and `daskvars.v1` lacks, so that an error can tell it from a slip."""

from __future__ import annotations

from collections.abc import Collection

from daskvars.errors import did_you_mean

# Namespace ("" for the top) -> names of TensorFlow 1.15 that are not here.
NOT_HERE = {
    "": """
        AttrValue CriticalSection
        IndexedSlicesSpec LogMessage Module NameAttrList OptionalSpec QUANTIZED_DTYPES
        RaggedTensor RaggedTensorSpec SparseTensorSpec
        TensorArraySpec TensorInfo TensorSpec TypeSpec audio autograph
        distribute extract_volume_patches fingerprint
        lite load_file_system_library load_library load_op_library profiler
        quantized_concat ragged resource_loader sysconfig
        timestamp tpu user_ops vectorized_map wrap_function xla
    """,
    "image": """
        non_max_suppression_with_scores
    """,
    "io": """
        decode_proto encode_proto parse_sequence_example
    """,
    "linalg": """
        LinearOperator LinearOperatorAdjoint LinearOperatorBlockDiag LinearOperatorCirculant
        LinearOperatorCirculant2D LinearOperatorCirculant3D LinearOperatorComposition
        LinearOperatorDiag LinearOperatorFullMatrix LinearOperatorHouseholder
        LinearOperatorIdentity LinearOperatorInversion LinearOperatorKronecker
        LinearOperatorLowRankUpdate LinearOperatorLowerTriangular LinearOperatorScaledIdentity
        LinearOperatorToeplitz LinearOperatorZeros
    """,
    "math": "nextafter",
    "nn": """
        avg_pool_v2 collapse_repeated conv_transpose ctc_beam_search_decoder_v2 ctc_loss_v2
        ctc_unique_labels max_pool_v2 quantized_avg_pool quantized_max_pool quantized_relu_x
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


def why_not(namespace: str, name: str, names: Collection[str]) -> str:
    """Return what an error says of a name that is not in a namespace.

    Args:
      namespace: as in "nn"; "" for the top.
      name: the name.
      names: those that are there.

    >>> why_not("nn", "max_pool_v2", [])
    "daskvars.v1.nn has no 'max_pool_v2': TensorFlow 1 has it, and nothing here does its work"
    """
    place = f"daskvars.v1.{namespace}" if namespace else "daskvars.v1"
    if name in NOT_HERE.get(namespace, "").split():
        return f"{place} has no {name!r}: TensorFlow 1 has it, and nothing here does its work"
    return f"{place} has no {name!r}{did_you_mean(name, names)}"
