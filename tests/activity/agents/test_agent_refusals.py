"""What the worker does not run: unknown types, foreign packages, plans without a runner."""

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.agents.agent_base import BaseAgent
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.contracts import AgentRequest, AgentResponse, FailureType
from coterie.dsl.model.steps import SetStep
from coterie.dsl.values import Json
from tests.support.agents import RecordingModel, legacy_request, persona, request, turn

PLAN = persona(execution_plan=[SetStep(name="one", kind="set", values={"a": 1})])


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (request(changes={"agent_type": "nope"}), "unknown agent_type 'nope'"),
        (request(changes={"agent_type": "Files.read"}), "'Files.read' is a tool function"),
        (request(changes={"agent_type": None}), "task 'design' needs `agent_type`"),
        (request(changes={"persona": None}), "unknown persona_key 'design'"),
        (legacy_request("Discovery"), r"not in a package that this worker allows \(none\)"),
        (
            legacy_request("Discovery", changes={"agent_type": "generic_single_shot"}),
            "both `agent_class` and `agent_type`",
        ),
        (
            request(who=PLAN, changes={"agent_type": "generic_orchestrating"}),
            "has an execution plan but no plan runner",
        ),
    ],
)
async def test_an_agent_that_the_worker_does_not_have_is_refused_for_good(
    wanted: AgentRequest, message: str
) -> None:
    with pytest.raises(ApplicationError, match=message) as caught:
        await turn(AgentActivities(RecordingModel()), wanted)
    assert (caught.value.type, caught.value.non_retryable) == (FailureType.AGENT_REFUSED, True)


class Echo(BaseAgent):
    """A worker's own agent type."""

    async def process(self, context: Json) -> AgentResponse:
        return AgentResponse(success=True, data={self.unique_name: context})


class Careless(BaseAgent):
    """Answers with anything."""

    async def process(self, context: Json) -> AgentResponse:
        return "done"  # type: ignore[return-value]


class Mangled(BaseAgent):
    """Answers with a text that is none."""

    async def process(self, context: Json) -> AgentResponse:
        return AgentResponse(success=True, data={"text": "so \ud800"}, model="model-1")


async def test_a_worker_adds_agent_types_of_its_own() -> None:
    activities = AgentActivities(RecordingModel(), agent_types={"echo": Echo})
    response = await turn(activities, request({"input": 1}, changes={"agent_type": "echo"}))
    assert response == AgentResponse(success=True, data={"design": {"input": 1}})


async def test_an_agent_type_that_answers_with_no_response_is_a_failure_of_the_agent() -> None:
    """Sent on as it is, it would make the workflow fail to read it, for ever."""
    activities = AgentActivities(RecordingModel(), agent_types={"careless": Careless})
    response = await turn(activities, request(changes={"agent_type": "careless"}))
    assert response.error is not None
    assert response.error.type == FailureType.AGENT_FAILED
    assert response.error.message == (
        "task 'design': its agent returned a str, not an AgentResponse"
    )


async def test_an_answer_that_cannot_be_sent_is_a_failure_of_the_agent() -> None:
    """Sent on as it is, the call would be paid for again with every retry."""
    activities = AgentActivities(RecordingModel(), agent_types={"mangled": Mangled})
    response = await turn(activities, request(changes={"agent_type": "mangled"}))
    assert response.error is not None
    assert response.error.type == FailureType.AGENT_FAILED
    assert "task 'design': its agent's answer is not JSON" in response.error.message
    assert response.model == "model-1"


def test_a_wrong_agent_type_stops_the_worker_and_not_its_first_run() -> None:
    with pytest.raises(AgentRefused, match="'generic_single_shot' is built in"):
        AgentActivities(RecordingModel(), agent_types={"generic_single_shot": Echo})
