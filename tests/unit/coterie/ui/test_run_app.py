"""The screen of a run, without a terminal: what it shows, and what each key sends."""

from datetime import timedelta

import pytest
from rich.cells import cell_len
from textual.strip import Strip

from coterie.failures import CommandError
from coterie.runs.run_view import RunNews, RunView
from coterie.ui.line_pane import LinePane
from coterie.workflows.core.messages import Control, DecideInput, RetryInput, SkipInput
from coterie.workflows.core.requests import Pending
from tests.support.watching.steered_run import ME, ShownRun, shown_run
from tests.support.watching.watched_runs import (
    ASKED,
    AT,
    BEGAN,
    asked,
    status_of,
    working,
    writes,
)

EVIL = "\x1b[2J[bold red]x[/]\u202e[@click=app.exit]y[/]\nfake line"
FAILED = "agent/work/0/act/failed#1"
SHOWN = (
    *("Goal: Mend it", "▶ read  [IN PROGRESS]", "| First I read", "Action", "767 tokens"),
    *("0.25 USD", "make test", "Waits for you", "Approve"),
)


def decided(shown: ShownRun) -> DecideInput:
    (sent,) = shown.run.sent
    assert isinstance(sent[1], DecideInput)
    return sent[1]


async def test_a_request_is_shown_with_its_run_and_approved_rejected_or_refused() -> None:
    seen = working(asked())
    seen.goal = "Mend it"
    seen.take_answers([writes("First I read")])
    async with shown_run(seen) as shown:
        screen = "\n".join(shown.drawn())
        assert [part for part in SHOWN if part not in screen] == []
        await only_an_editable_request_is_edited(shown)
        await approve_sends_the_digest_of_what_was_shown_and_the_reason(shown)
        shown.run.sent.clear()
        await reject_sends_its_reason_and_escape_sends_nothing(shown)
        await what_the_run_refuses_is_said(shown)


async def approve_sends_the_digest_of_what_was_shown_and_the_reason(shown: ShownRun) -> None:
    await shown.press("a")
    assert "make test" in shown.pane("dialog_text")
    assert "digest: d1" in shown.pane("dialog_text")
    await shown.write("go on")
    await shown.press("enter")
    assert decided(shown) == DecideInput(
        id=ASKED, decision="approve", by=ME, comment="go on", digest="d1"
    )
    assert f"{ASKED} approved by {ME}" in shown.pane("messages")


async def reject_sends_its_reason_and_escape_sends_nothing(shown: ShownRun) -> None:
    await shown.press("r", "escape")
    assert shown.run.sent == []
    await shown.press("r", "n", "o", "enter")
    assert (decided(shown).decision, decided(shown).comment) == ("reject", "no")


async def test_edit_sends_the_new_payload_and_refuses_what_is_not_json() -> None:
    async with shown_run(working(asked({"pages": 3}, editable=True))) as shown:
        await shown.press("e", "f7", "{", "ctrl+s")
        assert "the payload is not JSON" in shown.pane("problem")
        await shown.press("f7")
        await shown.write('["a"]')
        await shown.press("ctrl+s")
        assert decided(shown).payload == ["a"]
        assert decided(shown).digest == "d1"


async def only_an_editable_request_is_edited(shown: ShownRun) -> None:
    assert "Edit" not in shown.drawn()[-1]
    await shown.press("e")
    assert len(shown.app.screen_stack) == 1


async def test_a_person_who_may_not_decide_gives_another_name() -> None:
    async with shown_run(working(asked(approvers=("ann", "bob")))) as shown:
        await shown.press("a", "enter")
        assert "enter your name" in shown.pane("problem")
        await shown.press("a", "n", "n", "enter")
        assert decided(shown).by == "ann"


async def test_a_cut_request_is_shown_whole_before_it_is_decided() -> None:
    async with shown_run(working(asked("beginning", cut=True))) as shown:
        long = "\n".join(f"line {number}" for number in range(500))
        shown.run.requests[ASKED] = asked(long)
        await shown.press("a")
        assert "line 499" in shown.pane("dialog_text")


async def test_a_long_line_is_folded_so_that_nothing_of_a_request_is_hidden() -> None:
    async with shown_run(working(asked({"diff": "+" + "x" * 700 + "END", "file_path": "a", "type": "modify"}))) as shown:  # noqa: E501 # fmt: skip
        await shown.press("a")
        assert "END" in shown.pane("dialog_text")


async def test_a_request_that_was_decided_elsewhere_closes_its_dialog() -> None:
    seen = working(asked())
    async with shown_run(seen) as shown:
        await shown.press("a")
        seen.take(RunNews(status_of(), [], (asked("other", digest="d2"),)))
        await shown.settled()
        assert f"{ASKED} was changed elsewhere" in shown.pane("messages")
        await shown.press("r")
        seen.take(RunNews(status_of(), [], ()))
        await shown.settled()
        assert f"{ASKED} was decided elsewhere" in shown.pane("messages")
        assert len(shown.app.screen_stack) == 1
        assert shown.run.sent == []


async def what_the_run_refuses_is_said(shown: ShownRun) -> None:
    shown.run.refusal = CommandError("the run refuses this decision: it has changed")
    await shown.press("a", "enter")
    assert "the run refuses this decision: it has changed" in shown.pane("messages")


