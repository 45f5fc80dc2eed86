"""The text of a turn in progress travels in heartbeats, with the usage and without secrets."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.exceptions import ApplicationError

from coterie.activities.agent_activity import AgentActivities
from coterie.activities.contracts import FailureType, LiveTail, Spent, TokenUsage
from coterie.activities.providers.provider import Completion, ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripted import ScriptedProvider
from coterie.dsl.known_secrets import KnownSecrets
from tests.support.agents import answer, environment, persona, request

KEY = "hunter2-Xk29vQzL-7sWm4TtE"
STREAMING = persona(stream=True)


class WritingModel:
    """A provider that writes given pieces, and waits after each until it was sent."""

    def __init__(self, *pieces: str, fails: bool = False) -> None:
        self._pieces = pieces
        self._fails = fails
        self.environment = environment()
        info = replace(self.environment.info, heartbeat_timeout=timedelta(seconds=30), attempt=2)
        self.environment.info = info
        self.environment.on_heartbeat = self._beat
        self.beats: list[tuple[object, ...]] = []
        self._sent = asyncio.Event()
        self.streams = False

    def _beat(self, *details: object) -> None:
        self.beats.append(details)
        self._sent.set()

    @property
    def tails(self) -> list[LiveTail]:
        """The text of each heartbeat."""
        return [LiveTail.model_validate(one[1]) for one in self.beats if len(one) > 1]

    async def complete(self, request: ModelRequest) -> Completion:
        self.streams = request.on_text is not None
        for piece in self._pieces:
            if request.on_text is not None:
                self._sent.clear()
                request.on_text(piece)
                await asyncio.wait_for(self._sent.wait(), 30)
        if self._fails:
            broken, used = FailureType.PROVIDER_UNAVAILABLE, TokenUsage(7, 3)
            raise ProviderFailure(broken, "broke off", retryable=True, usage=used)
        return answer("".join(self._pieces))

    async def close(self) -> None:
        """Nothing is held open."""

    def get(self, name: str) -> "WritingModel":
        """Every name is this model's."""
        return self


async def test_each_piece_is_sent_with_the_number_of_the_attempt() -> None:
    model = WritingModel("Hello ", "world")
    turn = model.environment.run(AgentActivities(model).run_agent, request(who=STREAMING))
    response = await turn
    assert response.data == {"text": "Hello world"}
    assert [(tail.attempt, tail.text) for tail in model.tails][-2:] == [
        (2, "Hello "),
        (2, "Hello world"),
    ]


async def test_a_persona_that_does_not_stream_sends_no_text() -> None:
    model = WritingModel("Hello")
    await model.environment.run(AgentActivities(model).run_agent, request())
    assert (model.streams, model.tails) == (False, [])


async def test_a_secret_that_two_pieces_share_is_never_sent() -> None:
    model = WritingModel("The key is ", KEY[:7], KEY[7:15], KEY[15:], ", keep it")
    activities = AgentActivities(model, known=KnownSecrets([KEY]))
    await model.environment.run(activities.run_agent, request(who=STREAMING))
    assert model.tails[-1].text == "The key is ***, keep it"
    assert not any(KEY[:4] in tail.text for tail in model.tails)


async def test_a_stream_that_breaks_hands_on_its_usage_and_leaves_its_text_visible() -> None:
    model = WritingModel("Half an", fails=True)
    with pytest.raises(ApplicationError) as caught:
        await model.environment.run(AgentActivities(model).run_agent, request(who=STREAMING))
    assert not caught.value.non_retryable
    (spent,) = caught.value.details
    assert Spent.model_validate(spent).usage == TokenUsage(7, 3)
    assert Spent.model_validate(model.beats[-1][0]).usage == TokenUsage(7, 3)
    assert model.tails[-1].text == "Half an"


async def test_only_the_end_of_a_long_answer_is_sent_and_says_where_it_begins() -> None:
    text = "".join(f"{number:05} " for number in range(2_000))
    model = WritingModel(text)
    await model.environment.run(AgentActivities(model).run_agent, request(who=STREAMING))
    tail = model.tails[-1]
    assert tail.text == text[tail.start :]
    assert 1_000 < len(tail.text) <= 4_000


async def test_a_scripted_answer_is_spread_over_its_seconds(tmp_path: Path) -> None:
    script = tmp_path / "answers.yml"
    script.write_text("answers:\n  - {task: t, seconds: 0.2, answer: 'one two  three four'}\n")
    shown: list[str] = []
    asked = ModelRequest("m", (), label="team/t#1.0", on_text=shown.append)
    completion = await ScriptedProvider(script).complete(asked)
    assert "".join(shown) == completion.text
    assert len(shown) == 4
