"""Words of other places, or of other systems, for the keys of a test file are understood."""

from pathlib import Path

import pytest

from coterie.activities.providers.scripts import script
from coterie.display import written_decisions
from coterie.dsl.source.synonyms import SYNONYMS_AT
from coterie.testing.files import case_document
from tests.unit.coterie.team_tests.test_team_test_files import problems

_PARTS = {**vars(script), **vars(case_document), **vars(written_decisions)}


@pytest.mark.parametrize("part", SYNONYMS_AT)
def test_a_word_of_a_part_means_a_key_that_it_has(part: str) -> None:
    keys = {*_PARTS[part].model_fields}
    assert {one for meant in SYNONYMS_AT[part].values() for one in meant} <= keys
    assert not keys & SYNONYMS_AT[part].keys()


@pytest.mark.parametrize(
    ("entry", "meant"),
    [
        ("answers: [{step: draft/write, answer: hi}]", "task"),
        ("answers: [{task: draft/write, text: hi}]", "answer"),
        ("functions: [{task: draft/build/each/apply, data: {}}]", "step"),
        ("functions: [{step: draft/build/each/apply, result: {}}]", "data"),
        ("decisions: [{step: draft/both/left/ask, decision: approve}]", "approval"),
        ("skips: [{step: draft/write}]", "task"),
        ("redirects: [{next_team: release}]", "team"),
        ("expect: {status: completed}", "end"),
        ("expect: {trail: [{task: write}]}", "step"),
    ],
)
def test_a_key_that_is_called_otherwise_here_is_named(
    entry: str, meant: str, tmp_path: Path
) -> None:
    found = problems(tmp_path, f"cases:\n  - name: one\n    {entry}\n")
    assert f"did you mean {meant!r}?" in {one.fix for one in found if one.code == "E101"}
