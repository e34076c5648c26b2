"""What TensorFlow calls experimental of its datasets: functions for `Dataset.apply`, and more.

Files: ``transformations`` (elements one by one, and how they are made), ``grouping`` (put together
by a key), ``mixing`` (of several datasets, drawn, counted), ``files`` (batches of what files have),
``positions`` (of iterators of graphs, for checkpoints).
"""

from daskvars.data.experimental.files import (
    CsvDataset,
    make_batched_features_dataset,
    make_csv_dataset,
    parse_example_dataset,
)
from daskvars.data.experimental.grouping import (
    Reducer,
    bucket_by_sequence_length,
    group_by_reducer,
    group_by_window,
)
from daskvars.data.experimental.mixing import (
    INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY,
    Counter,
    RandomDataset,
    cardinality,
    choose_from_datasets,
    get_single_element,
    rejection_resample,
    sample_from_datasets,
)
from daskvars.data.experimental.positions import make_saveable_from_iterator
from daskvars.data.experimental.transformations import (
    copy_to_device,
    dense_to_sparse_batch,
    enumerate_dataset,
    ignore_errors,
    map_and_batch,
    parallel_interleave,
    prefetch_to_device,
    scan,
    shuffle_and_repeat,
    take_while,
    unbatch,
    unique,
)
from daskvars.data.nodes.mapping import AUTOTUNE
from daskvars.data.options import (
    DistributeOptions,
    OptimizationOptions,
    StatsOptions,
    ThreadingOptions,
)

__all__ = [
    "AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Counter", "CsvDataset",
    "DistributeOptions", "OptimizationOptions", "RandomDataset", "Reducer", "StatsOptions",
    "ThreadingOptions", "bucket_by_sequence_length", "cardinality", "choose_from_datasets",
    "copy_to_device", "dense_to_sparse_batch", "enumerate_dataset", "get_single_element",
    "group_by_reducer", "group_by_window", "ignore_errors", "make_batched_features_dataset",
    "make_csv_dataset", "make_saveable_from_iterator", "map_and_batch", "parallel_interleave",
    "parse_example_dataset", "prefetch_to_device", "rejection_resample", "sample_from_datasets",
    "scan", "shuffle_and_repeat", "take_while", "unbatch", "unique",
]  # fmt: skip
