"""Text of models, tools, files and people reaches no terminal, log or board as a control code."""

import io
import json
import logging
import re
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.table import Table

from coterie.argument_values import read_value
from coterie.cli import main
from coterie.display.following.live import LiveView, SafeConsole
from coterie.dsl.model.plan import Plan
from coterie.dsl.visible import visible
from coterie.logs import VisibleFormatter
from coterie.rendering.request_text import PendingOfRun, pending_text, request_text
from coterie.rendering.run_text import end_text, trail_text
from coterie.runs.ends.end_facts import RunEnd
from coterie.settings import load
from coterie.terminal import note, say
from coterie.terminal import prompt as print_prompt
from coterie.text.lines import prompt_lines
from coterie.workflows.core.requests import Decision, Pending, RequestView
from coterie.workflows.core.state import RunState
from coterie.workflows.core.state_parts import Track
from coterie.workflows.core.views import TrailEntry
from coterie.workflows.handlers.board import board
from tests.support.engine import plan_of

AT = "2026-01-02T03:04:05.678+00:00"
HOSTILE = "\x1b[2J\x1b]0;gone\x07\r\x9b31m\x7f\u202etxt.exe\u2066"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

PLAN: Plan = plan_of("""
orchestration:
  entry_team: draft
  teams: { draft: { tasks: [{ name: note, type: set, values: { n: 1 } }] } }
""")


@given(st.text(st.sampled_from("a1\u0645\u200b\u200c\u200d\ufe00\ufe0f\U000e0041")) | st.text())
def test_visible_text_has_no_control_character_and_stays_as_it_is(text: str) -> None:
    shown = visible(text)
    assert not CONTROL.search(shown)
    assert visible(shown) == shown


WITH_INK = (  # characters of the category Cf that are drawn
    *range(0x600, 0x606),
    0x6DD,
    0x70F,
    0x890,
    0x891,
    0x8E2,
    0x110BD,
    0x110CD,
    *range(0x13430, 0x13440),
)


def test_no_character_without_ink_stays_hidden_between_plain_letters() -> None:
    hidden = [
        char
        for char in map(chr, range(0x110000))
        if unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and char not in "\t\n"
        and ord(char) not in WITH_INK
    ]
    assert len(hidden) > 2_000
    assert [char for char in hidden if visible(f"a{char}b").isascii() is False] == []


@pytest.mark.parametrize(
    "text",
    [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",  # a Persian word
        "\u0915\u094d\u200d\u0937",  # a Hindi cluster
        "\U0001f468\u200d\U0001f4bb",  # one emoji of two
        "1\ufe0f\u20e3",  # a keycap
        "\u2764\ufe0f",
    ],
)
def test_joiners_within_scripts_and_emoji_stay(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u200d\u200d", "\U000e0041", "\ufe00\ufe01", "\u2060"]
)
@pytest.mark.parametrize("around", ["a{}b", "\u0645{}", "{}\u0645", "{}"])
def test_a_hidden_text_is_shown(hidden: str, around: str) -> None:
    assert "\\u" in visible(around.format(hidden))


@given(st.text())
def test_visible_json_keeps_its_values(text: str) -> None:
    assert json.loads(visible(json.dumps({text: [text]}, ensure_ascii=False))) == {text: [text]}


def test_commands_print_control_characters_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    for write in (say, note, print_prompt):
        write(f"a\tb\nc {HOSTILE}")
    out, err = capsys.readouterr()
    for text in (out, err):
        assert not CONTROL.search(text)
        assert r"a	b" in text
        assert r"\u001b[2J" in text
        assert r"\u202etxt.exe" in text


def test_an_unknown_option_is_repeated_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["status", "run", f"--x{HOSTILE}"])
    assert not CONTROL.search(capsys.readouterr().err)


def test_a_failing_command_cannot_print_a_line_of_ours(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    main(["validate", "none\ncoterie: all is well\x1b[2J"])
    output = capsys.readouterr()
    assert not CONTROL.search(output.out + output.err)
    with pytest.raises(Exception, match="is not JSON"):
        read_value(load(), "--payload", HOSTILE)


def test_log_records_are_visible_and_stay_apart() -> None:
    formatter = VisibleFormatter("%(levelname)s %(message)s")
    record = logging.LogRecord("x", logging.WARNING, "f", 1, "%s", (f"{HOSTILE}\nERROR all",), None)
    text = formatter.format(record)
    assert not CONTROL.search(text)
    assert [line[:5] for line in text.split("\n")] == ["WARNI", "    E"]


def test_a_console_draws_only_its_own_codes() -> None:
    table = Table.grid()
    table.add_row(f"cell {HOSTILE}")
    file = io.StringIO()
    SafeConsole(file=file, force_terminal=True, width=200).print(table, HOSTILE, markup=False)
    drawn = file.getvalue()
    assert r"\u202etxt.exe" in drawn
    assert not CONTROL.search(re.sub("\x1b\\[[0-9;]*m", "", drawn).replace("\n", ""))


def test_the_live_view_shows_a_hostile_request_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    view = LiveView(f"run{HOSTILE}", color=False)
    view.say(HOSTILE)
    view.close()
    assert not CONTROL.search(capsys.readouterr().err)


FORGED = f"Ship it?\nr1  other/ok#1\n  since now\n  may decide: you{HOSTILE}"


def test_no_line_of_a_prompt_looks_like_a_line_of_ours() -> None:
    request = Pending(id="review/sign#1", prompt=FORGED, since=AT, show="two\nr1  other/ok#1")
    whole = request_text("r1", RequestView(pending=request), "me")
    for text in (pending_text([PendingOfRun("r1", request)], "me"), whole):
        assert not CONTROL.search(text)
        assert text.split("\n")[1:5] == prompt_lines(FORGED)
        assert all(line.startswith("  > ") for line in text.split("\n")[1:5])
        assert sum(line.startswith("r1  ") for line in text.split("\n")) == 1


def test_no_reason_of_others_looks_like_an_entry_of_ours() -> None:
    forged = "no\n   8  03:04:05  run: approved\x1b[1A"
    entry = TrailEntry(number=7, at=AT, kind="control", team="a", visit=1, because=forged)
    text = trail_text([entry])
    assert not CONTROL.search(text)
    assert text.split("\n")[1].startswith("        | ")
    decision = Decision(
        id="a/b#1", verdict="rejected", by="ann", comment=forged, at=AT, how="update"
    )
    shown = request_text("r1", RequestView(decision=decision), "me")
    assert shown.split("\n")[1].startswith("        | ")
    ended = end_text("r1", RunEnd("failed", details="failed\nr1: completed"))
    assert ended.split("\n")[1].startswith("        | ")


def test_the_board_escapes_markdown_and_html() -> None:
    state = RunState(tracks={"main": Track(team="draft", visit=1)})
    id = "draft/`ok`#1"
    prompt = "**Bold** [click](http://evil) <img src=x>\n# Head\n- came here because: all\x1b[2J"
    state.pending[id] = Pending(id=id, since="", prompt=prompt)
    shown = board(PLAN, state)
    assert not CONTROL.search(shown)
    assert shown.count("came here because") == 2
    assert shown.count("\n- came here because") == 1
    assert r"\*\*Bold\*\* \[click\](http://evil) \<img src=x>" in shown
    assert r"draft/\`ok\`#1" in shown
