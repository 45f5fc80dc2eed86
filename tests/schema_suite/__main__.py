"""Judge every case of the official JSON Schema Test Suite; exit 1 where a verdict is wrong.

    make schemas

The source distribution of the package jsonschema carries the suite. Its version and its digest are
those of `uv.lock`; pip fetches it into a temporary folder. Without the optional tests of formats.
"""

import json
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.schema_suite.verdicts import DRAFTS, Case, Verdict, draft_schema, judge
from tests.support.places import ROOT

PACKAGE = "jsonschema"
MAX_REFUSED = {"draft2020-12": 180, "draft2019-09": 180, "draft7": 110}
"""Schemas that may be refused; each for a reason that is listed."""
MIN_SHOWN = 250
"""Values that must be accepted, and refused, in each draft: it was not all refused."""


def requirement() -> str:
    """Return the source distribution that `uv.lock` pins, as pip reads it."""
    locked = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    [package] = [one for one in locked if one["name"] == PACKAGE]
    return f"{PACKAGE}=={package['version']} --hash={package['sdist']['hash']}\n"


def fetch(folder: Path) -> Path:
    """Download the source distribution; pip refuses another digest."""
    venv.create(folder / "pip", with_pip=True)
    (folder / "wanted.txt").write_text(requirement())
    pip = [str(folder / "pip" / "bin" / "python"), "-m", "pip", "download", "--quiet"]
    source = ["--no-deps", "--no-binary", PACKAGE, "--require-hashes", "-r", "wanted.txt"]
    subprocess.run([*pip, *source, "--dest", "got"], cwd=folder, check=True)
    [archive] = (folder / "got").glob("*.tar.gz")
    return archive


def cases(archive: Path) -> Iterator[tuple[str, Case]]:
    """Yield each case of each draft; a schema says its draft, as the suite's folder does."""
    with tarfile.open(archive) as packed:
        for member in packed:
            folder, _, file = member.name.partition("/json/tests/")[2].partition("/")
            read = packed.extractfile(member) if member.isfile() else None
            if folder not in DRAFTS or not file.endswith(".json") or "format/" in file:
                continue
            assert read is not None
            found: list[dict[str, Any]] = json.load(read)
            for one in found:
                verdicts = tuple(
                    Verdict(test["data"], test["valid"], test["description"])
                    for test in one["tests"]
                )
                schema = draft_schema(one["schema"], folder)
                yield folder, Case(f"{file}: {one['description']}", schema, verdicts)


def main() -> int:
    """Print what the checker says of each draft."""
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        found = list(cases(fetch(Path(folder))))
    for draft in DRAFTS:
        of_draft = [case for folder, case in found if folder == draft]
        judged = judge(of_draft)
        valid, invalid, refused = judged.shown[True], judged.shown[False], len(judged.refused)
        sys.stdout.write(
            f"{draft}: {len(of_draft)} schemas, {refused} refused; {valid} values accepted, "
            f"{invalid} refused; {len(judged.wrong)} wrong\n"
        )
        problems += judged.wrong + judged.unlisted
        if min(valid, invalid) < MIN_SHOWN or refused > MAX_REFUSED[draft]:
            problems.append(f"{draft}: too much is refused")
    sys.stdout.write("".join(f"{one}\n" for one in problems))
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
