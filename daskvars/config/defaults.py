"""What there is to configure: every knob, its default, and the reason for it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from dask.utils import parse_bytes, parse_timedelta

CONSISTENCIES = ("serializable", "async")
KIB = 1024
MIB = 1024 * KIB


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The knobs. Each says why its default is what it is.

    Attributes:
        batch_parts: how many parts the work of a step is cut into, along the dimension of what is
            fed that shares most of it. None decides per program: it pays only when the parts are
            worth their tasks.
        batch_parts_min_flops: work per step from which splitting may pay: 0.5 GFLOP are tens of ms
            on a core, a task about one. What is pinned to a GPU does not count: it would be
            launched in parts, and take longer.
        num_threads: threads that run tasks in this process. None is every CPU this process may
            use, which in a container is fewer than the machine has.
        chunk_bytes: most bytes of a block of chunks="auto". Four times Dask's default: a variable
            stays where it is, and one in a single block is updated in place by a plain call; 256 MB
            of embeddings in two blocks cost five tasks a step. Whoever wants shards asks for them.
        inline_constant_bytes: larger constants travel to workers by reference, so that a step's
            graph stays small.
        tile_elements: elements per tile of a fused elementwise region: some float32 tiles stay in
            the last cache. Smaller ones would fit the one before, but each call hands the
            interpreter from thread to thread (m, Adam on 64M parameters, 2 threads, tiles of 32K,
            128K, 256K, 512K: 201, 116, 81, 98 ms; hand-written 142).
        tile_min_elements: arrays below this are not tiled: the loop would cost more than the
            cache saves.
        eager_limit: recorded eager operations before they run unasked: bounds the memory that a
            record holds.
        plan_cache_size: step plans kept, and traces of a function: a program has few fetches, a
            loop over batch sizes has some more.
        retrace_warning: traces of one function before a warning: more means that Python values
            vary as arguments.
        seal_every_s: seconds between seals. A process that is killed loses at most the runs of
            this period and of the time of one seal; of a lost worker's, as many are done again. A
            seal stops the runs of a process without a cluster (1 GiB to a file system in memory:
            0.7 s), so a shorter period costs more. 0 makes each run on a store a durable
            transaction, which several processes may make.
        consistency: what runs of several clients of a cluster on one store or name mean to each
            other. "serializable" is as if they came one after the other. "async" is asynchronous
            training: what is read may be of an older version, but updates (assign_add,
            scatter_add, those of optimizers) are made to the newest, so that none is lost while
            gradients are computed at once.
        fsync_seals: whether versions of a store on disk survive a power cut, not only the end of
            the process; those of a scratch directory need not. For the default period the cost is
            small; for a transaction per run it is most of it (three small blocks: 24 ms rather than
            8 on ext4, 4 rather than 3 on tmpfs; 500 files: 2 s more on ext4).
        soft_placement: whether a device that is not there is replaced by the next best, with a
            line in the log. Otherwise it is an error, so that nothing runs where it was not meant
            to. For one session it is ConfigProto(allow_soft_placement=True).
        max_in_flight: cluster runs in flight: hides the client's latency without queueing many
            steps' values. Fewer where the new values that they make are more than a quarter of
            the workers' memory.
        client_work_s: seconds of work, as the planner estimates them, up to which a run that needs
            nothing on a cluster's workers (no variable, nothing that is there) is done by the
            client: the way to a worker and back takes some 5 ms. An element of a queue is such a
            run. 0 has all of them done by workers.
        feed_scatter_bytes: feeds larger than this are scattered to the workers before the step is
            sent.
        scratch: directory for private snapshots. None makes a temporary one. What a killed process
            has left of them there goes with the next that makes some.
        keep_freed_memory: whether freed array memory is kept for the next step: returning it
            costs page faults.
        recovery_attempts: a monitored session whose cluster fails is made anew and its run
            repeated, at most so often in all, with pauses that double from the first to the
            longest: within two minutes a worker, a node or a scheduler is there again or stays
            away.
        recovery_first_pause_s: seconds of the first of these pauses.
        recovery_longest_pause_s: seconds of the longest of them.
        check_every_run: whether every run compares what kernels give with what their ops
            promised, for tests of ops. Otherwise the first run of a plan does: a kernel hardly
            changes its mind, and 0.5 us a call is what an addition of small arrays takes.
        verify_programs: whether what each pass of lowering promises to the next is checked, for
            tests of passes.
        progress: whether long work shows a bar (`daskvars.progress`; saving, restoring,
            initializing): only in a terminal or a notebook, where somebody looks, and with tqdm.
        graph_growth_warning: operations added after the first run before a warning: a loop that
            builds the graph anew.

    Raises:
        TypeError: a value has another type.
        ValueError: a value is not positive, or no word that is known.

    >>> Config(batch_parts=4, chunk_bytes="64 KiB").chunk_bytes
    65536
    """

    batch_parts: int | None = None
    batch_parts_min_flops: float = 5e8
    num_threads: int | None = None
    chunk_bytes: int = 512 * MIB
    inline_constant_bytes: int = 64 * KIB
    tile_elements: int = 262_144
    tile_min_elements: int = 131_072
    eager_limit: int = 2_000
    plan_cache_size: int = 256
    retrace_warning: int = 8
    seal_every_s: float = 10.0
    consistency: str = "serializable"
    fsync_seals: bool = True
    soft_placement: bool = False
    max_in_flight: int = 16
    client_work_s: float = 1e-3
    feed_scatter_bytes: int = 1 * MIB
    scratch: str | None = None
    keep_freed_memory: bool = True
    recovery_attempts: int = 12
    recovery_first_pause_s: float = 0.1
    recovery_longest_pause_s: float = 30.0
    check_every_run: bool = False
    verify_programs: bool = False
    progress: bool = True
    graph_growth_warning: int = 5_000

    def __post_init__(self) -> None:
        for name, wanted in KNOBS.items():
            value = _measured(name, getattr(self, name))
            object.__setattr__(self, name, value)
            if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
                expected = " or ".join("None" if t is type(None) else t.__name__ for t in wanted)
                texts = [text for end, (_, text) in _UNITS.items() if name.endswith(end)]
                expected += "".join(f" or a text such as {text!r}" for text in texts)
                raise TypeError(f"Config {name} must be {expected}, found {value!r}.")
            if name == "consistency" and value not in CONSISTENCIES:
                raise ValueError(f"Config {name} must be one of {CONSISTENCIES}, found {value!r}.")
            if isinstance(value, (int, float)) and not isinstance(value, bool) and not value > 0:
                if name in _MAY_BE_ZERO and value == 0:
                    continue
                raise ValueError(f"Config {name} must be positive, found {value!r}.")


_MAY_BE_ZERO = ("seal_every_s", "client_work_s")
_UNITS: dict[str, tuple[Callable[[str], float], str]] = {
    "_bytes": (parse_bytes, "64 MiB"),
    "_s": (parse_timedelta, "10 s"),
}


def _measured(name: str, value: Any) -> Any:
    """Return the number that a text is, as Dask writes bytes and times; else what is given."""
    for end, (parse, _) in _UNITS.items():
        if value and isinstance(value, str) and name.endswith(end):
            try:
                return parse(value)
            except (KeyError, ValueError):  # no number, or no unit: who checks the type says so
                return value
    return value


def _accepted(field: dataclasses.Field) -> tuple[type, ...]:
    if field.default is None:
        return (str if field.type.startswith("str") else int, type(None))
    return (float, int) if isinstance(field.default, float) else (type(field.default),)


KNOBS = {field.name: _accepted(field) for field in dataclasses.fields(Config)}
