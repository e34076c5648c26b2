"""``python -m daskvars`` is the command line."""

import sys

from daskvars.cli import main

if __name__ == "__main__":
    sys.exit(main())
