"""The samples table: every registered op has at least one entry."""

import importlib
import pkgutil
from pathlib import Path

SAMPLES = [
    sample
    for module in sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]))
    if module.startswith("samples_")
    for sample in importlib.import_module(f"tests.ops.{module}").SAMPLES
]
