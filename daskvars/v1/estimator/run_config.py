"""How an estimator runs."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from daskvars.v1.servers.cluster_spec import ClusterSpec

_UNSET: Any = object()


@dataclass(frozen=True)
class RunConfig:
    """How an estimator runs, and what it saves.

    Args:
      model_dir: directory of checkpoints and summaries.
      tf_random_seed: the graph's seed; None for none.
      save_summary_steps: steps between two summaries.
      save_checkpoints_steps, save_checkpoints_secs: steps or seconds between two checkpoints, by
        default 600 seconds; None for both saves none on the way.
      session_config: a `ConfigProto`.
      keep_checkpoint_max: how many checkpoints are kept.
      keep_checkpoint_every_n_hours: one is kept for good so often.
      log_step_count_steps: steps between two reports of the loss and the steps per second.
      train_distribute, eval_distribute, experimental_distribute, device_fn: None; a Dask client in
        the process is what distributes.
      protocol, experimental_max_worker_delay_secs, session_creation_timeout_secs: of servers, which
        there are none of; kept for those who ask.

    Attributes:
      is_chief, task_type, task_id, master, evaluation_master, num_worker_replicas, num_ps_replicas,
        global_id_in_cluster, cluster_spec: those of a program that is the only one.

    Raises:
      ValueError: both steps and seconds between checkpoints are given.
      NotImplementedError: it says how to distribute.

    Source: TensorFlow 1.15, ``tf.estimator.RunConfig``.

    >>> config = tf.estimator.RunConfig(save_checkpoints_steps=100, keep_checkpoint_max=3)
    >>> config.save_checkpoints_secs, config.replace(tf_random_seed=7).keep_checkpoint_max
    (None, 3)
    """

    model_dir: str | PathLike[str] | None = None
    tf_random_seed: int | None = 1
    save_summary_steps: int | None = 100
    save_checkpoints_steps: Any = _UNSET
    save_checkpoints_secs: Any = _UNSET
    session_config: Any = None
    keep_checkpoint_max: int = 5
    keep_checkpoint_every_n_hours: float = 10000
    log_step_count_steps: int | None = 100
    train_distribute: Any = None
    device_fn: Any = None
    protocol: str | None = None
    eval_distribute: Any = None
    experimental_distribute: Any = None
    experimental_max_worker_delay_secs: int | None = None
    session_creation_timeout_secs: int | None = 7200

    def __post_init__(self) -> None:
        steps, secs = self.save_checkpoints_steps, self.save_checkpoints_secs
        if steps not in (_UNSET, None) and secs not in (_UNSET, None):
            raise ValueError(
                "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."
            )
        for name in ("train_distribute", "device_fn", "eval_distribute", "experimental_distribute"):
            if getattr(self, name) is not None:
                raise NotImplementedError(
                    f"{name} is not None: a Dask client in the process distributes, see clusters.md"
                )
        default = 600 if steps is _UNSET else None
        set_ = object.__setattr__
        set_(self, "save_checkpoints_steps", None if steps is _UNSET else steps)
        set_(self, "save_checkpoints_secs", default if secs is _UNSET else secs)
        if self.model_dir is not None:
            set_(self, "model_dir", os.fspath(self.model_dir))

    is_chief = True
    task_type = "worker"
    task_id = 0
    master = ""
    evaluation_master = ""
    num_worker_replicas = 1
    num_ps_replicas = 0
    global_id_in_cluster = 0

    @property
    def cluster_spec(self) -> ClusterSpec:
        """A cluster of no task."""
        return ClusterSpec({})

    def replace(self, **kwargs: Any) -> RunConfig:
        """Return one that differs in what is given."""
        if kwargs.get("save_checkpoints_steps") is not None:
            kwargs.setdefault("save_checkpoints_secs", None)
        if kwargs.get("save_checkpoints_secs") is not None:
            kwargs.setdefault("save_checkpoints_steps", None)
        return replace(self, **kwargs)
