"""What is imported is not looked through by the garbage collector, and garbage still is."""

import subprocess
import sys

import pytest

from tests import fresh

pytestmark = pytest.mark.slow
PROGRAM = """
import gc, sys, weakref
from daskvars.surface.loading import importing

class Knot:
    def __init__(self):
        self.itself = self

gc.freeze() if sys.argv[1:] else gc.unfreeze()
before = gc.get_freeze_count()
with importing():
    known = weakref.ref(Knot())
    print(gc.isenabled())
print(gc.isenabled(), gc.get_freeze_count() == before)
gc.collect(1)  # the young and the middle-aged
print(known() is None)
gc.collect()
print(known() is None)
"""


def test_what_was_made_is_old_and_its_garbage_is_found_later():
    assert fresh.run(PROGRAM).split() == ["False", "True", "True", "False", "True"]


def test_what_a_program_has_frozen_stays_frozen():
    assert fresh.run(PROGRAM, "frozen").split() == ["False", "True", "True", "True", "True"]


@pytest.mark.parametrize("first", ["import daskvars as dv; dv.constant(1)", "import daskvars.v1"])
def test_slices_of_dask_arrays_leave_the_collector_on(first):
    sliced = "import dask.array, gc; dask.array.ones(4, chunks=2)[1:]; assert gc.isenabled()"
    done = subprocess.run([sys.executable, "-c", f"{first}; {sliced}"])  # Dask is imported anew
    assert done.returncode == 0
