"""Devices for replicated training: variables on parameter servers, all else on the workers."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from daskvars.graph.scopes.device import DeviceSpec
from daskvars.graph.tensor import Operation
from daskvars.surface.one_line import ShownByArguments
from daskvars.v1.servers.cluster_spec import ClusterSpec

VARIABLE_OPS = ("Variable", "VariableV2", "VarHandleOp")


def replica_device_setter(
    ps_tasks: int = 0,
    ps_device: str = "/job:ps",
    worker_device: str = "/job:worker",
    merge_devices: bool = True,
    cluster: Any = None,
    ps_ops: Sequence[str] | None = None,
    ps_strategy: Callable[[Operation], int] | None = None,
) -> Callable[[Operation], str] | None:
    """Return a function for `device` that spreads variables over parameter servers.

    Args:
      ps_tasks: the number of parameter servers; with `cluster` it is taken from there.
      ps_device: device of variables; without a job in it, no task is set.
      worker_device: device of all other operations.
      merge_devices: lay what inner `device` blocks ask for over these devices; otherwise an
        operation that has any device keeps just that.
      cluster: a `ClusterSpec`, or what makes one.
      ps_ops: the types of operations that go to parameter servers; by default variables.
      ps_strategy: which task an operation goes to, by default one after another; see
        `GreedyLoadBalancingStrategy`.

    Returns:
      The device function, or None where there are no parameter servers.

    Raises:
      TypeError: `cluster` is no cluster, or `ps_strategy` no function.

    Source: TensorFlow 1.15, ``tf.train.replica_device_setter``.

    >>> with tf.Graph().as_default(), tf.device(tf.train.replica_device_setter(ps_tasks=2)):
    ...     v, w = tf.get_variable("v", [3]), tf.get_variable("w", [3])
    ...     total = tf.add(v, w)
    >>> v.device, w.device, total.device
    ('/job:ps/task:0', '/job:ps/task:1', '/job:worker')
    """
    if cluster is not None:
        spec = cluster if isinstance(cluster, ClusterSpec) else ClusterSpec(cluster)
        job = DeviceSpec.from_string(ps_device).job
        ps_tasks = spec.num_tasks(job) if job in spec.jobs else 0
    if ps_tasks == 0:
        return None
    if ps_strategy is not None and not callable(ps_strategy):
        raise TypeError("ps_strategy must be callable")
    if not merge_devices:
        warnings.warn(
            "replica_device_setter(merge_devices=False) is deprecated: operations under an inner "
            "device block get no task",
            DeprecationWarning,
            stacklevel=2,
        )
    types = frozenset(VARIABLE_OPS if ps_ops is None else ps_ops)
    turns = itertools.cycle(range(ps_tasks))
    task_of = ps_strategy or (lambda op: next(turns))

    def choose(op: Operation) -> str:
        if not merge_devices and op.device:
            return op.device
        wanted = DeviceSpec.from_string(op.device)
        on_ps = bool(ps_device) and op.type in types
        place = DeviceSpec.from_string(ps_device if on_ps else worker_device)
        if on_ps and place.job and wanted.job in (None, "", place.job):
            place.task = task_of(op)
        place.merge_from(wanted)
        return place.to_string()

    return choose


class GreedyLoadBalancingStrategy(ShownByArguments):
    """A ``ps_strategy`` that puts each operation on the task with the least load so far.

    Args:
      num_tasks: the number of parameter servers.
      load_fn: the load of an operation, such as `byte_size_load_fn`.

    Source: TensorFlow 1.15, ``tf.contrib.training.GreedyLoadBalancingStrategy``.

    >>> balance = tf.train.GreedyLoadBalancingStrategy(2, tf.train.byte_size_load_fn)
    >>> place = tf.train.replica_device_setter(ps_tasks=2, ps_strategy=balance)
    >>> with tf.Graph().as_default(), tf.device(place):
    ...     made = [tf.get_variable(f"v{i}", [size]) for i, size in enumerate([100, 1, 1])]
    >>> [v.device for v in made]
    ['/job:ps/task:0', '/job:ps/task:1', '/job:ps/task:1']
    """

    def __init__(self, num_tasks: int, load_fn: Callable[[Operation], float]) -> None:
        self._load_of = load_fn
        self._loads = [0.0] * num_tasks

    def __call__(self, op: Operation) -> int:
        """Return the task for `op`, and count its load there."""
        task = self._loads.index(min(self._loads))
        self._loads[task] += self._load_of(op)
        return task


def byte_size_load_fn(op: Operation) -> float:
    """Return the bytes of an operation's output.

    Args:
      op: an operation of one output of known shape.

    Raises:
      ValueError: it has several outputs, or its shape is not known.

    Source: TensorFlow 1.15, ``tf.contrib.training.byte_size_load_fn``.

    >>> with tf.Graph().as_default():
    ...     tf.train.byte_size_load_fn(tf.zeros([3, 4]).op)
    48.0
    """
    if len(op.outputs) != 1:
        raise ValueError(f"{op.name!r} has {len(op.outputs)} outputs; its load needs a single one")
    spec = op.outputs[0].spec
    if spec.shape is None or None in spec.shape:
        raise ValueError(
            f"the shape of {op.name!r}, {op.outputs[0].shape}, is not fully known, so neither are "
            "its bytes"
        )
    return float(spec.dtype.base_dtype.size * math.prod(spec.shape))
