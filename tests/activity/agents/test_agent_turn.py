"""One turn of an agent: exactly one model call, and what its answer comes to."""

from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import AgentError, AgentResponse, Conversation, FailureType
from coterie.activities.providers.message_model import ModelMessage
from coterie.activities.providers.provider import ModelRequest, ProviderSettings
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.provider_registry import Providers
from coterie.activities.storage.blobs import DirectoryBlobs
from coterie.dsl.values import Json
from tests.support.agents import USAGE, RecordingModel, answer, persona, request, turn

VERDICT: Json = {
    "type": "object",
    "properties": {"verdict": {"enum": ["yes", "no"]}},
    "required": ["verdict"],
}


async def test_every_field_of_the_persona_reaches_the_one_model_call() -> None:
    model = RecordingModel(answer('{"verdict": "yes"}'))
    who = persona(
        temperature=0.2,
        top_p=0.9,
        max_tokens=500,
        timeout=42,
        output_schema=VERDICT,
        flags={"tone": "dry"},
        prompts={
            "system": "Be {{ flags.tone }}.",
            "user": "Design {{ input.goal }} after {{ tasks.read.data.files | length }} files.",
        },
    )
    inputs: Json = {"input": {"goal": "a {{ door }}"}, "tasks": {"read": {"data": {"files": [1]}}}}
    response = await turn(AgentActivities(model), request(inputs, who))
    assert model.requests == [
        ModelRequest(
            model="model-1",
            messages=(ModelMessage.of("user", "Design a {{ door }} after 1 files."),),
            system="Be dry.",
            max_tokens=500,
            temperature=0.2,
            top_p=0.9,
            output_schema=VERDICT,
            timeout=42.0,
            label="solution/design#2.0",
            call="test-run/test",
        )
    ]
    assert response == AgentResponse(
        success=True, data={"verdict": "yes"}, usage=USAGE, model="model-2026"
    )


async def test_the_same_request_twice_asks_the_model_the_same() -> None:
    model = RecordingModel(answer(), answer())
    activities = AgentActivities(model)
    for _ in range(2):
        await turn(activities, request({"input": "x"}))
    assert model.requests[0] == model.requests[1]


async def test_a_scripted_model_answers_by_team_task_visit_and_reask(tmp_path: Path) -> None:
    script = tmp_path / "answers.yml"
    script.write_text(
        "answers:\n"
        "  - {task: solution/design, visit: 2, answer: second visit}\n"
        "  - {task: solution/design, answer: first visit}\n"
        "  - {task: solution/design, visit: 2, reask: 1, answer: asked again}\n"
    )
    settings = ProviderSettings(name="recorded", kind="scripted", answers=str(script))
    activities = AgentActivities(Providers({"recorded": settings}))
    again = {"reask": {"number": 1, "answer": "?", "problem": "why"}}
    responses = [
        await turn(activities, request()),
        await turn(activities, request(changes=again)),
    ]
    assert [response.data for response in responses] == [
        {"text": "second visit"},
        {"text": "asked again"},
    ]


async def test_a_cut_answer_is_a_failure_that_names_task_model_and_limit() -> None:
    model = RecordingModel(answer('{"verdict": "yes"}', stop_reason="max_tokens"))
    who = persona(max_tokens=64, output_schema=VERDICT)
    response = await turn(AgentActivities(model), request(who=who))
    assert response == AgentResponse(
        success=False,
        error=AgentError(
            type=FailureType.ANSWER_TRUNCATED,
            message="task 'design': the answer of model-2026 was cut off at max_tokens (64); raise "
            "max_tokens in the persona or ask for less",
        ),
        usage=USAGE,
        model="model-2026",
    )


async def test_a_declined_answer_is_a_failure_that_names_task_and_model() -> None:
    model = RecordingModel(answer("No.", stop_reason="refusal"))
    response = await turn(AgentActivities(model), request())
    assert response.error == AgentError(
        type=FailureType.ANSWER_REFUSED, message="task 'design': model-2026 declined to answer"
    )
    assert (response.success, response.usage) == (False, USAGE)


async def test_an_answer_against_the_schema_is_kept_for_a_reask() -> None:
    model = RecordingModel(answer('{"verdict": "maybe"}'))
    response = await turn(AgentActivities(model), request(who=persona(output_schema=VERDICT)))
    assert response == AgentResponse(
        success=False,
        error=AgentError(
            type=FailureType.ANSWER_UNUSABLE,
            message="the answer does not match the output schema: "
            '$.verdict is "maybe", not one of "yes", "no"'
            '; the answer starts with: \'{"verdict": "maybe"}\'',
        ),
        usage=USAGE,
        model="model-2026",
        answer='{"verdict": "maybe"}',
    )
    assert len(model.requests) == 1


