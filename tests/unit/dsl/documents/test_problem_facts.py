"""Problems are facts: nothing that checks a document reads what people read of them."""

import copy
import json
from collections.abc import Iterator
from typing import Literal, cast

import pytest
from pydantic import JsonValue

from coterie.dsl.analysis.findings import analysed, warnings
from coterie.dsl.compile.shapes import parse_as
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.paths import Path, get
from coterie.dsl.problem_details import Details, ProblemText, Statement
from coterie.dsl.problem_texts import (
    DidYouMean,
    Found,
    MissingKey,
    RefusedKey,
    UnknownKey,
    UnknownName,
    UnlistedValue,
    WriteKey,
    WrongForm,
    WrongValue,
    key_meant,
)
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Place
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.values import Frozen, Json
from tests.support.compiling import compiled
from tests.support.documents.documents import RICH
from tests.unit.dsl.documents.test_mistakes import FILES as MISTAKES
from tests.unit.dsl.documents.test_validation_broken import FILES as BROKEN

TEXTS = {"rich": RICH} | {file.stem: file.read_text() for file in (*BROKEN, *MISTAKES)}
Facts = list[tuple[object, ...]]


def found(text: str) -> list[Problem]:
    """All that is noted of a document: its problems, or its warnings."""
    try:
        made = compiled(text)
    except InvalidDocument as error:
        return list(error.problems)
    return warnings(made, analysed(made))


def facts(text: str) -> Facts:
    return [
        (one.code, one.file, one.line, one.column, one.path, one.step, one.severity)
        for one in found(text)
    ]


def without_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(problems: Problems, code: str, details: Details) -> ProblemText:
        return ProblemText("x", "x", "x")

    monkeypatch.setattr(Problems, "_text", nothing)


