"""Decisions written in advance: which entries a file has, and which of them a request gets."""

from pathlib import Path

import pytest

from coterie.display.written_decisions import WrittenDecision, decisions_for, read_decisions
from coterie.dsl.errors import InvalidDocument
from coterie.failures import CommandError

ENTRIES = """
- {decision: approve, by: ann, payload: {pages: 4}}
- {approval: "review/*", decision: amend, by: ben, updates: {budget: 5}, comment: More.}
- {approval: review/sign#1, decision: redirect, by: cyd, team: repair}
- {approval: "review/????#2", decision: skip, by: dan, value: null}
"""


def read(folder: Path, text: str) -> tuple[WrittenDecision, ...]:
    file = folder / "d.yml"
    file.write_text(text)
    return read_decisions(file, "d.yml")


@pytest.mark.parametrize("head", ["", "decisions:"])
def test_a_file_is_a_list_of_decisions_with_or_without_their_key(tmp_path: Path, head: str) -> None:
    assert read(tmp_path, head + ENTRIES) == (
        WrittenDecision(decision="approve", by="ann", payload={"pages": 4}),
        WrittenDecision(
            approval="review/*", decision="amend", by="ben", updates={"budget": 5}, comment="More."
        ),
        WrittenDecision(approval="review/sign#1", decision="redirect", by="cyd", team="repair"),
        WrittenDecision(approval="review/????#2", decision="skip", by="dan", value=None),
    )


def test_a_request_gets_the_entries_that_match_its_id_in_their_order(tmp_path: Path) -> None:
    decisions = read(tmp_path, ENTRIES)
    names = {
        request: [one.by for one in decisions_for(request, decisions)]
        for request in ("review/sign#1", "review/sign#2", "review/signs#2", "other/sign#1")
    }
    assert names == {
        "review/sign#1": ["ann", "ben", "cyd"],
        "review/sign#2": ["ann", "ben", "dan"],
        "review/signs#2": ["ann", "ben"],
        "other/sign#1": ["ann"],
    }


@pytest.mark.parametrize("text", ["", "# nothing\n", "approve", "7"])
def test_a_file_without_decisions_says_what_each_needs(tmp_path: Path, text: str) -> None:
    with pytest.raises(CommandError) as raised:
        read(tmp_path, text)
    assert str(raised.value) == (
        "d.yml must be a list of decisions, each with approval, decision and by"
    )


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("- {approval: [", ["E002 d.yml:1:15"]),
        ("- {decision: approve}", ["the key 'by' is missing"]),
        ("- {decision: skip, by: a, payload: 1}", ["`payload` goes with `decision: approve`"]),
        ("- {decision: approve, by: a, value: 1}", ["`value` goes with `decision: skip`"]),
        ("- {decision: reject, by: a, team: b}", ["`team` goes with `decision: redirect`"]),
        ("- {decision: retry, by: a, updates: {}}", ["`updates` goes with `decision: amend`"]),
        ("- {decision: amend, by: a, updates: {}}", ["`decision: amend` needs `updates`"]),
        ("- {decision: redirect, by: a}", ["`decision: redirect` needs `team`"]),
        ("- {decision: approve}\n- {decision: retry}", ["d.yml:1:3", "d.yml:2:3"]),
    ],
)
def test_every_wrong_entry_is_reported(tmp_path: Path, text: str, messages: list[str]) -> None:
    with pytest.raises(InvalidDocument) as raised:
        read(tmp_path, text)
    problems = [
        f"{p.code} {p.file}:{p.line}:{p.column} {p.message} {p.allowed}"
        for p in raised.value.problems
    ]
    assert len(problems) == len(messages)
    for message, problem in zip(messages, problems, strict=True):
        assert message in problem
