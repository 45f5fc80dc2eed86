"""The package as a wheel has it, in a folder of links.

Pyright and import-linter follow no import hook, so that in a checkout they would not find
`coterie.dsl`. `python -m tests.law.view` writes the links that both are configured to read.
"""

import shutil
from pathlib import Path

from coterie.checkout import ROOMS

ROOT = Path(__file__).resolve().parents[2]
VIEW = ROOT / ".venv" / "view"


def link_package(view: Path) -> None:
    """Replace a folder by one with `coterie`, its modules and its rooms."""
    shutil.rmtree(view, ignore_errors=True)
    package = view / "coterie"
    package.mkdir(parents=True)
    for part in (*(ROOT / "coterie").iterdir(), *(ROOT / room for room in ROOMS)):
        if part.name != "__pycache__":
            (package / part.name).symlink_to(part)


if __name__ == "__main__":
    link_package(VIEW)
