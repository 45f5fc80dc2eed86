"""A printed command decides the request when the reader pastes it, wherever it is printed."""

import io
import re
import shlex
from collections.abc import Callable, Sequence

import pytest
from pydantic import JsonValue
from temporalio.client import Client

from coterie.activities.contracts import TokenUsage
from coterie.arguments import login_name
from coterie.commands.parser import parse_command
from coterie.control.deciding_names import DecidingNames
from coterie.display.decide_command import WantedRequests, left_out_of_several
from coterie.display.decider import Decider
from coterie.display.following.live import LiveView, SafeConsole
from coterie.display.following.plain_view import PlainView
from coterie.display.watch_command import DecisionHints
from coterie.dsl.person_names import is_among
from coterie.mcp_server.run_reports import waiting_approval
from coterie.rendering.request_text import PendingOfRun, pending_text, plain_lines, request_text
from coterie.runs.run_client import Run
from coterie.runs.run_view import RunNews
from coterie.workflows.approvals.decisions import refusal
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.requests import Pending, RequestView
from coterie.workflows.core.state import RunState
from coterie.workflows.core.views import RunStatus

RUN = "my run"
STATUS = RunStatus(
    plan="p",
    digest="d",
    state="waiting",
    team="pay",
    visit=1,
    teams_run=1,
    max_total_teams=9,
    visits={},
    model_calls=0,
    function_calls=0,
    usage=TokenUsage(),
    events=1,
)
LOGIN = login_name()


def request(**given: JsonValue) -> Pending:
    plain: dict[str, JsonValue] = {
        "id": "pay/each/0/it's#1",
        "prompt": "Pay?",
        "show": 7,
        "digest": "d" * 64,
        "since": "2026-01-02T03:04:05.678+00:00",
    }
    return Pending.model_validate({**plain, **given})


REQUESTS = {
    "anyone": request(),
    "the reader": request(approvers=["Ann Lee", LOGIN.upper()]),
    "others": request(approvers=["Ann Lee", "o'neil"]),
    "one of two has approved": request(approvers=["ann", "ben"], approved_by=["Ann"], quorum=2),
    "changed": request(approvers=["ann"], edited=True),
    "needs its digest": request(digest_required=True),
    "failed task": request(id="pay/it/failed#1", choices=["retry", "skip", "fail"]),
    "failed task of others": request(
        id="pay/it/failed#1", choices=["retry", "skip", "fail"], approvers=["o'neil"]
    ),
    "long": request(show="y" * 9000, approvers=["ann"]),
    "cut": request(show="y", cut=True),
}


def _live(one: Pending) -> str:
    console = SafeConsole(file=io.StringIO(), width=120, height=200, no_color=True)
    view = LiveView(RUN, color=False, console=console, asks=False)
    view.progress(RunNews(STATUS, (), [one]))
    view.close()
    lines = [line.strip(" │") for line in _drawn(view).splitlines()]
    return " ".join(lines)


def _drawn(view: LiveView) -> str:
    file = io.StringIO()
    SafeConsole(file=file, width=120, height=200, no_color=True).print(view.drawn())
    return file.getvalue()


class _Said(PlainView):
    """Keeps what is said."""

    def __init__(self) -> None:
        super().__init__(RUN)
        self.text = ""

    def show(self, request: Pending) -> None:
        """Show nothing else."""

    def say(self, text: str) -> None:
        """Keep it."""
        self.text += text


async def _unserved() -> Run:
    """A run that is not asked for anything."""
    return Run(await Client.connect("127.0.0.1:1", lazy=True), RUN)


async def _unattended(one: Pending) -> str:
    view = _Said()
    whole = one.model_copy(update={"cut": False})
    await Decider(await _unserved(), view, (), interactive=False).consider([whole])
    return view.text


async def _watched(one: Pending) -> str:
    view = _Said()
    await DecisionHints(await _unserved(), view, live=False).consider([one])
    return view.text


