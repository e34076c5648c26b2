"""ClusterSpec: which tasks a cluster has, as jobs of numbered addresses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass
class JobDef:
    """A job of a cluster as plain data: its name, and the addresses of its tasks by number.

    Args:
      name: "worker", say.
      tasks: number of a task -> its address, "host:port".

    Source: TensorFlow 1.15, ``tf.train.JobDef``.

    >>> tf.train.JobDef(name="worker", tasks={0: "localhost:2222"}).tasks[0]
    'localhost:2222'
    """

    name: str = ""
    tasks: dict[int, str] = field(default_factory=dict)


@dataclass
class ClusterDef:
    """A cluster as plain data: its jobs, in the order of their names.

    Args:
      job: a list of `JobDef`.

    Source: TensorFlow 1.15, ``tf.train.ClusterDef``.

    >>> spec = tf.train.ClusterSpec({"ps": ["localhost:2221"], "worker": ["localhost:2222"]})
    >>> [job.name for job in spec.as_cluster_def().job]
    ['ps', 'worker']
    """

    job: list[JobDef] = field(default_factory=list)


class ClusterSpec:
    """The tasks of a cluster, organized into jobs.

    Args:
      cluster: job names to lists of addresses, or to dicts from task numbers to addresses; or a
        `ClusterSpec` or `ClusterDef`.

    Raises:
      TypeError: it is none of these, or a name or address is no string.

    Source: TensorFlow 1.15, ``tf.train.ClusterSpec``.

    >>> cluster = ClusterSpec({"ps": ["ps0:2222"], "worker": {1: "worker1:2222"}})
    >>> cluster.num_tasks("worker"), cluster.task_address("worker", 1)
    (1, 'worker1:2222')
    """

    def __init__(self, cluster: Any) -> None:
        if isinstance(cluster, ClusterSpec):
            cluster = cluster.as_dict()
        elif isinstance(cluster, ClusterDef):
            cluster = {job.name: job.tasks for job in cluster.job}
        if not isinstance(cluster, Mapping):
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network "
                f"addresses, a ClusterSpec or a ClusterDef, not {type(cluster).__name__}"
            )
        self._jobs: dict[str, dict[int, str]] = {
            _text(job, "Job name"): _tasks(job, tasks) for job, tasks in cluster.items()
        }

    @property
    def jobs(self) -> list[str]:
        """The names of the jobs."""
        return list(self._jobs)

    def num_tasks(self, job_name: str) -> int:
        """Return how many tasks a job has. Raises ValueError when there is no such job."""
        return len(self._job(job_name))

    def task_indices(self, job_name: str) -> list[int]:
        """Return the numbers of a job's tasks. Raises ValueError when there is no such job."""
        return sorted(self._job(job_name))

    def task_address(self, job_name: str, task_index: int) -> str:
        """Return the address of a task. Raises ValueError when there is no such job or task."""
        tasks = self._job(job_name)
        if task_index not in tasks:
            raise ValueError(
                f"No task with index {task_index!r} in job {job_name!r}, which has {sorted(tasks)}"
            )
        return tasks[task_index]

    def job_tasks(self, job_name: str) -> list[str | None]:
        """Return the addresses of a job at their tasks' numbers, None where a number is missing.

        Raises:
          ValueError: there is no such job.
        """
        tasks = self._job(job_name)
        return [tasks.get(number) for number in range(max(tasks, default=-1) + 1)]

    def as_dict(self) -> dict[str, Any]:
        """Return job names to lists of addresses, to dicts where numbers are missing."""
        return {
            job: self.job_tasks(job) if tasks and max(tasks) + 1 == len(tasks) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self) -> ClusterDef:
        """Return the cluster as plain data."""
        return ClusterDef(
            [
                JobDef(job, {number: tasks[number] for number in sorted(tasks)})
                for job, tasks in sorted(self._jobs.items())
            ]
        )

    def _job(self, job_name: str) -> dict[int, str]:
        if job_name not in self._jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}. It has {self.jobs}.")
        return self._jobs[job_name]

    def __bool__(self) -> bool:
        return bool(self._jobs)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Mapping):
            other = ClusterSpec(other)
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        jobs = self.as_dict()
        return f"ClusterSpec({{{', '.join(f'{job!r}: {jobs[job]!r}' for job in sorted(jobs))}}})"


def _tasks(job: Any, tasks: Any) -> dict[int, str]:
    if isinstance(tasks, list | tuple):
        tasks = dict(enumerate(tasks))
    if not isinstance(tasks, Mapping):
        raise TypeError(
            f"The tasks for job {job!r} must be a list or a dictionary from integers to strings."
        )
    return {int(number): _text(address, "Task address") for number, address in tasks.items()}


def _text(value: Any, what: str) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError(f"{what} {value!r} must be bytes or unicode")
    return value
