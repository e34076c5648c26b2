"""`tf.test`: a base class for tests of programs, and what they compare gradients with.

- ``cases``: `TestCase`, which begins each test with a new default graph, seeds and no session;
  ``assertions``: how it compares arrays, tensors and errors; ``message_texts``: and messages, with
  what protocol buffers' text format says;
- ``gradient_checker``: gradients beside differences; ``programs``: running a file of tests, its
  folder, its devices; ``benchmarks``; ``stubs``: attributes replaced for a while.

The classes are those of ``unittest``, by way of absl's, as TensorFlow's are; any runner finds them.
"""

from unittest import mock

from daskvars.v1.test.benchmarks import Benchmark
from daskvars.v1.test.cases import TestCase
from daskvars.v1.test.gradient_checker import compute_gradient, compute_gradient_error
from daskvars.v1.test.message_texts import assert_equal_graph_def
from daskvars.v1.test.programs import (
    create_local_cluster,
    get_temp_dir,
    gpu_device_name,
    is_built_with_cuda,
    is_built_with_gpu_support,
    is_built_with_rocm,
    is_gpu_available,
    main,
    test_src_dir_path,
)
from daskvars.v1.test.stubs import StubOutForTesting

__all__ = [
    "Benchmark", "StubOutForTesting", "TestCase", "assert_equal_graph_def", "compute_gradient",
    "compute_gradient_error", "create_local_cluster", "get_temp_dir", "gpu_device_name",
    "is_built_with_cuda", "is_built_with_gpu_support", "is_built_with_rocm", "is_gpu_available",
    "main", "mock", "test_src_dir_path",
]  # fmt: skip
