"""Every tracked file was written for this project: no text, code or data of others comes back."""

import base64
import csv
import hashlib
import importlib.metadata
import re
import subprocess
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.law.sources import ROOT

LICENSE = "LICENSE"
"""The one text of others that a tracked file may be: the terms of this project."""
NAMES_OF_LICENCES = "tests/release/licences.toml"
"""It names the licences of packages, as their classifiers write them."""
LOCKS = (
    *("uv.lock", "bench/openai_agents/uv.lock"),
    *("tests/doors/package-lock.json", "tests/stand_in/package-lock.json"),
    "tests/doors/temporal/package-lock.json",
)
"""What package managers write."""
CODE = (".py", ".md", ".toml", ".sql")
"""Files of these kinds may stand anywhere; all others are data."""
DATA = (
    ".ci",  # how CI calls make
    "activities/tool_functions",  # the contracts of the tool functions, generated from their types
    "bench/journey",  # the team whose journeys are counted
    "config",  # personas, teams and scripts that ship
    "coterie/ui",  # the style of the terminal UI
    "docs/captures",  # screens of our own runs
    "docs/schemas",  # generated from our models
    "evals",  # suites and their scripts
    "examples",  # projects that the docs show
    "gateway/console",  # the templates and the style of our own pages
    "findings",  # scripts that show how outside software behaves
    "tests/chaos",  # projects that die, with corpora of our own
    "tests/data",  # documents, changes and reports of our own
    "tests/doors",  # an OIDC provider in JavaScript, and what npm installs for it
    "tests/mutants",  # mutants that mean the same
    "tests/replay",  # recorded runs of our own plans
    "tests/stand_in",  # what npm installs, by name
    "tests/teams",  # tests of the teams that ship
)
NOTICE = re.compile(
    r"copyright\s*(?:\(c\)|\N{COPYRIGHT SIGN}|[12]\d{3})|\(c\)\s*[12]\d{3}|all rights reserved"
    r"|permission is hereby granted|redistribution and use in source|spdx-license-identifier"
    r"|licensed under (?!the apache license 2\.0\.\n)|creative commons|public license",
    re.IGNORECASE,
)
"""What a licence, or a header that names one, says."""
WORDS = (
    "copyright",
    "(c)",
    "rights reserved",
    "hereby granted",
    "redistribution",
    "spdx",
    "licensed under",
    "creative commons",
    "public license",
)
"""One of them stands in each notice; to look for them first is a hundred times faster."""
SAME_LINES = 6
"""Lines in a row, without short ones, that two files have in common only if one copied them."""
SHORT = 10
MIN_RUN = 150
"""Characters of such lines; the keywords of a standard, one on each line, have fewer."""
MAX_SOURCE = 200_000
"""Bytes of a package's source that is compared line by line: small ones are those that get copied.
The description of every package is."""


