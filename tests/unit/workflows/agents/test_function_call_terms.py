"""One call of a function: the limits it gets, what it forgets, and what becomes of a lost task."""

from typing import cast

import pytest

from coterie.activities.contracts import CallOptions, FunctionRequest, FunctionResult
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.step_kinds.step_base import FunctionTerms
from coterie.dsl.model.tools.asked_input import AskedInput
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.agents.function_calls import FunctionCall, call_function
from coterie.workflows.core.location import Location
from coterie.workflows.core.scope import Call, CallFailed
from coterie.workflows.core.state_keys import MAIN, StateKey
from coterie.workflows.core.state_parts import CachedResult
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh

PLAN = plan_of("orchestration: {entry_team: work, teams: {work: {tasks: [{name: s}]}}}")
HERE = Location.of_visit(MAIN, "work", 1).at("in").at("s")
READ: Json = {"effect": "read", "timeout": 2, "retries": 0, "local_activity": True}


class Calling(StoppingScope):
    """Calls that come to these answers; a text is the type of a failure, `None` asks for a task."""

    def __init__(self, *answers: JsonValue) -> None:
        super().__init__(PLAN, fresh(PLAN, {}), World(lambda _: {}), None)
        self.answers = [*answers]
        self.made: list[Call] = []
        self.requests: list[FunctionRequest] = []
        self.known: list[str] = []
        """What the run has read when the latest call begins."""
        self.state.cached_results["read before"] = CachedResult(1)

    async def call_function(self, request: FunctionRequest, call: Call) -> FunctionResult:
        self.made.append(call)
        self.requests.append(request)
        self.known = list(self.state.cached_results)
        self.state.cached_results.setdefault("read meanwhile", CachedResult(1))
        answer = self.answers.pop(0)
        if answer is None:
            asked = AskedInput.model_validate({"task": {"id": "job"}})
            raise CallFailed("InputRequired", "wait", asked=asked)
        if isinstance(answer, str):
            raise CallFailed(answer, "on purpose")
        return FunctionResult(data=answer)

    async def call(
        self, terms: Json | None, seconds: float | None = None, here: Location = HERE
    ) -> Outcome:
        known = None if terms is None else FunctionTerms.model_validate(terms)
        return await call_function(FunctionCall("A.b", {"x": 1}, known, seconds), here, self)


@pytest.mark.parametrize(
    ("terms", "seconds", "expected"),
    [
        (None, None, CallOptions(60, 0, "once")),
        ({"effect": "once", "timeout": 9, "retries": 0}, None, CallOptions(9, 0, "once")),
        (
            {"effect": "idempotent", "timeout": 9, "retries": 3, "startup": 5},
            2,
            CallOptions(7, 3, "idempotent"),
        ),
        (READ, None, CallOptions(2, 0, "read", local_timeout=2)),
        (READ, 1, CallOptions(1, 0, "read", local_timeout=1)),
        (READ, 4, CallOptions(4, 0, "read", local_timeout=2)),
        ({**READ, "timeout": 2.5}, None, CallOptions(2.5, 0, "read")),
        ({**READ, "timeout": 9}, 2, CallOptions(2, 0, "read", local_timeout=2)),
        ({**READ, "retries": 1}, None, CallOptions(2, 1, "read")),
        ({**READ, "effect": "idempotent"}, None, CallOptions(2, 0, "idempotent")),
        ({**READ, "local_activity": False}, None, CallOptions(2, 0, "read")),
    ],
)
async def test_a_call_has_the_limits_of_its_terms_and_of_its_step(
    terms: Json | None, seconds: float | None, expected: CallOptions
) -> None:
    scope = Calling({"n": 1})
    scope.state.calls = 4
    assert await scope.call(terms, seconds) == Outcome.succeeded({"n": 1})
    (call,) = scope.made
    assert (call.id, call.step, call.options) == ("0005.work.s", "work/in/s", expected)
    assert (scope.state.calls, scope.state.function_calls) == (5, 1)
    assert scope.requests[0].key == "test/first/work/in/s#1"


@pytest.mark.parametrize("answer", [{"n": 1}, "FunctionFailed"])
@pytest.mark.parametrize(
    ("effect", "kept"),
    [("read", ["read before", "read meanwhile"]), ("idempotent", []), ("once", [])],
)
async def test_a_call_with_an_effect_forgets_what_was_read_before_and_meanwhile(
    effect: str, kept: list[str], answer: JsonValue
) -> None:
    scope = Calling(answer)
    await scope.call({"effect": effect, "timeout": 9, "retries": 0})
    assert scope.known == (["read before"] if effect == "read" else [])
    assert list(scope.state.cached_results) == kept


@pytest.mark.parametrize(
    ("personas", "payer"), [((), ""), (("coder",), "coder"), (("lead", "coder"), "coder")]
)
async def test_a_call_counts_for_the_innermost_persona(
    personas: tuple[str, ...], payer: str
) -> None:
    scope = Calling({"n": 1})
    await scope.call(READ, here=HERE._replace(personas=personas))
    (tally,) = scope.state.tallies.values()
    assert (tally.task, tally.persona, tally.tool, tally.calls) == ("work/in/s", payer, "A.b", 1)


@pytest.mark.parametrize(
    ("effect", "failure", "expected"),
    [
        ("once", "Timeout", ("OutcomeUnknown", "the task of A.b was lost: on purpose")),
        ("once", "FunctionFailed", ("FunctionFailed", "on purpose")),
        ("once", "FunctionRefused", ("FunctionRefused", "on purpose")),
        ("once", "OutcomeUnknown", ("OutcomeUnknown", "on purpose")),
        ("idempotent", "Timeout", ("Timeout", "on purpose")),
        ("read", "Timeout", ("Timeout", "on purpose")),
    ],
)
async def test_a_lost_task_whose_effect_must_not_repeat_is_unknown(
    effect: str, failure: str, expected: tuple[str, str]
) -> None:
    scope = Calling(None, failure)
    outcome = await scope.call({"effect": effect, "timeout": 9, "retries": 0})
    assert outcome == Outcome.failed(*expected)


@pytest.mark.parametrize(
    ("effect", "kept"), [("read", ["read before", "read meanwhile"]), ("once", [])]
)
async def test_a_task_is_asked_for_by_calls_that_may_repeat(effect: str, kept: list[str]) -> None:
    scope = Calling(None, None, {"n": 1})
    terms: Json = {"effect": effect, "timeout": 9, "retries": 0, "local_activity": True}
    assert await scope.call(terms, 8) == Outcome.succeeded({"n": 1})
    polls = CallOptions(300, 10, "read")
    assert [call.options for call in scope.made[1:]] == [polls, polls]
    assert {request.key for request in scope.requests} == {"test/first/work/in/s#1"}
    assert list(scope.state.cached_results) == kept
    assert scope.state.progress.call_inputs == {}


async def test_only_a_loop_refuses_a_call_that_keeps_its_result() -> None:
    loop = StateKey.at(MAIN, "work", 1, "in")
    for here, last in ((HERE, None), (HERE._replace(loop=loop), "RepeatedCall")):
        scope = Calling(*[cast("JsonValue", {"n": 1})] * 5)
        ends = [await scope.call(READ, here=here) for _ in range(5)]
        errors = [None if one.error is None else one.error.type for one in ends]
        assert errors == [None] * 4 + [last]
