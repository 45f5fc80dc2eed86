"""`python -m coterie`."""

import sys

from coterie.cli import main

if __name__ == "__main__":
    sys.exit(main())
