"""What a stage asks another worker for at once."""

from daskvars.remote.exchange import Wanted
from daskvars.remote.task_outputs import RemoteOutput
from daskvars.remote.tasks.stage_tasks import ALONG_BYTES, GROUP_BYTES, grouped


def wanted(owner, nbytes):
    return Wanted(RemoteOutput("key", owner, 0), None, nbytes)


def test_pieces_are_of_some_megabytes_and_of_one_owner_each():
    large = GROUP_BYTES // 2 + 1
    remote = [(wanted(owner, large), n) for n, owner in enumerate(["a", "b", "a", "b"])]
    assert [slots for _, slots in grouped(remote)] == [[0], [1], [2], [3]]


def test_what_is_small_goes_along_with_what_is_asked_for_before():
    sizes = [ALONG_BYTES, 2 * GROUP_BYTES, ALONG_BYTES, ALONG_BYTES + 1, 1]
    remote = [(wanted("a", nbytes), n) for n, nbytes in enumerate(sizes)]
    assert [slots for _, slots in grouped(remote)] == [[0], [1, 2], [3, 4]]
