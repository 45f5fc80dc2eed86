"""The stub model answers from the scripts of a case, and its time passes on the run's clock."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from coterie.activities.contracts import END_MARGIN, FailureType
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripts.script import ScriptedAnswer
from coterie.dsl.values import Json
from coterie.testing.simulation.stub_model import StubModel, with_time_to_think
from tests.support.compiling import plan_of

REQUEST = ModelRequest("m", (), label="t/s#3.0", turn=2, timeout=60)
START = datetime(2026, 1, 2, tzinfo=UTC)


def script(*entries: Json) -> list[ScriptedAnswer]:
    return [ScriptedAnswer.model_validate({"task": "s", "answer": "a"} | one) for one in entries]


def answer_of(*scripts: list[ScriptedAnswer]) -> object:
    """The answer of the entry that a call takes."""
    provider = StubModel(scripts).get("any")
    return provider._entry(REQUEST).answer  # pyright: ignore[reportPrivateUsage]


MINE: Json = {"answer": "mine"}
EVERY: Json = {}


@pytest.mark.parametrize(
    ("own", "shared", "answer"),
    [
        ([MINE], [EVERY], "mine"),
        ([], [EVERY], "a"),
        ([MINE], [], "mine"),
        ([MINE], [{"visit": 3}], "mine"),
        ([MINE | {"visit": 1}], [EVERY], "mine"),
        ([MINE | {"visit": 1}], [{"visit": 1}], "mine"),
        ([MINE | {"visit": 1}], [{"visit": 2}], "a"),
        ([MINE | {"visit": 2}], [{"visit": 1}], "mine"),
        ([MINE | {"turn": 1}], [{"turn": 2}], "a"),
        ([MINE | {"turn": 2}], [{"turn": 2}], "mine"),
    ],
)
def test_the_case_comes_before_its_file_unless_the_file_has_a_later_turn_or_visit(
    own: list[Json], shared: list[Json], answer: str
) -> None:
    assert answer_of(script(*own), script(*shared)) == answer


def test_a_call_without_an_entry_fails_at_once_and_says_which_to_add() -> None:
    model = StubModel([script({"task": "other"})])
    with pytest.raises(ProviderFailure) as failed:
        model.get("any")._entry(REQUEST)  # pyright: ignore[reportPrivateUsage]
    fix = "add an entry like `- {task: t/s, visit: 3, turn: 2, answer: ...}`"
    assert (failed.value.kind, failed.value.retryable) == (FailureType.PROVIDER_REFUSED, False)
    assert failed.value.message == f"the test has no answer for 't/s#3.0': {fix}"
    assert model.unanswered == {"t/s#3.0": fix}


async def take_time(seconds: float, passed: float, allowed: float | None) -> None:
    """Let the time of an answer pass in an attempt that starts so long after the call."""
    environment = ActivityEnvironment()
    environment.info = replace(
        environment.info,
        scheduled_time=START,
        started_time=START + timedelta(seconds=passed),
        start_to_close_timeout=None if allowed is None else timedelta(seconds=allowed) + END_MARGIN,
    )
    provider = StubModel([]).get("any")
    taking = provider._take_time  # pyright: ignore[reportPrivateUsage]
    await environment.run(taking, seconds, REQUEST)


@pytest.mark.parametrize(
    ("seconds", "passed", "allowed", "delay", "kind"),
    [
        (0, 0, None, None, None),
        (5, 5, None, None, None),
        (5, 4.9995, None, None, None),
        (5, 4.999, None, None, None),
        (5, 4.99, None, 0.01, "Thinking"),
        (5, 0, None, 5, "Thinking"),
        (90, 0, None, 60, "Thinking"),
        (90, 60, None, None, "Timeout"),
        (60, 60, None, None, "Timeout"),
        (59, 59, None, None, None),
        (30, 0, 20, 20, "Thinking"),
        (30, 20, 20, None, "Timeout"),
        (90, 90, 100, None, None),
    ],
)
async def test_an_answer_comes_when_its_time_has_passed_on_the_clock_of_the_run(
    seconds: float, passed: float, allowed: float | None, delay: float | None, kind: str | None
) -> None:
    if kind is None:
        await take_time(seconds, passed, allowed)
        return
    with pytest.raises(ApplicationError) as failed:
        await take_time(seconds, passed, allowed)
    error = failed.value
    assert (error.type, error.non_retryable) == (kind, kind == "Timeout")
    assert error.next_retry_delay == (None if delay is None else timedelta(seconds=delay))


PLAN = """
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas: { writer: { prompts: { user: "Write." } }, other: { prompts: { user: "Write." } } }
orchestration:
  entry_team: t
  teams:
    t:
      tasks:
        - { name: a, agent_type: generic_single_shot, persona_key: writer }
        - { name: b, agent_type: generic_single_shot, persona_key: other }
"""


def test_every_model_call_of_a_plan_gets_attempts_that_only_let_time_pass() -> None:
    plan = plan_of(PLAN)
    patient = with_time_to_think(plan)
    assert {persona.retries for persona in patient.personas.values()} == {100}
    assert patient.digest == patient.with_digest().digest != plan.digest
