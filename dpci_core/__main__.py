"""`python -m dpci_core`: the command line, which is `cli.main`."""

import sys

from dpci_core.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