async def test_skip_pause_resume_and_stop_send_what_the_commands_send() -> None:
    seen = working()
    async with shown_run(seen) as shown:
        await shown.press("up", "up", "s", "enter")
        await shown.press("p", "w", "enter")
        paused = {"by": "ann", "why": "lunch", "since": AT}
        seen.take(RunNews(status_of(state="paused", paused=paused), []))
        await shown.settled()
        assert "p Resume" in shown.drawn()[-1]
        await shown.press("p", "enter")
        await shown.press("x", "b", "enter")
        assert shown.run.sent == [
            ("skip", SkipInput(task="agent/work/0", by=ME)),  # the step at the cursor
            ("pause", Control(by=ME, why="w")),
            ("resume", Control(by=ME)),
            ("cancel", f"by {ME}: b"),
        ]


async def test_a_failed_task_is_retried_skipped_or_left_to_fail() -> None:
    failed = asked("it broke", id=FAILED, choices=("retry", "skip", "fail"))
    async with shown_run(working(failed)) as shown:
        await shown.press("a", "e")
        assert len(shown.app.screen_stack) == 1
        assert "t Retry" in shown.drawn()[-1]
        for key in ("t", "s", "r"):
            await shown.press(key, "enter")
    assert shown.run.sent == [
        ("retry", RetryInput(task=FAILED, by=ME)),
        ("skip", SkipInput(task=FAILED, by=ME)),
        ("decide", DecideInput(id=FAILED, decision="reject", by=ME, digest="d1")),
    ]


async def test_auto_is_confirmed_shown_and_approves_everything_but_failures_and_questions() -> None:
    question = asked(id="agent/work/0/act/ask@1.1/input#1", digest="d2")
    failed = asked(id=FAILED, choices=("retry", "skip", "fail"), digest="d3")
    seen = working(asked(), question, failed)
    async with shown_run(seen) as shown:
        steering = shown.app.steering
        await steering.consider(seen.pending)
        assert shown.run.sent == []
        await shown.press("A")
        assert "extend a budget" in shown.pane("dialog_text").replace("\n", " ")
        shown.run.silent_once()
        await shown.press("enter")
        assert shown.run.sent == []
        assert f"AUTO: every request is approved as {ME}" in "\n".join(shown.drawn())
        await steering.consider(seen.pending)
        await steering.consider(seen.pending)
        assert (decided(shown).id, decided(shown).digest) == (ASKED, "d1")
        await shown.press("A")
        assert "AUTO" not in "\n".join(shown.drawn())
        await steering.consider((asked(digest="d9"),))
        assert len(shown.run.sent) == 1


async def test_no_text_of_others_is_markup_or_controls_the_terminal() -> None:
    task = {"id": EVIL, "status": "pending", "because": EVIL}
    graph = {"step": "agent/work", "counts": {"pending": 1}, "tasks": [task]}
    doing = [{"step": "agent/work", "since": AT}, {"step": f"agent/work/{EVIL}@1.1", "since": AT}]
    seen = working(asked(EVIL, prompt=EVIL, editable=True), graphs=[graph], doing=doing)
    seen.goal = EVIL
    seen.take_answers([writes(EVIL)])
    async with shown_run(seen, size=(200, 60)) as shown:
        shown.app.tell(EVIL)
        await shown.settled()
        screen = shown.drawn()
        await shown.press("e")
        screen += shown.drawn()
    assert sum("[bold red]x[/]" in line for line in screen) >= 7
    assert not [line for line in screen if {"\x1b", "\u202e", "\n"} & set(line)]


def large(tasks: int) -> RunView:
    """A run whose graph has many tasks."""
    rows = [
        {"id": f"task {number}", "status": "pending", "because": "it waits for 'read'"}
        for number in range(tasks)
    ]
    read = {"id": "read", "status": "in_progress", "because": "it is next"}
    counts = {"in_progress": 1, "pending": tasks}
    graph = {"step": "agent/work", "counts": counts, "tasks": [read, *rows]}
    return working(asked(), graphs=[graph])


async def test_every_width_shows_tasks_action_request_and_keys() -> None:
    """At first and after the terminal has got another size."""
    async with shown_run(large(200), size=(80, 24)) as shown:
        for size in ((80, 24), (120, 40), (200, 60)):
            await shown.pilot.resize_terminal(*size)
            await shown.settled()
            screen = shown.drawn()
            assert {cell_len(line) for line in screen} == {size[0]}
            assert len(screen) == size[1]
            text = "\n".join(screen)
            for part in ("r1  running", "Tasks", "task 1", "Action", "767 tokens", "make test"):
                assert part in text
            assert "a Approve" in screen[-1]
            assert "q Quit" in screen[-1]


async def test_a_redraw_draws_only_what_is_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two thousand tasks cost no more lines than the terminal has."""
    drawn: list[int] = []
    line = LinePane.render_line

    def counted(pane: LinePane, y: int) -> Strip:
        drawn.append(y)
        return line(pane, y)

    monkeypatch.setattr(LinePane, "render_line", counted)
    seen = large(2000)
    async with shown_run(seen, size=(200, 60)) as shown:
        drawn.clear()
        seen.began = BEGAN - timedelta(seconds=1)
        seen.take_answers([writes("more")])
        shown.app.redraw()
        await shown.pilot.pause()
    assert 0 < len(drawn) <= 2 * 60


async def test_the_next_request_is_selected() -> None:
    second = Pending(id="agent/other#1", prompt="And this?", since=AT)
    async with shown_run(working(asked(), second)) as shown:
        await shown.press("n")
        assert "And this?" in shown.pane("request")
