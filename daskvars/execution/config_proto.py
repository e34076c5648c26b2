"""What TensorFlow programs configure sessions and runs with, and what a run tells of itself.

Most of TensorFlow's fields choose among ways in which its runtime may work; they are accepted, and
change nothing here, for results do not depend on them. These mean something:

- ``ConfigProto.inter_op_parallelism_threads``, ``intra_op_parallelism_threads``,
  ``device_count={"CPU": n}``: at most so many threads run the session's plans (the largest that
  is set, as chunks of ops are the only parallelism).
- ``ConfigProto.log_device_placement``: each operation's device is printed when it is first run.
- ``ConfigProto.isolate_session_state``: a session on a named store has variables of its own.
- ``RunOptions.trace_level`` and ``output_partition_graphs``: what `RunMetadata` is filled with.
- ``ConfigProto.operation_timeout_in_ms`` and ``RunOptions.timeout_in_ms``: how long an operation of
  any run, and those of one run, wait for others: for elements of a queue or room in it, say. They
  end with DeadlineExceededError then. What computes is not interrupted.

The engine's own knobs are in `daskvars.config`.
"""

from __future__ import annotations

from typing import ClassVar

from daskvars.surface.messages import Message


class GPUOptions(Message):
    """How TensorFlow uses GPUs: accepted; CuPy's memory pool grows as needed.

    >>> GPUOptions(allow_growth=True).allow_growth
    True
    """

    fields: ClassVar = {
        "per_process_gpu_memory_fraction": 0.0,
        "allow_growth": False,
        "allocator_type": "",
        "deferred_deletion_bytes": 0,
        "visible_device_list": "",
        "polling_active_delay_usecs": 0,
        "polling_inactive_delay_msecs": 0,
        "force_gpu_compatible": False,
        "experimental": dict,
    }


class OptimizerOptions(Message):
    """How TensorFlow optimizes graphs: accepted; every plan is pruned, folded and fused.

    >>> OptimizerOptions(opt_level=OptimizerOptions.L0).opt_level
    -1
    """

    L1, L0 = 0, -1
    DEFAULT, OFF, ON_1, ON_2 = 0, -1, 1, 2
    fields: ClassVar = {
        "do_common_subexpression_elimination": False,
        "do_constant_folding": False,
        "max_folded_constant_in_bytes": 0,
        "do_function_inlining": False,
        "opt_level": 0,
        "global_jit_level": 0,
        "cpu_global_jit": False,
    }


class RewriterConfig(Message):
    """Which of TensorFlow's graph rewriters run: accepted; results do not depend on them."""

    DEFAULT, ON, OFF, AGGRESSIVE = 0, 1, 2, 3
    fields: ClassVar = {
        **dict.fromkeys(
            (
                "layout_optimizer",
                "constant_folding",
                "shape_optimization",
                "remapping",
                "arithmetic_optimization",
                "dependency_optimization",
                "loop_optimization",
                "function_optimization",
                "debug_stripper",
                "scoped_allocator_optimization",
                "pin_to_host_optimization",
                "implementation_selector",
                "auto_mixed_precision",
                "meta_optimizer_iterations",
                "min_graph_nodes",
                "memory_optimization",
                "meta_optimizer_timeout_ms",
            ),
            0,
        ),
        "disable_model_pruning": False,
        "disable_meta_optimizer": False,
        "fail_on_optimizer_errors": False,
        "memory_optimizer_target_node_name_scope": "",
        "optimizers": [str],
    }


class GraphOptions(Message):
    """How TensorFlow treats a session's graph: accepted.

    >>> GraphOptions(optimizer_options=OptimizerOptions(opt_level=-1)).infer_shapes
    False
    """

    fields: ClassVar = {
        "enable_recv_scheduling": False,
        "optimizer_options": OptimizerOptions,
        "build_cost_model": 0,
        "build_cost_model_after": 0,
        "infer_shapes": False,
        "place_pruned_graph": False,
        "enable_bfloat16_sendrecv": False,
        "timeline_step": 0,
        "rewrite_options": RewriterConfig,
    }


