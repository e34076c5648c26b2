"""Places for plans: workers of which all are as good."""

from dataclasses import dataclass


@dataclass
class Anywhere:
    """Workers that can spare, and wait for, so many bytes for a task."""

    most_task_bytes: float = float("inf")
    most_awaited_bytes: float = float("inf")
    spare_bytes: float = float("inf")
    why_anywhere: str = "anywhere"

    def of_device(self, device, name):
        return "", ""

    def of_variable(self, key, device, spec, layout):
        return ""
