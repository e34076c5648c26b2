"""Tests of samples, as one test for all samples of an op.

One for each would take longer to be started and told of than many of them take. What is said is the
same: all samples of the op are tried, and each that fails says what failed and which it is.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests import case
from tests.ops.sample import Sample
from tests.ops.samples import SAMPLES


def each_op(test: Callable[..., Any]) -> Callable[..., Any]:
    """Have a test of a sample tried on all samples, in one test for each op."""
    return each_op_that(lambda sample: True)(test)


def each_op_that(condition: Callable[[Sample], Any]) -> Callable[..., Any]:
    """Have a test of a sample tried on the samples that it is about, in one test for each op."""
    of_ops: dict[str, list[Sample]] = {}
    for sample in filter(condition, SAMPLES):
        of_ops.setdefault(sample.type, []).append(sample)
    mark = pytest.mark.parametrize("samples", of_ops.values(), ids=of_ops)
    return lambda test: mark(of_samples(test))


def of_samples(test: Callable[..., Any]) -> Callable[..., None]:
    """Return a test of some samples, given one of a sample.

    It is skipped if each of them is. Fixtures are of all of them together.
    """

    @functools.wraps(test)
    def tried(samples: Sequence[Sample], **fixtures: Any) -> None:
        skipped, failed = [], []
        for sample in samples:
            try:
                with case.of(sample.name):
                    test(sample, **fixtures)
            except pytest.skip.Exception as skip:
                skipped.append(skip)
            except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - raised below
                failed.append(error)
        if len(failed) == 1:
            raise failed[0]
        if failed:
            raise BaseExceptionGroup(f"{len(failed)} of {len(samples)} samples", failed)
        if len(skipped) == len(samples):
            raise skipped[0]

    signature = inspect.signature(test)
    (_, *others) = signature.parameters.values()
    given = inspect.Parameter("samples", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    tried.__signature__ = signature.replace(parameters=[given, *others])
    return tried