class ThreadPoolOptions(Message):
    """A thread pool of a session: accepted; sessions share this process's threads."""

    fields: ClassVar = {"num_threads": 0, "global_name": ""}


class ConfigProto(Message):
    """The configuration of a session. The module's docstring says what has an effect.

    Raises:
      ValueError: there is no field of that name.

    >>> config = ConfigProto(intra_op_parallelism_threads=2, allow_soft_placement=True)
    >>> config.gpu_options.allow_growth = True
    >>> ConfigProto(log_placement=True)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: ConfigProto has no field 'log_placement' (did you mean ...
    """

    fields: ClassVar = {
        "device_count": dict,
        "intra_op_parallelism_threads": 0,
        "inter_op_parallelism_threads": 0,
        "use_per_session_threads": False,
        "session_inter_op_thread_pool": [ThreadPoolOptions],
        "placement_period": 0,
        "device_filters": [str],
        "gpu_options": GPUOptions,
        "allow_soft_placement": False,
        "log_device_placement": False,
        "graph_options": GraphOptions,
        "operation_timeout_in_ms": 0,
        "rpc_options": dict,
        "cluster_def": object,
        "isolate_session_state": False,
        "share_cluster_devices_in_session": False,
        "experimental": dict,
    }

    def num_threads(self) -> int | None:
        """Return how many threads may run plans, or None where nothing limits them."""
        limits = (
            self.inter_op_parallelism_threads,
            self.intra_op_parallelism_threads,
            self.device_count.get("CPU", 0),
        )
        return max(limits) if max(limits) > 0 else None


class DebugOptions(Message):
    """Tensors to watch in a run: accepted; fetch what is to be looked at."""

    fields: ClassVar = {
        "debug_tensor_watch_opts": [object],
        "global_step": 0,
        "reset_disk_byte_usage": False,
    }


class RunOptions(Message):
    """Options of one run: what is to be recorded of it, and how long it may wait.

    After ``timeout_in_ms`` an operation that waits for other runs, as for elements of a queue, ends
    with DeadlineExceededError; what computes is not interrupted.

    >>> RunOptions(trace_level=RunOptions.FULL_TRACE).trace_level
    3
    """

    NO_TRACE, SOFTWARE_TRACE, HARDWARE_TRACE, FULL_TRACE = 0, 1, 2, 3
    fields: ClassVar = {
        "trace_level": 0,
        "timeout_in_ms": 0,
        "inter_op_thread_pool": 0,
        "output_partition_graphs": False,
        "debug_options": DebugOptions,
        "report_tensor_allocations_upon_oom": False,
        "experimental": dict,
    }


class NodeExecStats(Message):
    """A stage of a run, a kernel in it, or an exchange: what it is and when, in microseconds.

    `node_name` is the scope of a stage, or the operation of a kernel; `timeline_label` adds the
    kernel, "stage" or "exchange"; `thread_id` tells the threads that did it apart. Nothing goes
    before or after an op's own work: its end is that of all.
    """

    fields: ClassVar = {
        "node_name": "",
        "all_start_micros": 0,
        "op_start_rel_micros": 0,
        "op_end_rel_micros": 0,
        "all_end_rel_micros": 0,
        "timeline_label": "",
        "thread_id": 0,
    }


class DeviceStepStats(Message):
    """What ran on one device."""

    fields: ClassVar = {"device": "", "node_stats": [NodeExecStats]}


class StepStats(Message):
    """What ran in one run, by device."""

    fields: ClassVar = {"dev_stats": [DeviceStepStats]}


class RunMetadata(Message):
    """What a run tells of itself: filled by ``Session.run(..., options, run_metadata)``.

    ``step_stats`` is there when the options asked for a trace, ``partition_graphs`` (the plan as
    text) when they asked for that; ``num_tasks``, ``transfer_bytes`` and ``duration_s`` always are.

    >>> RunMetadata().HasField("step_stats")
    False
    """

    fields: ClassVar = {
        "step_stats": StepStats,
        "cost_graph": dict,
        "partition_graphs": [str],
        "num_tasks": 0,
        "transfer_bytes": 0,
        "duration_s": 0.0,
    }
