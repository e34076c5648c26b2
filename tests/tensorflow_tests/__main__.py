"""The command: ``python -m tests.tensorflow_tests GROUP [-k PART_OF_A_NAME]``."""

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

from tests.tensorflow_tests.groups import GROUPS
from tests.tensorflow_tests.running import rate, run_group

VARIABLE = "DASKVARS_TENSORFLOW_TESTS"


def main() -> None:
    """Run a group and print its rate and what failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.tensorflow_tests")
    parser.add_argument("group", choices=GROUPS)
    parser.add_argument("-k", metavar="PART", default="", help="of the names of tests")
    asked = parser.parse_args()
    root = os.environ.get(VARIABLE)
    if not root:
        parser.error(f"{VARIABLE} names no checkout of TensorFlow 1.8")
    found = []
    for outcome in run_group(asked.group, Path(root).resolve(), asked.k):
        found.append(outcome)
        if outcome.what == "failed":
            print(f"{outcome.test}: {outcome.reason}", flush=True)
    left_out = Counter(outcome.reason for outcome in found if outcome.what == "left out")
    for reason, count in left_out.most_common():
        print(f"left out, {count}: {reason}")
    print(rate(asked.group, found))
    sys.exit(any(outcome.what == "failed" for outcome in found))


if __name__ == "__main__":
    main()
