"""What a notification of a request says, and through which channels it goes."""

import pytest

from coterie.activities.contracts import Notification
from coterie.dsl.model.capabilities import Effect
from coterie.dsl.model.decision_terms import DecisionTerms
from coterie.dsl.values import Json
from coterie.workflows.approvals.approval_wait import notify
from coterie.workflows.core.location import Location
from coterie.workflows.core.requests import Pending, PlannedCall
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.core.state_parts import PendingNotification
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh

TEAM = Location.of_visit(MAIN, "work", 2)
PAGER: Json = {"notify": "pager"}
STEP = TEAM.at("in").at("ok")
REQUEST = Pending(
    id="work/ok#1",
    prompt="Good?",
    show={"n": 1},
    digest="d",
    approvers=("ann",),
    quorum=2,
    since="then",
    deadline="later",
    on_timeout="approve",
    edited=True,
)


def sent(
    request: Pending = REQUEST,
    *,
    plan: str = "",
    number: int = 1,
    here: Location = STEP,
    terms: Json = PAGER,
) -> list[PendingNotification]:
    of = plan_of(
        f"orchestration: {{entry_team: work, {plan} teams: {{work: {{tasks: [{{name: s}}]}}}}}}"
    )
    scope = StoppingScope(of, fresh(of, {}), World(lambda _: {}), None)
    scope.state.calls = 6
    kinds = DecisionTerms.model_validate(terms)
    named = notify(scope, here, request, kinds, "reminder", "It waits.", number)
    assert named is bool(scope.notifications)
    return scope.notifications


@pytest.mark.parametrize(
    ("show", "kept"),
    [
        ({"path": "a.txt", "content": "x" * 5000}, True),
        ({"changes": [{"file_path": "a.txt", "type": "delete"}], "why": "x" * 5000}, True),
        ({"path": "a.txt", "content": "x" * 500}, False),
        ({"path": "a.txt", "content": "x" * 300_000}, False),
        ({"text": "x" * 5000}, False),
    ],
)
def test_a_notification_keeps_a_large_change_for_its_diff_alone(show: Json, kept: bool) -> None:
    (one,) = sent(REQUEST.model_copy(update={"show": show}))
    assert one.message.subject == (show if kept else None)
    assert (one.message.show is None) is (len(str(show)) > 4000)


@pytest.mark.parametrize("effect", ["idempotent", "read"])
def test_a_notification_has_the_change_behind_what_its_request_shows(effect: Effect) -> None:
    change: Json = {"path": "a.txt", "content": "x"}
    call = PlannedCall(name="Files.write", effect=effect, input=change)
    (one,) = sent(REQUEST.model_copy(update={"show": "look", "call": call}))
    assert (one.message.show, one.message.subject) == ("look", change)
    assert one.message.call == ("Files.write" if effect == "idempotent" else "")


def test_a_notification_has_all_that_a_person_needs_to_decide() -> None:
    (one,) = sent()
    assert one.message == Notification(
        id=one.message.id,
        channel="pager",
        what="reminder",
        number=1,
        text="It waits.",
        run="test",
        plan="test",
        request="work/ok#1",
        prompt="Good?",
        show={"n": 1},
        digest="d",
        approvers=("ann",),
        quorum=2,
        since="then",
        deadline="later",
        on_timeout="fail",
    )
    assert (one.id, one.team, one.visit, one.step) == ("0007.work.ok.reminder", "work", 2, "in/ok")


def test_a_notification_says_what_the_condition_of_the_approval_found() -> None:
    asked = "context.n is 7 (" + "x" * 9000
    (one,) = sent(REQUEST.model_copy(update={"asked_because": asked}))
    assert one.message.asked_because.startswith("context.n is 7 (xxx")
    assert len(one.message.asked_because) < 2100
    assert sent()[0].message.asked_because == ""


@pytest.mark.parametrize(
    ("plan", "terms", "channels"),
    [
        ("", {}, []),
        ("notify: pager,", {}, ["pager"]),
        ("notify: pager,", {"notify": "mail"}, ["mail"]),
        ("notify: pager,", {"notify": ["mail", "chat"]}, ["mail", "chat"]),
        ("notify: pager,", {"notify": []}, []),
    ],
)
def test_the_channels_of_the_request_replace_those_of_the_plan(
    plan: str, terms: Json, channels: list[str]
) -> None:
    found = sent(plan=plan, terms=terms)
    assert [one.message.channel for one in found] == channels
    assert len({one.message.id for one in found}) == len({one.id for one in found}) == len(channels)


@pytest.mark.parametrize(("number", "name"), [(1, "reminder"), (2, "reminder2")])
def test_a_further_notification_has_its_number_in_its_name(number: int, name: str) -> None:
    (one,) = sent(number=number)
    assert (one.id, one.message.number) == (f"0007.work.ok.{name}", number)


def test_a_request_of_the_team_itself_names_no_step() -> None:
    (one,) = sent(here=TEAM)
    assert one.step is None


@pytest.mark.parametrize(("length", "is_shown"), [(3_998, True), (3_999, False)])
def test_a_value_of_exactly_the_most_characters_is_shown(length: int, is_shown: bool) -> None:
    show = "x" * length  # and two quotes
    (one,) = sent(REQUEST.model_copy(update={"show": show}))
    assert one.message.show == (show if is_shown else None)


def test_a_long_prompt_is_cut() -> None:
    (one,) = sent(REQUEST.model_copy(update={"prompt": "x" * 2_001}))
    assert one.message.prompt == "x" * 2_000 + " [cut off: 1 more characters]"
