"""daskvars: TensorFlow's variables, scopes, sessions and savers as a dataflow engine on Dask.

Eager code (``import daskvars as dv``) and TensorFlow-1 graphs (``import daskvars.v1 as tf``) are
two ways into one engine. The layers, lowest first; a module imports only from those below it:

- foundation: ``errors``, ``config`` (every knob, with its default and the reason), ``surface`` (how
  functions, records and names are declared), ``dtypes``, ``shape_arithmetic``, ``chunk_grid``,
  ``connected_parts``, ``idle_threads``, ``shapes``, ``backend`` (NumPy or CuPy), ``device_array``
  (in a GPU's memory), ``versioned`` (changed in place inside)
- ``graph`` (what a program is), ``kernels`` (what workers compute), ``state`` (values by key,
  version and chunk, in memory and in Zarr): three siblings, blind to one another
- ``ops``: the catalogue; an op's shape rule, access pattern, kernel and gradient are neighbours;
  ``remote``: what runs inside workers and the scheduler, and all that Dask does not document
- ``backpropagation``, ``variables``, ``lowering`` (graph and fetches to a plan of few Dask tasks)
- ``execution``: sessions, eager code and compiled functions on one ``engine``, whose plans run in
  this process (``local``) or on workers (``cluster``)
- ``train``: optimizers, schedules, checkpoints; ``layers``: variables and ops in one, and cells;
  ``losses``, ``metrics``, ``distributions``; ``summary``: event files; ``data``: batches
- ``nn``, ``initializers``, ``namespaces``: names of ops and of layers by subject; ``observe`` and
  ``inspect_checkpoint``: what ran and what is stored, for people
- this module, ``names`` and ``v1``: the public names; ``__main__``: the command line

Words, beside TensorFlow's *graph*, *operation*, *tensor*, *variable* (a handle: it holds no value):

- *chunk*: one block of a variable or tensor, the unit of storage and parallelism; *layout*: how an
  array is cut into chunks (Dask's ``chunks``); *rechunk*: give it another layout.
- *store*: where values are kept, by key; *version*: a store's whole state after a commit, numbered;
  *snapshot*: a version written to Zarr, complete when its manifest is; *checkpoint*: a snapshot
  under a name of its own. A checkpoint is *restored*, a store *rolled back*; what is read from or
  written to an array is a *selection*. *Shard*: a variable that holds a part of a partitioned one.
- *program*: a graph and fetches made functional, what lowering's passes work on; *subgraph*: the
  program of a branch or loop. *Access pattern*: which blocks of its inputs an op needs (``Source``,
  ``Elementwise``, ...). *Region*: operations fused into one task for each block; its *registers*
  are the values between its kernel calls, its *inputs* come from other regions or from *leaves*
  (feeds, state, constants, random keys). *Plan*: the frozen result, for one signature;
  *executable*: fetches that are run through cached plans; *run*: one execution of a plan. *Parts*:
  what a batch is cut into for parallel work; *stage*: how many times data crossed between grids of
  blocks. *Place*: a device, and where among its workers the first block goes; *placement* chooses
  it.
- *lease*: the right to read blocks, which so are not updated in place; *split*: a region cut into
  what may fail and the *in-place* updates that follow it.
- *in-flight run*: sent to a cluster and not known to be finished; *binding* gives its tasks the
  keys of the newest version; *epoch*: counts how often runs of a session were undone; *result
  future*: a result that is fetched when it is looked at. A *stale* read may be of a version before
  the newest (``consistency="async"``). *Owner*: the worker that a chunk is placed on; *replica*:
  another copy.
- *seal*: write the present version to the store and let Dask forget its *lineage* (the tasks that
  would compute it again); *durable*: sealed. *Slot*: what an optimizer keeps for a variable.

Each package's docstring is its design note. A module is loaded when it is named (``dv.train``), the
functions and classes of ``names`` with the first of them; what only TensorFlow-1 programs call, by
importing ``v1``. So a worker, which sees tasks alone, loads what they need.

Examples in docstrings take ``import daskvars as dv``, ``import daskvars.v1 as tf`` and
``import numpy as np`` for done (``conftest``).
"""

import typing
from functools import cache as _cache
from importlib import import_module as _import_module
from pkgutil import iter_modules as _iter_modules

from daskvars.remote.main_guard import refuse_clusters_of_imports as _refuse_clusters_of_imports
from daskvars.surface.loading import importing as _importing, load_with as _load_with

__version__ = "0.1.0"

if typing.TYPE_CHECKING:
    from daskvars.names import *
    from daskvars.names import __all__ as __all__

# Name -> module.
_MODULES = {
    **{found.name: f"{__name__}.{found.name}" for found in _iter_modules(__path__)},
    "array_api": f"{__name__}.ops.protocols.array_api",
    **{
        name: f"{__name__}.namespaces.{name}_names"
        for name in (
            "bitwise",
            "debugging",
            "image",
            "linalg",
            "math",
            "quantization",
            "random",
            "sets",
            "signal",
            "sparse",
            "strings",
        )
    },
}
del _MODULES["__main__"]
_LOADED_WITH = {"profile": "observe"}  # function -> the module that it is loaded with


def _named(name: str) -> typing.Any:
    """Load what has a name: a module, or with one function or class all of them."""
    if name in _MODULES:
        value = _import_module(_MODULES[name])
        if hasattr(value, "__all__"):
            refuses = _import_module(f"{__name__}.surface.names_of_v1").refuses
            vars(value).setdefault("__getattr__", refuses(f"{__name__}.{name}", value.__all__))
    elif name in _LOADED_WITH:
        value = getattr(_named(_LOADED_WITH[name]), name)
    else:
        value = getattr(_names(), name)
    globals()[name] = value
    return value


if not typing.TYPE_CHECKING:
    __getattr__ = _named


@_cache
def _names() -> typing.Any:
    """Import all functions and classes."""
    with _importing():
        return _import_module(f"{__name__}.names")


def __dir__() -> list[str]:
    """Return the public names, whether they are loaded or not."""
    return _named("__all__")


@_load_with
def _load_names() -> None:
    _names()


@_load_with
def _load_modules() -> None:
    for name in __dir__():
        _named(name)


_refuse_clusters_of_imports()