@pytest.mark.parametrize(("schema", "success"), [(None, False), (VERDICT, True)])
async def test_an_unexplained_end_is_trusted_only_when_the_answer_is_whole(
    schema: Json | None, success: bool
) -> None:
    model = RecordingModel(answer('{"verdict": "yes"}', stop_reason="other"))
    response = await turn(AgentActivities(model), request(who=persona(output_schema=schema)))
    assert response.success is success
    assert (response.error is None) is success


@pytest.mark.parametrize(
    ("schema", "asked"),
    [
        (VERDICT, "Answer again, in full, with one JSON value and nothing else."),
        (None, "Answer again, in full."),
    ],
)
async def test_a_reask_shows_the_model_its_answer_and_the_problem(
    schema: Json | None, asked: str
) -> None:
    model = RecordingModel(answer('{"verdict": "no"}'))
    again = {"reask": {"number": 2, "answer": "maybe {{ x }}", "problem": "it is not JSON"}}
    await turn(AgentActivities(model), request(None, persona(output_schema=schema), again))
    (asked_again,) = model.requests
    assert asked_again.label == "solution/design#2.2"
    assert asked_again.messages == (
        ModelMessage.of("user", "Go."),
        ModelMessage.of("assistant", "maybe {{ x }}"),
        ModelMessage.of("user", f"Your answer could not be used: it is not JSON\n\n{asked}"),
    )


async def test_a_reask_after_an_empty_answer_sends_no_empty_message() -> None:
    model = RecordingModel(answer())
    again = {"reask": {"number": 1, "answer": " \n", "problem": "it is empty"}}
    await turn(AgentActivities(model), request(changes=again))
    assert model.requests[0].messages == (
        ModelMessage.of(
            "user", "Go.\n\nYour answer could not be used: it is empty\n\nAnswer again, in full."
        ),
    )


async def test_a_provider_failure_keeps_its_type_and_says_when_to_try_again() -> None:
    failure = ProviderFailure(
        FailureType.RATE_LIMITED, "slow down", retryable=True, retry_after=7.0
    )
    with pytest.raises(ApplicationError, match="slow down") as caught:
        await turn(AgentActivities(RecordingModel(failure)), request())
    assert caught.value.type == FailureType.RATE_LIMITED
    assert not caught.value.non_retryable
    assert caught.value.next_retry_delay is not None
    assert 7.0 <= caught.value.next_retry_delay.total_seconds() <= 7.7


@pytest.mark.parametrize("schema", [None, {"type": "object"}])
async def test_an_answer_too_large_to_travel_is_a_named_failure(schema: Json | None) -> None:
    """Also when it is unusable: then its text would travel for the re-ask."""
    model = RecordingModel(answer("é" * 800_000))
    response = await turn(AgentActivities(model), request(who=persona(output_schema=schema)))
    assert response.error is not None
    assert response.error.type == FailureType.ANSWER_TOO_LARGE
    assert "task 'design': the answer has 1,6" in response.error.message
    assert (response.data, response.answer, response.usage) == (None, None, USAGE)


async def test_a_character_cut_in_half_does_not_keep_the_answer_from_a_reask() -> None:
    response = await turn(AgentActivities(RecordingModel(answer("so \ud800"))), request())
    assert response.error is not None
    assert response.error.type == FailureType.ANSWER_UNUSABLE
    assert response.answer == "so ?"


async def test_an_output_schema_that_cannot_be_used_is_refused_before_the_call() -> None:
    model = RecordingModel()
    who = persona(output_schema={"$ref": "http://127.0.0.1:9/schema"})
    with pytest.raises(
        ApplicationError, match="output_schema of agent 'design': it refers to"
    ) as e:
        await turn(AgentActivities(model), request(who=who))
    assert (e.value.type, e.value.non_retryable) == (FailureType.AGENT_REFUSED, True)
    assert model.requests == []


async def test_an_unusable_answer_stays_in_the_conversation_and_one_without_text_does_not(
    tmp_path: Path,
) -> None:
    model = RecordingModel(answer("no"), answer(" "), answer('{"verdict": "yes"}'))
    agents = AgentActivities(model, blobs=DirectoryBlobs(tmp_path))
    who = persona(output_schema=VERDICT)
    first = await turn(agents, request(who=who, changes={"conversation": Conversation()}))
    assert first.error is not None
    assert (first.error.type, first.answer) == (FailureType.ANSWER_UNUSABLE, "no")
    asked = {"conversation": Conversation(head=first.conversation)}
    empty = await turn(agents, request(who=who, changes=asked))
    assert (empty.success, empty.conversation) == (False, None)
    assert (await turn(agents, request(who=who, changes=asked))).data == {"verdict": "yes"}
    assert [message.text for message in model.requests[2].messages] == ["Go.", "no", "Go."]
