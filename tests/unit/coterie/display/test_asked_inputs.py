"""`coterie run` asks at the terminal for the inputs that a start lacks."""

import io
from pathlib import Path

import pytest

from coterie.argument_values import read_context
from coterie.display.asked_inputs import ask_inputs
from coterie.documents.compilation import startable
from coterie.dsl.model.context.declarations import DeclaredPath
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.settings import Settings, load
from tests.support.compiling import compiled

DECLARED = {
    "goal": DeclaredPath(
        schema={"type": "string", "minLength": 3, "description": "What shall be done?"},
        required=True,
    ),
    "order.size": DeclaredPath(schema={"type": "integer", "maximum": 9}, required=True),
    "style": DeclaredPath(schema={"enum": ["short", "long"]}, default="short"),
}


def asked(monkeypatch: pytest.MonkeyPatch, typed: str, context: Json) -> Json:
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    return ask_inputs(DECLARED, context)


def test_only_what_is_required_and_missing_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = asked(monkeypatch, "4\n", {"goal": "a tree"})
    assert found == {"goal": "a tree", "order": {"size": 4}}
    assert capsys.readouterr().err == "order.size (a whole number (maximum 9)): "


def test_a_wrong_answer_is_explained_and_asked_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asked(monkeypatch, "12\n7\n123\n", {"goal": "123", "order": {}})["order"] == {"size": 7}
    found = capsys.readouterr().err
    assert "order.size is 12, not at most 9" in found


def test_a_text_stays_one_though_it_reads_like_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, "123\n", {"order": {"size": 1}})["goal"] == "123"


def test_a_closed_input_ends_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandError, match="no value for goal: the input was closed"):
        asked(monkeypatch, "", {})


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load({}, tmp_path)


def test_a_set_value_becomes_what_the_path_can_hold(settings: Settings) -> None:
    values = ["goal=123", "order.size=4", "style=long"]
    assert read_context(settings, None, values, DECLARED) == {
        "goal": "123",
        "order": {"size": 4},
        "style": "long",
    }


def test_a_start_that_does_not_fit_names_the_path_and_the_cure() -> None:
    document = compiled("""
orchestration:
  entry_team: one
  context: { goal: { type: string } }
  teams: { one: { tasks: [{ name: a, type: set, values: { b: "{{ context.goal }}" } }] } }
""")
    with pytest.raises(CommandError) as refused:
        startable(document, {"gaol": "x"})
    assert "'gaol' is not declared; declared: goal; did you mean 'goal'?" in str(refused.value)
    with pytest.raises(CommandError) as refused:
        startable(document, {})
    assert "goal is missing: a text; set it with `--set PATH=VALUE`" in str(refused.value)