PLACES: dict[str, Callable[[Pending], object]] = {
    "pending": lambda one: pending_text([PendingOfRun(RUN, one)], LOGIN),
    "show": lambda one: request_text(RUN, RequestView(pending=one), LOGIN),
    "live": _live,
    "run without a terminal": _unattended,
    "watch": _watched,
    "mcp": lambda one: waiting_approval(RUN, one, None).decide,
    "plain": lambda one: "\n".join(plain_lines(RUN, one, None)),
}
"""Every place that prints how to decide a request."""
_COMMAND = re.compile(r"coterie ((?:(?!   |\]|\n|`|coterie ).)*)")


def commands(text: str) -> list[list[str]]:
    return [shlex.split(found) for found in _COMMAND.findall(text)]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", REQUESTS)
async def test_a_printed_command_runs_as_printed(place: str, name: str) -> None:
    one = REQUESTS[name]
    printed = PLACES[place](one)
    text = printed if isinstance(printed, str) else str(await printed)  # pyright: ignore
    found = [parse_command(words) for words in commands(text)]
    verbs = {verb for verb, _ in found}
    if place != "plain":
        wanted = {"retry", "skip", "reject"} if one.choices else {"approve", "reject"}
        assert wanted <= verbs, text
    for verb, given in found:
        assert given.run == RUN
        if verb == "show":
            assert given.request == one.id
            continue
        by = given.by or LOGIN
        if verb in ("retry", "skip"):
            assert given.task == "pay/it"
            assert not one.approvers or is_among(by, one.approvers)
            continue
        assert given.request == one.id
        digest = given.digest or (None if one.edited else one.digest)
        fields = {"id": one.id, "decision": verb, "by": by, "digest": digest}
        asked = DecideInput.model_validate(fields)
        assert refusal(RunState(pending={one.id: one}), asked) is None, text


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["anyone", "others", "failed task of others"])
async def test_a_printed_command_names_a_key_where_a_decision_needs_a_signature(
    place: str, name: str
) -> None:
    printed = PLACES[place](REQUESTS[name].model_copy(update={"signed": True}))
    text = printed if isinstance(printed, str) else str(await printed)  # pyright: ignore
    found = [parse_command(words) for words in commands(text)]
    deciding = [given for verb, given in found if verb != "show"]
    assert deciding or place == "plain", text
    assert {(str(given.key), given.by) for given in deciding} <= {("FILE", None)}


@pytest.mark.parametrize(
    ("name", "every", "pattern"),
    [
        (None, True, "*"),
        ("pay/*", False, "pay/*"),
        ("pay/?#1", False, "pay/?#1"),
        ("pay/a#1", False, None),
        (None, False, None),
    ],
)
def test_a_pattern_stands_for_several_requests(
    name: str | None, every: bool, pattern: str | None
) -> None:
    assert WantedRequests(name, every).pattern == pattern


@pytest.mark.parametrize(
    ("one", "decision", "left_out"),
    [
        (REQUESTS["anyone"], "approve", False),
        (REQUESTS["anyone"], "reject", False),
        (REQUESTS["failed task"], "approve", True),
        (REQUESTS["failed task"], "reject", False),
        (REQUESTS["one of two has approved"], "approve", True),
        (request(id="pay/it/input#1"), "approve", True),
    ],
)
def test_several_decisions_leave_out_what_needs_one_of_its_own(
    one: Pending, decision: str, left_out: bool
) -> None:
    asked = DecideInput.model_validate({"id": "", "decision": decision, "by": "ann"})
    assert (left_out_of_several(one, asked, "ann") is not None) is left_out


@pytest.mark.parametrize(
    ("given", "asked_for", "names"),
    [
        (None, [[], ["ann", "ben"], ["ben"], ["ANN"]], ["me", None, None, "ann"]),
        (None, [["me"], ["ann"]], ["me", None]),
        ("zoe", [[], ["ann"]], ["zoe", "zoe"]),
    ],
)
def test_a_person_is_asked_once_for_each_name(
    given: str | None, asked_for: Sequence[Sequence[str]], names: Sequence[str | None]
) -> None:
    known = DecidingNames("me", given)
    found: list[str | None] = []
    for approvers in asked_for:
        found.append(known.allowed(approvers))
        if found[-1] is None and "ann" in approvers:
            known.add("ann")
    assert found == list(names)