def test_every_document_has_the_same_problems_when_each_text_is_x(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {name: facts(text) for name, text in TEXTS.items()}
    assert sum(map(len, before.values())) > 300
    without_words(monkeypatch)
    assert {name: facts(text) for name, text in TEXTS.items()} == before


def places(value: JsonValue, above: Path = ()) -> Iterator[Path]:
    """Every key of every mapping."""
    match value:
        case dict():
            for key, below in value.items():
                yield (*above, key)
                yield from places(below, (*above, key))
        case list():
            for index, below in enumerate(value):
                yield from places(below, (*above, str(index)))
        case _:
            pass


def damaged(tree: Json, place: Path, *, misspelt: bool) -> str:
    """The document without one key, or with the key misspelt."""
    made = copy.deepcopy(tree)
    above = get(made, place[:-1])
    assert isinstance(above, dict)
    here = cast("Json", above)
    key = place[-1]
    value = here.pop(key)
    if misspelt:
        here[f"{key}x"] = value
    return json.dumps(made, indent=1)


DAMAGED = [
    damaged(tree, place, misspelt=misspelt)
    for tree in [read(RICH, "rich.yml").plain()]
    if isinstance(tree, dict)
    for place in places(tree)
    for misspelt in (False, True)
][::7]
"""Every seventh of them: with each key the same happens in many places."""


def test_a_document_without_a_key_has_the_same_problems_when_each_text_is_x(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = [facts(text) for text in DAMAGED]
    assert sum(map(len, before)) > len(DAMAGED) / 2
    without_words(monkeypatch)
    assert [facts(text) for text in DAMAGED] == before


def test_placeholder_of_a_missing_name_is_never_shown() -> None:
    for text in DAMAGED:
        for one in found(text):
            shown = f"{one.message}{one.allowed}{one.fix}{one.step}"
            assert "\0" not in shown, one
            assert "\\x00" not in shown, one


TEAM = "orchestration: {entry_team: a, teams: {a: {tasks: [%s]}}}\n"


def problems(task: str) -> list[tuple[str, str]]:
    return [(one.code, one.message) for one in found(TEAM % task)]


def test_the_mistakes_of_a_step_without_a_name_are_reported_with_it() -> None:
    """The sentinel in their words hid them, so that they came up one run later."""
    assert problems("{type: wait, signal: go, duration: 1s}") == [
        ("E102", "the key 'name' is missing"),
        ("E107", "the wait without a name waits for duration and signal"),
    ]
    assert problems("{type: approval, prompt: ok?, quorum: 2, deadline: 1h, on_timeout: fail}") == [
        ("E102", "the key 'name' is missing"),
        (
            "E106",
            "the approval without a name: 2 people must approve, and `approvers` names nobody, "
            "so one person could approve under several names",
        ),
    ]


def test_a_step_without_a_name_is_called_by_its_place() -> None:
    (_, wrong) = found(TEAM % "{type: wait, signal: go, duration: 1s}")
    assert (wrong.path, wrong.step) == ("orchestration.teams.a.tasks[0]", "")


def test_two_problems_are_one_when_their_facts_are() -> None:
    place = Place(Mark("t.yml", 1, 1), ("a",))
    noted = Problems()
    noted.report(UnknownName("E202", "persona", "wrter", ("writer",), None), place)
    noted.report(UnknownName("E202", "persona", "wrter", ("writer",), None), place)
    noted.report(UnknownName("E202", "persona", "reader", ("writer",), None), place)
    noted.report(Statement("E207", "x", ("context", "x"), lambda: ProblemText("one")), place)
    noted.report(Statement("E207", "x", ("context", "x"), lambda: ProblemText("another")), place)
    noted.report(Statement("E207", "x", ("context", "y"), lambda: ProblemText("another")), place)
    assert [one.code for one in noted.found()] == ["E202", "E202", "E207", "E207"]


@pytest.mark.parametrize(
    ("details", "meant"),
    [
        (UnknownKey("nmae", ("name",), DidYouMean("name")), "name"),
        (UnknownKey("type", ("kind",), WriteKey("kind")), "kind"),
        (UnknownKey("colour", ("name",), None), None),
        (RefusedKey("if", ("when",), WriteKey("when")), "when"),
        (MissingKey("name"), None),
    ],
)
def test_a_wrong_key_names_the_key_that_is_meant(details: Details, meant: str | None) -> None:
    assert key_meant(details) == meant


class Choice(Frozen):
    """A closed set whose words look like a list of several."""

    word: Literal["this or that", "a, b", "it's"]


def test_a_word_of_a_closed_set_is_one_whatever_it_contains() -> None:
    """They were read out of pydantic's English, split at every comma, `or` and quote."""
    noted = Problems()
    parse_as(read("word: this or thta", "t.yml"), Choice, noted)
    (problem,) = noted.found()
    assert problem.details == UnlistedValue(
        WrongValue("word"),
        "this or thta",
        ("this or that", "a, b", "it's"),
        DidYouMean("this or that"),
    )
    assert (problem.allowed, problem.fix) == (
        "this or that, a, b, it's",
        "did you mean 'this or that'?",
    )


@pytest.mark.parametrize(
    ("text", "form", "found"),
    [
        ("{worker: {notify: {a: {timeout: soon, url: 'https://a'}}}}", "duration", "soon"),
        ("{worker: {agent_env: [a-b]}}", "environment_variable", "a-b"),
        ("{worker: {agent_packages: [coterie.agents]}}", "package", "coterie.agents"),
        ("{worker: {commands: {a: {run: [x], cwd: ../b}}}}", "folder", "../b"),
    ],
)
def test_a_form_of_our_own_is_refused_by_its_code(text: str, form: str, found: str) -> None:
    noted = Problems()
    parse_as(read(text, "t.yml"), SystemDocument, noted)
    (problem,) = noted.found()
    assert isinstance(problem.details, WrongForm)
    assert problem.details.form == form
    assert problem.details.found == Found("scalar", found)


@pytest.mark.parametrize("name", ["str", "int", "bool", "literal[x", "step:agent"])
def test_a_name_that_pydantic_gives_to_types_is_a_key_like_any_other(name: str) -> None:
    """Such a segment was left out of the path, so that the wrong part of the tree was judged."""
    (problem,) = found(
        f"orchestration: {{entry_team: '{name}', teams: {{'{name}': "
        "{tasks: [{name: w, type: wait, duration: 1s, notes: 1}]}}}"
    )
    assert (problem.code, problem.location) == (
        "E101",
        ("orchestration", "teams", name, "tasks", 0, "notes"),
    )
