"""tests/coverage.md and docs/hardening.md name tests that exist, and no row is missing."""

import ast
import re
from functools import cache

import pytest

from tests.law.sources import ROOT

TABLE = re.findall(
    r"^\| (S\d|C|T)-(\d{2,3}) \| [^|]+ \| ([^|]+) \|$",
    (ROOT / "tests/coverage.md").read_text(),
    re.MULTILINE,
)
PROOF = re.compile(r"`((?:config|docs|evals|examples|tests)/[^`]+)`")
HARDENING, _, CLASSES = (ROOT / "docs/hardening.md").read_text().partition("## Classes of defects")
PROMISES = re.findall(r"^\| (\d+) \| [^|]+ \| ([^|]+) \|$", HARDENING, re.MULTILINE)
CLASS_ROWS = re.findall(r"^\| .+ \|$", CLASSES, re.MULTILINE)[1:]
PROOFS = sorted(
    {proof for cells in (*TABLE, *PROMISES) for proof in PROOF.findall(cells[-1])}
    | {proof for row in CLASS_ROWS for proof in PROOF.findall(row)}
)
ROWS = {"S0": 98, "S1": 65, "S2": 73, "S3": 131, "S4": 93}


@pytest.mark.parametrize("seed", ROWS)
def test_every_row_is_there_once(seed: str) -> None:
    numbers = sorted(int(number) for one, number, _ in TABLE if one == seed)
    assert numbers == list(range(1, ROWS[seed] + 1))


def test_a_row_without_a_proof_says_why() -> None:
    without = [cell for *_, cell in TABLE if not PROOF.search(cell)]
    assert [one for one in without if not one.startswith(("open: ", "decided differently: "))] == []


def test_what_is_decided_differently_has_its_reason_in_one_table() -> None:
    different = {f"{seed}-{number}" for seed, number, cell in TABLE if "decided diff" in cell}
    page = (ROOT / "docs/original-designs.md").read_text()
    _, _, rest = page.partition("## What is decided differently, and why")
    rows = re.findall(r"^\| ([^|]+) \| [^|]+ \| [^|]+ \| ([^|]+) \|$", rest, re.MULTILINE)
    named = {row for cell, _ in rows for row in re.findall(r"[SCT]\d?-\d+", cell)}
    assert named == different


def test_no_file_that_ships_is_a_proof_of_itself() -> None:
    named = [(cell, PROOF.findall(cell)) for *_, cell in TABLE if not cell.startswith("decided ")]
    assert [cell for cell, proofs in named if proofs and all(map(is_config, proofs))] == []


def is_config(proof: str) -> bool:
    """Whether a proof is a file that ships, which nothing tests."""
    return proof.startswith("config/")


def test_every_item_of_the_hardening_page_has_a_proof() -> None:
    assert sorted({int(number) for number, cell in PROMISES if PROOF.search(cell)}) == [
        *range(1, 48)
    ]


def test_every_class_of_defects_has_a_proof() -> None:
    assert len(CLASS_ROWS) > 50, "the last table of docs/hardening.md was not found"
    assert [row for row in CLASS_ROWS if not PROOF.search(row.rpartition(" | ")[2])] == []


@pytest.mark.parametrize("proof", PROOFS)
def test_a_named_proof_exists(proof: str) -> None:
    file, _, name = proof.partition("::")
    assert (ROOT / file).is_file()
    if file.endswith(".test.yml"):
        assert f"- name: {name}\n" in (ROOT / file).read_text()
    elif name:
        assert name.partition("[")[0] in functions(file)


@cache
def functions(file: str) -> frozenset[str]:
    """The names of the functions in a file."""
    return frozenset(
        node.name
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
