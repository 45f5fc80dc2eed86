"""docs/coverage.md names tests that exist, and every row of the checklist once."""

import ast
import re

import pytest

from tests.law.sources import ROOT

TABLE = re.findall(
    r"^\| (S\d|C)-(\d{2,3}) \| [^|]+ \| ([^|]+) \|$",
    (ROOT / "docs/coverage.md").read_text(),
    re.MULTILINE,
)
PROOF = re.compile(r"`((?:config|docs|evals|examples|tests)/[^`]+)`")
PROOFS = sorted({proof for *_, cell in TABLE for proof in PROOF.findall(cell)})
ROWS = {"S0": 98, "S1": 65, "S2": 73, "S3": 131, "S4": 93}


@pytest.mark.parametrize("seed", ROWS)
def test_every_row_is_there_once(seed: str) -> None:
    numbers = sorted(int(number) for one, number, _ in TABLE if one == seed)
    assert numbers == list(range(1, ROWS[seed] + 1))


def test_a_row_without_a_proof_says_why() -> None:
    without = [cell for *_, cell in TABLE if not PROOF.search(cell)]
    assert [one for one in without if not one.startswith(("open: ", "decided differently: "))] == []


@pytest.mark.parametrize("proof", PROOFS)
def test_a_named_proof_exists(proof: str) -> None:
    file, _, name = proof.partition("::")
    assert (ROOT / file).is_file()
    if file.endswith(".test.yml"):
        assert f"- name: {name}\n" in (ROOT / file).read_text()
    elif name:
        tree = ast.parse((ROOT / file).read_text())
        functions = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert name.partition("[")[0] in functions
