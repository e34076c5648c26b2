"""The samples table: every registered op has at least one entry.

A file here has the samples of a family in a list of that name; those of neural networks have a
room, ``nn``.
"""

import importlib
import pkgutil

SAMPLES = [
    sample
    for module in pkgutil.walk_packages(__path__, f"{__name__}.")
    if not module.ispkg
    for sample in importlib.import_module(module.name).SAMPLES
]
