"""Copy installed packages, and plant defects in the copies."""

import importlib.util
import shutil
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

SUITES: Final = Path(__file__).parent / "suites"
"""The suites without defects, their scripts, and the project around the packages."""
PACKAGES: Final = ("mdurl", "protego")
NAMES: Final = ("agent_loop_packages", "development_packages")


class Defect(NamedTuple):
    """One line of a package, made wrong."""

    case: str
    """The name of the case in each suite."""
    file: str
    right: str
    """A part of the line that occurs once in the file."""
    wrong: str


DEFECTS: Final = (
    Defect("an escape at the end of a text", "mdurl/_encode.py", "i + 2 < l", "i + 3 < l"),
    Defect("the two sides of an asterisk", "protego/_urlpattern.py", "end_pos >= pos and ", ""),
)


class CannotPlant(Exception):
    """The installed package has other lines than those that a defect changes."""


def write_suites(folder: Path) -> None:
    """Write the suites with their defects, and the project with the packages, into a folder.

    Raises:
        CannotPlant: An installed package lacks the line of a defect.
    """
    shutil.copytree(SUITES, folder, dirs_exist_ok=True)
    copy_packages(folder / "packages")
    for name in NAMES:
        file = folder / f"{name}.yml"
        suite: dict[str, Any] = yaml.safe_load(file.read_text())
        for case in suite["cases"]:
            [defect] = [one for one in DEFECTS if one.case == case["name"]]
            case["files"] = {defect.file: planted(defect.file)}
        file.write_text(yaml.safe_dump(suite, sort_keys=False, allow_unicode=True))


def copy_packages(folder: Path) -> None:
    """Copy the source of the packages into a folder."""
    for name in PACKAGES:
        source = shutil.ignore_patterns("__pycache__")
        shutil.copytree(_installed(name), folder / name, ignore=source, dirs_exist_ok=True)


def original(file: str) -> str:
    """Return the text of a file as it is installed."""
    package, _, rest = file.partition("/")
    return (_installed(package) / rest).read_text()


def planted(file: str) -> str:
    """Return the text of a file with its defect.

    Raises:
        CannotPlant: The installed file lacks the line, or has it twice.
    """
    [defect] = [one for one in DEFECTS if one.file == file]
    return plant(original(file), defect)


def plant(text: str, defect: Defect) -> str:
    """Return a text with a defect.

    Raises:
        CannotPlant: The text lacks the line, or has it twice.
    """
    if text.count(defect.right) != 1:
        raise CannotPlant(f"{defect.file} as installed has no single line with {defect.right!r}")
    return text.replace(defect.right, defect.wrong)


def _installed(package: str) -> Path:
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise CannotPlant(f"the package {package} is not installed; run `make setup`")
    return Path(found.origin).parent
