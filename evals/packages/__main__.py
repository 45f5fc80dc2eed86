"""Write the suites over real packages into a folder: `python -m evals.packages FOLDER`."""

import argparse
import sys
from pathlib import Path

from evals.packages.planting import CannotPlant, write_suites


def main() -> int:
    """Write the folder, or say why the defects do not fit."""
    parser = argparse.ArgumentParser(prog="python -m evals.packages", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="made if it does not exist")
    folder: Path = parser.parse_args().folder
    try:
        write_suites(folder)
    except CannotPlant as error:
        parser.exit(1, f"{error}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
