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
PROOFS = sorted({proof for *_, cell in TABLE for proof in re.findall(r"`([^`]+)`", cell)})


def test_every_row_of_the_language_is_there_once() -> None:
    rows = [int(number) for seed, number, _ in TABLE if seed == "S0"]
    assert rows == list(range(1, 99))


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
