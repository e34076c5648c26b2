"""Options: what TensorFlow lets a program say of how a pipeline is run.

They are kept with a dataset and change nothing: elements always come in their order, the rows of
stored arrays and the records of files are shared out among the workers that use them without being
asked to, and there is no graph of datasets that would be rewritten.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from daskvars.errors import did_you_mean


class _Settings:
    """Named values, None where nobody has set them; no others can be."""

    names: ClassVar[tuple[str, ...]] = ()
    parts: ClassVar[dict[str, type[_Settings]]] = {}

    def __init__(self) -> None:
        for name in self.names:
            setattr(self, name, None)
        for name, kind in self.parts.items():
            setattr(self, name, kind())

    def __setattr__(self, name: str, value: Any) -> None:
        known = (*self.names, *self.parts)
        if name not in known:
            raise AttributeError(
                f"Cannot set the property {name} on {type(self).__name__}"
                f"{did_you_mean(name, known)}"
            )
        kind = self.parts.get(name)
        if kind is not None and not isinstance(value, kind):
            raise TypeError(f"Property {name!r} must be of type {kind.__name__}, found {value!r}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in (*self.names, *self.parts)}
        said = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
        return f"{type(self).__name__}({said})"

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def merge(self, options: Self) -> Self:
        """Return what is set in either, of both what the second one sets.

        Args:
          options: others, of the same kind.

        >>> first, second = Options(), Options()
        >>> first.experimental_slack, second.experimental_deterministic = True, False
        >>> both = first.merge(second)
        >>> both.experimental_slack, both.experimental_deterministic
        (True, False)
        """
        found = type(self)()
        for name in self.names:
            value = getattr(options, name)
            setattr(found, name, getattr(self, name) if value is None else value)
        for name in self.parts:
            setattr(found, name, getattr(self, name).merge(getattr(options, name)))
        return found


class DistributeOptions(_Settings):
    """How elements are shared out among workers: accepted, `data` says how it is.

    Attributes:
      auto_shard, auto_shard_policy, num_devices: None, or what was set.

    >>> options = Options()
    >>> options.experimental_distribute.auto_shard = False
    >>> options.experimental_distribute
    DistributeOptions(auto_shard=False)
    """

    names = ("auto_shard", "auto_shard_policy", "num_devices")


class OptimizationOptions(_Settings):
    """Which rewrites of a pipeline are wanted: accepted, there is none.

    Attributes:
      apply_default_optimizations, autotune, map_and_batch_fusion, ...: None, or what was set.

    >>> options = Options()
    >>> options.experimental_optimization.autotune = True
    >>> options.experimental_optimization
    OptimizationOptions(autotune=True)
    """

    names = (
        "apply_default_optimizations",
        "autotune",
        "autotune_algorithm",
        "autotune_buffers",
        "autotune_cpu_budget",
        "filter_fusion",
        "filter_with_random_uniform_fusion",
        "hoist_random_uniform",
        "map_and_batch_fusion",
        "map_and_filter_fusion",
        "map_fusion",
        "map_parallelization",
        "map_vectorization",
        "noop_elimination",
        "parallel_batch",
        "shuffle_and_repeat_fusion",
    )


class StatsOptions(_Settings):
    """What is to be measured of a pipeline: accepted, `dv.profile` measures steps.

    Attributes:
      aggregator, counter_prefix, latency_all_edges, prefix: None, or what was set.

    >>> StatsOptions()
    StatsOptions()
    """

    names = ("aggregator", "counter_prefix", "latency_all_edges", "prefix")


class ThreadingOptions(_Settings):
    """Of how many threads a pipeline is made: accepted, ``num_parallel_calls`` says it.

    Attributes:
      max_intra_op_parallelism, private_threadpool_size: None, or what was set.

    >>> options = Options()
    >>> options.experimental_threading.private_threadpool_size = 4
    >>> options.experimental_threading
    ThreadingOptions(private_threadpool_size=4)
    """

    names = ("max_intra_op_parallelism", "private_threadpool_size")


class Options(_Settings):
    """How a dataset is to be run: kept with it, and without effect on its elements.

    Attributes:
      experimental_deterministic: whether elements are to come in their order; they always do.
      experimental_distribute: a `DistributeOptions`.
      experimental_optimization: an `OptimizationOptions`.
      experimental_slack: whether the last prefetch is to leave time at the start of a step.
      experimental_stateful_whitelist: which stateful ops are to be allowed.
      experimental_stats: a `StatsOptions`.
      experimental_threading: a `ThreadingOptions`.

    Source: TensorFlow 1.15, ``tf.data.Options``.

    >>> options = Options()
    >>> options.experimental_deterministic = False
    >>> dataset = dv.data.Dataset.range(3).with_options(options)
    >>> dataset.options().experimental_deterministic, [int(x) for x in dataset]
    (False, [0, 1, 2])
    """

    names = ("experimental_deterministic", "experimental_slack", "experimental_stateful_whitelist")
    parts = {  # noqa: RUF012 - as the names
        "experimental_distribute": DistributeOptions,
        "experimental_optimization": OptimizationOptions,
        "experimental_stats": StatsOptions,
        "experimental_threading": ThreadingOptions,
    }
