"""Write the bill of materials: an environment with all extras, as CycloneDX lists it."""

import os
import sys
from pathlib import Path

from tests.release.build import BuildFailed, run
from tests.release.licences import Bill


def bill_of(uv: str, root: Path, work: Path, out: Path, wheel: Path, pinned: Path) -> Bill:
    """Install the wheel with all that it may need, by hashes, and list it.

    Raises:
        BuildFailed: A package has another hash, or the tool is not installed.
    """
    python = installed(uv, work / "everything", wheel, pinned)
    tool = Path(sys.executable).with_name("cyclonedx-py")
    if not tool.exists():
        raise BuildFailed("cyclonedx-py is not installed; use `make release`")
    file = out / f"{pinned.name.removesuffix('-requirements.txt')}.cdx.json"
    date = run(("git", "log", "-1", "--format=%ct"), root).strip()
    options = ("--gather-license-texts", "--output-reproducible", "--short-PURLs", "--validate")
    about = ("--pyproject", root / "pyproject.toml", "--output-file", file)
    run((tool, "environment", *options, *about, python), root, more={"SOURCE_DATE_EPOCH": date})
    text = file.read_text(encoding="utf-8")
    if str(work) in text or str(root) in text:
        raise BuildFailed("the bill of materials names folders of this machine")
    return Bill.model_validate_json(text)


def installed(uv: str, folder: Path, wheel: Path, pinned: Path) -> Path:
    """Make a fresh environment of exactly these versions and files; return its Python."""
    python = folder / "bin" / "python"
    run(
        (uv, "venv", "--quiet", "--python", os.path.realpath(sys.executable), folder), folder.parent
    )
    quiet = (uv, "pip", "install", "--quiet", "--python", python)
    run((*quiet, "--require-hashes", "--requirement", pinned), folder.parent)
    run((*quiet, "--no-deps", wheel), folder.parent)
    run((uv, "pip", "check", "--quiet", "--python", python), folder.parent)
    return python
