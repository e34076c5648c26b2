"""The error tree: TensorFlow's classes and codes, pickling, and the strict-restore report."""

from __future__ import annotations

import pickle

import pytest

from daskvars import errors

CODES = {
    "CancelledError": 1,
    "UnknownError": 2,
    "InvalidArgumentError": 3,
    "DeadlineExceededError": 4,
    "NotFoundError": 5,
    "AlreadyExistsError": 6,
    "PermissionDeniedError": 7,
    "ResourceExhaustedError": 8,
    "FailedPreconditionError": 9,
    "AbortedError": 10,
    "OutOfRangeError": 11,
    "UnimplementedError": 12,
    "InternalError": 13,
    "UnavailableError": 14,
    "DataLossError": 15,
    "UnauthenticatedError": 16,
}
ALL = [
    value
    for value in vars(errors).values()
    if isinstance(value, type) and issubclass(value, errors.OpError)
]


@pytest.mark.parametrize(("name", "code"), CODES.items())
def test_tensorflow_constructor_and_code(name, code):
    cls = getattr(errors, name)
    error = cls({"name": "n"}, "op", "what happened")
    assert (error.node_def, error.op, error.message) == ({"name": "n"}, "op", "what happened")
    assert str(error) == "what happened"
    assert error.error_code == code
    assert errors.exception_type_from_error_code(code) is cls
    assert errors.error_code_from_exception_type(cls) == code


def test_op_error_takes_a_code():
    assert errors.OpError(None, None, "m", errors.ABORTED).error_code == 10
    assert errors.OpError(None, None, "m").error_code == errors.UNKNOWN


@pytest.mark.parametrize("cls", ALL)
def test_run_errors_are_not_programming_errors(cls):
    wrong = (ValueError, TypeError, KeyError, IndexError, OSError, StopIteration, AttributeError)
    assert not issubclass(cls, wrong)


def test_builtin_bases():
    assert issubclass(errors.NotFoundError, LookupError)
    assert issubclass(errors.ResourceExhaustedError, MemoryError)
    assert issubclass(errors.UnimplementedError, NotImplementedError)
    assert issubclass(errors.LayoutError, ValueError)
    assert issubclass(errors.PlacementError, errors.InvalidArgumentError)
    assert issubclass(errors.CorruptChunkError, errors.StoreError)
    assert issubclass(errors.StoreError, errors.DataLossError)


@pytest.mark.parametrize("name", CODES)
def test_pickles_without_the_operation(name):
    class Operation:
        name = "scope/op"

        def __reduce__(self):
            raise AssertionError("the graph must not travel")

    error = getattr(errors, name)(None, Operation(), "message")
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is type(error)
    assert (back.op, back.message, back.error_code) == ("scope/op", "message", error.error_code)
    assert str(back) == "message"


def test_corrupt_chunk_names_variable_and_chunk():
    made = errors.CorruptChunkError("a/w", [1, 0], "crc32c differs")
    error = pickle.loads(pickle.dumps(made))
    assert (error.variable, error.chunk, error.reason) == ("a/w", (1, 0), "crc32c differs")
    assert "'a/w'" in str(error) and "(1, 0)" in str(error) and "crc32c differs" in str(error)
    assert error.error_code == errors.DATA_LOSS


def test_restore_lists_everything_at_once():
    missing = [f"layer_{i}/kernel" for i in range(12, 16)]
    error = errors.restore_error(
        missing,
        ["layer_12/kernle", "extra"],
        [("b", (3,), (4,))],
        [("c", "float32", "int32")],
        ["layer_12/kernle", "extra", "b", "c"],
        "ckpt/model-7",
    )
    text = str(error)
    assert isinstance(error, errors.NotFoundError) and isinstance(error, errors.RestoreError)
    assert error.error_code == errors.NOT_FOUND
    for part in [
        *missing,
        "extra",
        "ckpt/model-7",
        "b: wanted (3,), stored (4,)",
        "c: wanted float32, stored int32",
        "did you mean 'layer_12/kernle'",
    ]:
        assert part in text
    back = pickle.loads(pickle.dumps(error))
    assert back.missing == tuple(missing) and back.shapes == (("b", (3,), (4,)),)
    assert str(back) == text


@pytest.mark.parametrize(
    "difference",
    [{"shapes": [("v", (4,), (3,))]}, {"dtypes": [("v", "int32", "int64")]}, {"unexpected": ["v"]}],
)
def test_restore_without_missing_names_is_an_invalid_argument(difference):
    given = {"missing": [], "unexpected": [], "shapes": [], "dtypes": [], **difference}
    error = errors.restore_error(**given, available=["v"], source="s")
    assert isinstance(error, errors.InvalidArgumentError)
    assert not isinstance(error, errors.NotFoundError)


def test_restore_needs_a_difference():
    with pytest.raises(ValueError, match="at least one difference"):
        errors.restore_error([], [], [], [], ["v"], "s")


@pytest.mark.slow
def test_restore_of_many_names_stays_quick():
    names = [f"scope_{i}/layer/kernel" for i in range(3000)]
    error = errors.restore_error([f"{name}/missing" for name in names], [], [], [], names, "s")
    assert len(error.missing) == 3000 and "scope_2999/layer/kernel/missing" in str(error)


def test_near_matches():
    assert errors.near_matches("kernel", ["kernel", "kernels", "bias"]) == ["kernels"]
    assert errors.did_you_mean("zzz", ["kernel"]) == ""
    assert errors.did_you_mean("__path__", ["__paths__"]) == "", "imports ask for it all the time"