@cache
def tracked() -> tuple[str, ...]:
    """The paths of all tracked files that exist, without the locks."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    names = listed.stdout.decode().rstrip("\0").split("\0")
    return tuple(name for name in names if name not in LOCKS and (ROOT / name).is_file())


@cache
def texts() -> Mapping[str, str]:
    """`{path: text}` of the tracked files that are text."""
    found: dict[str, str] = {}
    for name in tracked():
        data = (ROOT / name).read_bytes()
        if b"\0" not in data:
            found[name] = data.decode(errors="replace")
    return found


def notice_in(text: str) -> str | None:
    """Return the words of a licence that a text has."""
    lowered = text.lower()
    if not any(word in lowered for word in WORDS):
        return None
    found = NOTICE.search(text)
    return None if found is None else found[0]


class Package(NamedTuple):
    """An installed package."""

    name: str
    folder: Path
    """What the paths of its files are relative to."""
    description: str
    files: tuple[tuple[str, str, int], ...]
    """Path, SHA-256 as in RECORD, and size of each file."""


@cache
def packages() -> tuple[Package, ...]:
    """What is installed here, without this project."""
    found: list[Package] = []
    for one in importlib.metadata.distributions():
        rows = csv.reader((one.read_text("RECORD") or "").splitlines())
        files = tuple(
            (path, hashed.removeprefix("sha256="), int(size)) for path, hashed, size in rows if size
        )
        folder, description = Path(str(one.locate_file(""))), one.read_text("METADATA") or ""
        if (name := one.name) != "coterie":
            found.append(Package(name, folder, description, files))
    return tuple(found)


@cache
def digests() -> dict[str, str]:
    """`{sha256: file}` of every installed file with more than a line."""
    return {
        hashed: f"{one.name}: {path}"
        for one in packages()
        for path, hashed, size in one.files
        if size > MIN_RUN
    }


def runs_of_lines(text: str) -> Iterator[tuple[str, ...]]:
    """Yield each run of lines that a copy would have, whatever its indentation."""
    lines = [line for one in text.splitlines() if len(line := one.strip()) >= SHORT]
    for run in zip(*(lines[start:] for start in range(SAME_LINES)), strict=False):
        if sum(map(len, run)) >= MIN_RUN:
            yield run


def installed_texts() -> Iterator[tuple[str, str]]:
    """Yield the description of each package, and the source of each small one."""
    for one in packages():
        yield f"{one.name}: its description", one.description
        sources = [(path, size) for path, _, size in one.files if path.endswith(".py")]
        if sum(size for _, size in sources) <= MAX_SOURCE:
            for path, _ in sources:
                yield f"{one.name}: {path}", (one.folder / path).read_text(errors="replace")


def digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def test_data_stands_in_the_folders_that_the_list_explains() -> None:
    data = [name for name in tracked() if "/" in name and not name.endswith((*CODE, "py.typed"))]
    unlisted = [
        name
        for name in data
        if not name.startswith(tuple(f"{folder}/" for folder in DATA))
        and not Path(name).name.startswith(".git")
    ]
    assert unlisted == [], "write it yourself, and say in DATA what it is"
    idle = [one for one in DATA if not any(name.startswith(f"{one}/") for name in data)]
    assert idle == [], "no data stands there any more"


def test_no_file_but_the_license_has_a_notice_of_somebodys_rights() -> None:
    here = Path(__file__).relative_to(ROOT).as_posix()
    found = [
        f"{name}: {notice}"
        for name, text in texts().items()
        if name not in (LICENSE, NAMES_OF_LICENCES, here) and (notice := notice_in(text))
    ]
    assert found == []


def test_no_file_is_that_of_an_installed_package() -> None:
    installed = digests()
    same = {
        name: installed.get(digest((ROOT / name).read_bytes()))
        for name in tracked()
        if name != LICENSE
    }
    assert {name: file for name, file in same.items() if file} == {}


def test_no_file_has_lines_of_an_installed_package() -> None:
    own = {run: name for name, text in texts().items() for run in runs_of_lines(text)}
    copied = {
        f"{own[run]} from {source}"
        for source, text in installed_texts()
        for run in runs_of_lines(text)
        if run in own and own[run] != LICENSE
    }
    assert copied == set()


@pytest.mark.parametrize(
    "notice",
    [
        "Copyright (c) 2031 Ann Author",
        "# Copyright 2031 Ann Author",
        "\N{COPYRIGHT SIGN}".join(("Copyright ", " Ann")),
        "Ann (C) 2031",
        "All Rights Reserved.",
        "Permission is hereby granted, free of charge",
        "SPDX-License-Identifier: MIT",
        "This page is licensed under CC BY 4.0",
    ],
)
def test_a_notice_is_found(notice: str) -> None:
    assert notice_in(f"first\n{notice}\nlast")
    assert notice_in("Licensed under the Apache License 2.0.\n") is None


def test_a_copy_is_found_whatever_its_indentation() -> None:
    _, text = next(one for one in installed_texts() if one[0].startswith("mdurl: mdurl/_encode"))
    [name] = [name for name in digests().values() if name.startswith("mdurl: mdurl/_encode")]
    assert digests()[digest(text.encode())] == name
    copy = chain.from_iterable((f"      {line}", "") for line in text.splitlines())
    assert set(runs_of_lines("\n".join(copy))) == set(runs_of_lines(text))
