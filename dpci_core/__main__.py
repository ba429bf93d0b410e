"""`python -m dpci_core`: the command line, which is `cli.main`."""

import sys
from collections.abc import Sequence

from dpci_core.base.extras import ExtraNeededError, named_extras


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; exit code 1, and which extra to get, where a package is missing."""
    try:
        with named_extras():
            from dpci_core.cli.main import main as run

            return run(arguments)
    except ExtraNeededError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
