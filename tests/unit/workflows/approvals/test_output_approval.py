"""A person allows what a step will send, or accepts what came of it."""

from typing import Literal

import pytest
from pydantic import JsonValue

from coterie.dsl.model.conditions import ContextField, Expression
from coterie.dsl.model.decision_terms import NEVER, CallApproval
from coterie.dsl.model.outcomes import Outcome
from coterie.workflows.approvals.output_approval import ApprovalSubject, with_approval
from coterie.workflows.core.causes.trail_because import asked_because, trail_because
from coterie.workflows.core.location import Location
from coterie.workflows.core.messages import DecideInput
from coterie.workflows.core.progress.step_progress import StepProgress
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.interpreter import run
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh

PLAN = plan_of("orchestration: {entry_team: a, teams: {a: {tasks: [{name: s}]}}}")
HERE = Location.of_visit(MAIN, "a", 1).at("s")


class Desk(StoppingScope):
    """Each request is decided at once, in this way."""

    verdict: Literal["approve", "reject"]

    def decision_about(self, request: Pending) -> DecideInput:
        return DecideInput(id=request.id, decision=self.verdict, by="ann", comment="so")


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("verdict", ["approve", "reject"])
async def test_decided_output_approval_leaves_no_state(
    when: Literal["before", "after"], verdict: Literal["approve", "reject"]
) -> None:
    desk = Desk(PLAN, fresh(PLAN, {}), World(lambda _: {}), None)
    desk.verdict = verdict
    worked: list[JsonValue] = []

    async def work(given: JsonValue) -> Outcome:
        worked.append(given)
        return Outcome.succeeded(given)

    subject = ApprovalSubject(given="text", allow="May it?", accept="Is it right?")
    outcome = await with_approval(CallApproval(at=when), subject, HERE, desk, work)
    assert outcome.success is (verdict == "approve")
    assert worked == ([] if (when, verdict) == ("before", "reject") else ["text"])
    assert desk.state.progress == StepProgress()


@pytest.mark.parametrize("at", ["before", "after"])
@pytest.mark.parametrize("tool", [None, "check"])
async def test_an_approval_that_asks_nobody_says_why_in_the_trail(
    at: Literal["before", "after"], tool: str | None
) -> None:
    desk = Desk(PLAN, fresh(PLAN, {"amount": 7}), World(lambda _: {}), None)
    desk.verdict = "reject"

    async def work(given: JsonValue) -> Outcome:
        return Outcome.succeeded(given)

    for limit, asked in ((100, False), (5, True)):
        when = ContextField(context_field="amount", operator="greater_than", value=limit)
        terms = CallApproval(at=at, when=when)
        subject = ApprovalSubject({"n": 1}, "May it?", "Is it right?", tool=tool)
        outcome = await with_approval(terms, subject, HERE, desk, work)
        assert outcome.success is (
            not asked or tool is not None
        )  # a tool sees nothing of the context
    entries = [entry for entry in desk.state.trail if entry.status == "not_asked"]
    found = "7" if tool is None else "missing"
    said = f"a/s needs no approval: context.amount is {found} (greater_than "
    assert [trail_because(entry.cause)[: len(said)] for entry in entries] == [said] * (
        1 if tool is None else 2
    )
    assert {(entry.kind, entry.step, entry.visit) for entry in entries} == {("approval", "s", 1)}
    assert desk.state.progress == StepProgress()


class Seeing(Desk):
    """Keeps what the condition of each request found."""

    def decision_about(self, request: Pending) -> DecideInput:
        assert request.asked is not None
        assert request.asked_because == asked_because(request.asked)
        self.seen = request.asked_because
        return super().decision_about(request)


@pytest.mark.parametrize("at", ["before", "after"])
@pytest.mark.parametrize(
    ("tool", "when", "found"),
    [
        (None, "{{ context.amount > 5 }}", "context.amount is 7 (context.amount > 5)"),
        ("pay", "{{ arguments.n > 0 }}", "arguments.n is 1 (arguments.n > 0)"),
        (None, "{{ context.gone.n > 5 }}", "its condition failed: "),
        ("pay", "{{ arguments.gone.n > 5 }}", "its condition failed: "),
    ],
)
async def test_an_approval_whose_condition_holds_or_fails_says_what_it_found(
    at: Literal["before", "after"], tool: str | None, when: str, found: str
) -> None:
    desk = Seeing(PLAN, fresh(PLAN, {"amount": 7}), World(lambda _: {}), None)
    desk.verdict = "approve"

    async def work(given: JsonValue) -> Outcome:
        return Outcome.succeeded(given)

    terms = CallApproval(at=at, when=Expression(expression=when))
    subject = ApprovalSubject({"n": 1}, "May it?", "Is it right?", tool=tool)
    assert (await with_approval(terms, subject, HERE, desk, work)).success
    assert desk.seen.startswith(found)
    (entry,) = [one for one in desk.state.trail if one.status == "asked"]
    assert trail_because(entry.cause) == f"a/s needs an approval: {desk.seen}"
    assert desk.state.progress == StepProgress()


@pytest.mark.parametrize("more", ["", ", timeout: 1h", ", retry: {retries: 1}"])
async def test_an_approval_step_says_what_its_when_found(more: str) -> None:
    plan = plan_of(
        "orchestration: {entry_team: a, teams: {a: {tasks: [{name: s, type: approval, prompt: ok, "
        f"when: '{{{{ context.amount > 5 }}}}'{more}}}]}}}}}}"
    )
    desk = Seeing(plan, fresh(plan, {"amount": 7}), World(lambda _: {}), None)
    desk.verdict = "approve"
    await run(desk)
    assert desk.seen == "context.amount is 7 (context.amount > 5)"


async def test_an_approval_for_no_case_asks_nobody_and_leaves_no_trace() -> None:
    desk = Desk(PLAN, fresh(PLAN, {}), World(lambda _: {}), None)
    desk.verdict = "reject"

    async def work(given: JsonValue) -> Outcome:
        return Outcome.succeeded(given)

    subject = ApprovalSubject("text", "May it?", "Is it right?")
    outcome = await with_approval(CallApproval(when=NEVER), subject, HERE, desk, work)
    assert (outcome.success, desk.state.trail) == (True, [])


class Reading(Desk):
    """Keeps what each request shows."""

    shown: tuple[str, JsonValue] = ("", None)

    def decision_about(self, request: Pending) -> DecideInput:
        self.shown = (request.prompt, request.show)
        return super().decision_about(request)


@pytest.mark.parametrize(
    ("prompt", "show", "tool", "shown"),
    [
        (None, None, None, ("May it?", "text")),
        ("Pay {{ context.n }}?", None, None, ("Pay 7?", "text")),
        (None, "{{ context.n }}", None, ("May it?", 7)),
        ("Pay {{ context.n }}?", "{{ context.n }}", None, ("Pay 7?", 7)),
        ("Pay 8?", None, "pay", ("Pay 8?", "text")),
    ],
)
async def test_a_request_shows_what_its_terms_say_of_the_context(
    prompt: str | None, show: JsonValue, tool: str | None, shown: tuple[str, JsonValue]
) -> None:
    desk = Reading(PLAN, fresh(PLAN, {"n": 7}), World(lambda _: {}), None)
    desk.verdict = "approve"

    async def work(given: JsonValue) -> Outcome:
        return Outcome.succeeded(given)

    subject = ApprovalSubject("text", "May it?", "Is it right?", tool=tool)
    terms = CallApproval(prompt=prompt, show=show)
    await with_approval(terms, subject, HERE, desk, work)
    assert desk.shown == shown
