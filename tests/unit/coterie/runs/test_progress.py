"""What a person sees of a run: rows for visits and tasks, in columns, at every width."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic import JsonValue
from rich.cells import cell_len

from coterie.activities.changes.shown_changes import diff_lines, split_changes
from coterie.activities.contracts import TokenUsage
from coterie.display.following.discovery_notes import DiscoveryNotes, found_lines
from coterie.display.following.live import LiveView, SafeConsole
from coterie.display.following.plain_view import PlainView
from coterie.dsl.model.sections.provider_document import ProviderSection
from coterie.rendering.progress_lines import progress_lines, visit_lines
from coterie.rendering.request_text import panel_lines
from coterie.rendering.run_summary import summary_text
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.progress import Progress
from coterie.runs.retries import PendingRetry
from coterie.runs.run_view import RunNews
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.views import (
    CostReport,
    CostRow,
    RunStatus,
    StepInProgress,
    TeamResult,
    TrailEntry,
)

AT = "2026-01-02T03:04:05.678+00:00"
WIDTHS = [80, 120, 200]
REASON = "the model is away and will be back soon"


def trail(*message: dict[str, object]) -> list[TrailEntry]:
    given = {"at": AT, "team": "write", "visit": 1, "because": ""}
    return [
        TrailEntry.model_validate({"number": number, **given, **one})
        for number, one in enumerate(message, 1)
    ]


def step(name: str, **fields: object) -> dict[str, object]:
    return {"kind": "step", "step": name, "status": "success", "seconds": 1.5, **fields}


def left(**fields: object) -> dict[str, object]:
    return {"kind": "route", "status": "success", "next_team": "write", **fields}


EVENTS = trail(
    {"kind": "team"},
    step("draft/look", tokens=20),
    step("draft/write", tokens=400),
    step("draft", seconds=3, tokens=420),
    step("check", status="failure", tokens=None, because="ProviderFailed: " + f"{REASON} " * 8),
    left(status="failure"),
    {"kind": "team", "visit": 2},
    step("draft", visit=2, tokens=7),
)


def status(**fields: object) -> RunStatus:
    given: dict[str, object] = {
        "plan": "notes",
        "digest": "d",
        "state": "running",
        "team": "write",
        "visit": 2,
        "teams_run": 2,
        "max_total_teams": 9,
        "visits": {},
        "model_calls": 3,
        "function_calls": 0,
        "usage": TokenUsage(input_tokens=400, output_tokens=27),
        "events": 8,
        **fields,
    }
    return RunStatus.model_validate(given)


def followed() -> Progress:
    made = Progress()
    made.follow(EVENTS, [StepInProgress(step="write/check/deep/inside", since=AT)])
    return made


def spent(**money: float) -> CostReport:
    rows = tuple(CostRow(name=f"write/{task}", calls=1, cost=cost) for task, cost in money.items())
    return CostReport(total=CostRow(name="total", calls=1), tasks=rows)


def test_nested_steps_are_folded_into_their_task() -> None:
    first, second = followed().visits.values()
    assert [(row.name, row.tokens, row.seconds) for row in first.tasks.values()] == [
        ("draft", 420, 3.0),
        ("check", 0, 1.5),
    ]
    assert (first.name, second.name) == ("write", "write #2")
    assert [(row.name, row.state) for row in second.tasks.values()] == [
        ("draft", "success"),
        ("check", "running"),
    ]


def test_money_goes_to_the_visit_that_spent_it() -> None:
    rows = Progress()
    rows.follow(EVENTS[:6])
    rows.price(spent(draft=0.25, check=0.5))
    rows.follow(EVENTS[6:])
    rows.price(spent(draft=0.35, check=0.5))
    first, second = rows.visits.values()
    assert (first.money, second.money) == (0.75, 0.1)


@pytest.mark.parametrize("width", WIDTHS)
def test_columns_stand_under_each_other_and_no_line_is_too_wide(width: int) -> None:
    rows = followed()
    rows.price(spent(draft=0.25))
    lines = progress_lines(rows, width, 40)
    assert all(cell_len(line.text) <= width for line in lines)
    timed = [line.text for line in lines if line.text.lstrip()[:1] in "✓✗" and " s" in line.text]
    assert len({text.index(" s", 20) for text in timed}) == 1, timed


def test_a_panel_shows_wide_characters_and_long_lines_of_a_diff_to_their_end() -> None:
    question = "この変更を行いますか。" * 20
    hidden = "x = 1" + " " * 90 + "; evil()"
    change: JsonValue = {"file_path": "f.py", "type": "modify", "diff": f"@@\n-x = 0\n+{hidden}"}
    request = Pending(id="r#1", prompt=question, since=AT, show={"changes": [change]})
    lines = [line.text for line in panel_lines("r", request, 60, None)]
    assert all(cell_len(line) <= 60 for line in lines)
    assert question in "".join(lines)
    assert "    ; evil()" in lines


def test_a_reason_is_wrapped_at_words() -> None:
    shown = [line.text.strip() for line in visit_lines(followed(), 80)][1:-1]
    assert len(shown) == 4
    words = {"check:", "ProviderFailed:", *REASON.split()}
    assert {word for line in shown for word in line.split()} <= words


def test_older_visits_lose_their_tasks_first_where_room_is_short() -> None:
    lines = [line.text.split()[1] for line in progress_lines(followed(), 80, 4)]
    assert lines == ["write", "write", "draft", "check"]
    assert len(progress_lines(followed(), 80, 2)) == 2


def drawn(view: LiveView, width: int) -> str:
    file = io.StringIO()
    SafeConsole(file=file, width=width, height=40, no_color=True).print(view.drawn())
    return file.getvalue()


def view_of(width: int) -> LiveView:
    console = SafeConsole(file=io.StringIO(), width=width, height=40, no_color=True)
    return LiveView("r1", color=False, console=console, asks=False)


@pytest.mark.parametrize("width", WIDTHS)
def test_the_live_view_shows_activity_retries_and_requests_within_the_width(width: int) -> None:
    view = view_of(width)
    request = Pending(
        id="write/ok#1",
        prompt="Publish the notes? " * 9,
        since=AT,
        show={"notes": "It is faster than it was before. " * 9},
    )
    retry = PendingRetry(
        "0004.write.check",
        "write/check/inside",
        2,
        3,
        "ProviderFailed: rate limited",
        datetime.now(UTC) + timedelta(hours=1),
    )
    doing = [
        StepInProgress(step="write/check", since=AT),
        StepInProgress(step="write/check/inside", since=AT),
    ]
    view.progress(RunNews(status(doing=doing), EVENTS, [request], retries=[retry]))
    view.close()
    text = drawn(view, width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert "write/check/inside: attempt 2 of 3 in " in text
    assert "ProviderFailed: rate limited" in " ".join(text.split())
    assert "write/check/inside" in text
    assert "notes: It is faster" in text
    assert "\u2502        " in text, "a hanging indent"
    assert "coterie approve r1 'write/ok#1'" in " ".join(text.split())


def test_an_approval_shows_the_diff_of_what_it_would_change(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\nthree\n")
    show: JsonValue = {
        "changes": [
            {"file_path": "a.py", "type": "modify", "content": "one\n2\nthree\n"},
            {"file_path": "b.py", "type": "modify", "diff": "@@ -1 +1 @@\n-x\n+y\n"},
        ],
        "why": "two is a number",
    }
    changes, rest = split_changes(show)
    assert rest == {"why": "two is a number"}
    shown = list(diff_lines(changes, tmp_path))
    assert shown == [
        "modify a.py",
        "@@ -1,3 +1,3 @@",
        " one",
        "-two",
        "+2",
        " three",
        "modify b.py",
        "@@ -1 +1 @@",
        "-x",
        "+y",
    ]
    request = Pending.model_validate({"id": "a/b#1", "prompt": "Ok?", "since": AT, "show": show})
    lines = {line.text: line.style for line in panel_lines("r", request, 76, tmp_path)}
    assert (lines["-two"], lines["+2"]) == ("red", "green")


def test_plain_lines_show_the_diff_of_what_an_approval_would_change(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("one\ntwo\n")
    long = "".join(f"{number}\n" for number in range(300))
    show: JsonValue = {
        "why": "two is a number",
        "changes": [
            {"file_path": "a.py", "type": "modify", "content": "one\n2\n"},
            {"file_path": "b.py", "type": "create", "content": long},
        ],
    }
    request = Pending.model_validate({"id": "a/b#1", "prompt": "Ok?", "since": AT, "show": show})
    PlainView("r1", workspace=tmp_path).show(request)
    output = capsys.readouterr().err.splitlines()
    assert output[:3] == ["", "a/b#1", "  > Ok?"]
    assert {"    why: two is a number", "    -two", "    +2", "    create b.py"} <= set(output)
    assert "coterie show r1 'a/b#1'" in output[-1]
    assert len(output) < 130


def found(tokens: int) -> list[TrailEntry]:
    shown = {"files": 3, "estimated_tokens": tokens, "models": ["own/large", "other/unknown"]}
    return trail(step("look/collect", found=shown), step("look"))


def test_discovery_is_shown_in_files_and_tokens() -> None:
    first, nothing = found(1_000)
    assert list(found_lines(first, {"own/large": 2_000})) == [
        "write/look/collect: 3 files, about 1,000 tokens (estimated: 4 bytes per token)"
    ]
    assert list(found_lines(nothing, {"own/large": 2_000})) == []


def test_discovery_warns_above_half_of_a_models_context() -> None:
    _, warning = found_lines(found(1_001)[0], {"own/large": 2_000})
    assert warning.startswith(
        "warning: in a prompt, this takes about 50% of the context of own/large"
    )


async def test_discovery_is_shown_once_with_the_contexts_of_public_models() -> None:
    section = ProviderSection(kind="anthropic")
    teller = DiscoveryNotes({"own": section})
    shown = {"files": 1, "estimated_tokens": 150_000, "models": ["own/claude-haiku-4-5", "x/y"]}
    news = trail(step("collect", found=shown))
    line, warning = await teller.lines(news)
    assert "about 150,000 tokens" in line
    assert "75% of the context of own/claude-haiku-4-5 (200,000 tokens)" in warning
    assert await teller.lines(news) == []


def test_a_diff_reads_no_file_outside_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hidden")
    (tmp_path / "in").mkdir()
    show: JsonValue = [{"file_path": "../secret", "type": "modify", "content": "x"}]
    changes, _ = split_changes(show)
    assert "hidden" not in "\n".join(diff_lines(changes, tmp_path / "in"))


def test_plain_lines_tell_each_task_once_and_everything_only_when_asked() -> None:
    short: list[str] = []
    whole: list[str] = []
    retry = PendingRetry(
        "0004.write.check", "write/check", 2, 3, "ProviderFailed: rate limited", None
    )
    for lines, verbose in ((short, False), (whole, True)):
        view = PlainView("r1", lines.append, verbose=verbose)
        view.progress(RunNews(status(), EVENTS, retries=[retry]))
        view.progress(RunNews(status(), [], retries=[retry]))
    assert sum("draft" in line for line in short) == 2
    assert sum("draft" in line for line in whole) == 4
    for lines in (short, whole):
        shown = [line for line in lines if "retry write/check: attempt 2 of 3 now" in line]
        assert len(shown) == 1


def test_turns_and_further_attempts_do_not_end_a_task() -> None:
    events = trail(
        {"kind": "team"},
        step("answer", status="turn", seconds=None, because="turn 1 calls search"),
        step("answer/search@1.1", status="started"),
        step("answer/search@1.1"),
        step("answer", status="retried", because="ProviderFailed: away"),
    )
    lines: list[str] = []
    view = PlainView("r1", lines.append)
    view.events(events)
    view.rows.follow(events)
    assert [line.partition("write#1")[2] for line in lines] == [
        " starts",
        "/answer: turn, because turn 1 calls search",
        "/answer: retried (1.5 s), because ProviderFailed: away",
    ]
    assert view.rows.visits["write", 1].tasks == {}
    view.rows.follow(trail(step("answer", status="cancelled")))
    assert view.rows.visits["write", 1].tasks["answer"].state == "skipped"


def test_a_nested_step_that_its_retry_repeats_is_shown_with_attempt_and_reason() -> None:
    nested, attempts = "check/read", ["FunctionFailed: no file", "FunctionFailed: still none"]
    events = trail(
        {"kind": "team"},
        *(step(nested, status="retried", because=because) for because in attempts),
        step("check/look", status="turn", because="turn 1"),
    )
    lines: list[str] = []
    PlainView("r1", lines.append).events(events)
    assert [line.partition("write#1")[2] for line in lines] == [
        " starts",
        *(f"/{nested}: retried (1.5 s), because {because}" for because in attempts),
    ]
    doing = [StepInProgress(step=f"write/{one}", since=AT) for one in ("check", nested)]
    view = view_of(80)
    view.progress(RunNews(status(doing=doing), events))
    view.close()
    assert "↻ write/check/read: attempt 3, because FunctionFailed: still none" in drawn(view, 80)
    view.progress(RunNews(status(doing=doing), trail(step(nested, status="failure"))))
    view.close()
    assert "↻" not in drawn(view, 80)
    view.progress(RunNews(status(doing=doing), trail(step(nested, status="retried", because="x"))))
    assert [one.attempt for one in view.rows.repeated(doing)] == [2]
    assert view.rows.repeated(doing[:1]) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_a_summary_is_compact_and_dumps_nothing(width: int) -> None:
    files: list[JsonValue] = ["f" * 900] * 50
    big: JsonValue = {"files": files, "none": [], "note": "n" * 900}
    result = TeamResult(
        end="completed",
        because="rule 1: all_success",
        plan="p",
        digest="d",
        context={"secret_of_context": "x" * 5000},
        visits={"write": 2},
        teams_run=2,
        output={"big": big, "text": "line\n" * 40, "small": {"sources": [1, {"url": "x"}]}},
        model_calls=1,
        function_calls=0,
        usage=TokenUsage(),
        trail_length=3,
        trail_digest="abc",
    )
    text = summary_text("r1", RunEnd("completed", result), followed(), width)
    assert f"    files:\n      -\n        {'f' * 20}" in text
    assert "        ...\n      -\n" in text, "a long text does not hide the next item"
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert '  small: {sources: [1, {url: "x"}]}' in text
    assert len(text.splitlines()) < 60
    assert "secret_of_context" not in text
    assert "28 more lines" in text
    assert "draft" not in text, "one line for each visit"
