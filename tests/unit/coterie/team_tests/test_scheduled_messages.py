"""The messages of a case: each after the one before it, with the reply that the case expects."""

import asyncio
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from temporalio.client import WorkflowUpdateFailedError
from temporalio.exceptions import ApplicationError

from coterie.dsl.values import Json
from coterie.runs.run_client import Run
from coterie.testing.files.case_document import MessageDocument
from coterie.testing.simulation.scheduled_events import ROUNDED, Scene
from coterie.testing.simulation.scheduled_messages import Messages
from coterie.workflows.core.messages import SEND_MESSAGE
from tests.unit.coterie.runs.test_run_client import GONE, Server, run_on

NOW = datetime(2026, 1, 2, tzinfo=UTC)
WAITS = ("t/hear",)


class Session(Server):
    """A session whose replies come as the test gives them; None: it never replies."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(message=list(replies))

    def get_workflow_handle(self, id: str, run_id: str | None = None, **options: Any) -> Any:
        return SimpleNamespace(start_update=self._start)

    async def _start(self, name: str, asked: Any, **options: Any) -> Any:
        reply = await self._call("message")(name, asked)

        async def result() -> Any:
            if reply is None:
                await asyncio.Event().wait()
            return reply

        return SimpleNamespace(result=result)


def messages(*entries: Json) -> Messages:
    read = [MessageDocument.model_validate({"message": "hi"} | entry) for entry in entries]
    return Messages(read, WAITS)


def scene(**doing: int) -> Scene:
    since = {name.replace("_", "/"): NOW + timedelta(seconds=n) for name, n in doing.items()}
    return Scene(NOW, (), since)


async def send(sending: Messages, run: Run) -> None:
    async with asyncio.timeout(5):
        await sending.happen(run, scene())
    await asyncio.sleep(0)  # a reply that is there arrives


@pytest.mark.parametrize(
    ("entry", "doing", "due"),
    [
        ({}, {}, None),
        ({}, {"t_other": 1}, None),
        ({}, {"t_other": 1, "t_hear": 2}, timedelta(seconds=2)),
        ({"after": 3}, {"t_hear": 2}, timedelta(seconds=5) + ROUNDED),
        ({"during": "t/s"}, {"t_hear": 2}, None),
        ({"during": "t/s"}, {"t_hear": 2, "t_s": 4}, timedelta(seconds=4)),
    ],
)
async def test_a_message_is_due_while_the_run_waits_for_one_or_during_its_step(
    entry: Json, doing: dict[str, int], due: timedelta | None
) -> None:
    assert messages(entry).due(scene(**doing)) == (None if due is None else NOW + due)


async def test_messages_are_sent_one_after_the_other_by_their_people() -> None:
    server = Session("one", "two")
    sending = messages({"by": "ann"}, {"message": {"n": 1}, "after": 4})
    await sending.happen(run_on(server), scene())
    assert len(server.calls) == 1, "the run has taken it"
    assert sending.due(scene(t_hear=0)) == NOW + timedelta(seconds=4) + ROUNDED
    await send(sending, run_on(server))
    assert sending.due(scene(t_hear=0)) is None
    sent = [(name, asked.message, asked.by) for _, name, asked in server.calls]
    assert sent == [(SEND_MESSAGE, "hi", "ann"), (SEND_MESSAGE, {"n": 1}, "tester")]
    assert sending.missed() is None


def refusal(code: str) -> WorkflowUpdateFailedError:
    return WorkflowUpdateFailedError(ApplicationError("too many", type=code))


@pytest.mark.parametrize(
    ("entry", "answer", "problem"),
    [
        ({"reply": "yes"}, "yes", None),
        ({"reply": {"contains": "e"}}, "yes", None),
        ({}, "anything", None),
        ({"reply": None}, 1, 'the reply to "hi" is 1, and not null'),
        ({"reply": "no"}, "yes", 'the reply to "hi" is "yes", and not "no"'),
        ({"refused": "QueueFull"}, refusal("QueueFull"), None),
        (
            {"refused": "RunHasEnded"},
            refusal("QueueFull"),
            'the message "hi" was refused: QueueFull: ',
        ),
        ({}, refusal("QueueFull"), 'the message "hi" was refused: QueueFull: '),
        (
            {"refused": "QueueFull"},
            "yes",
            'the message "hi" must be refused with QueueFull, and was answered',
        ),
        ({"refused": "QueueFull"}, GONE, "the message \"hi\": there is no run 'a'"),
    ],
)
async def test_the_answer_to_a_message_is_compared_with_the_case(
    entry: Json, answer: Any, problem: str | None
) -> None:
    sending = messages(entry)
    await send(sending, run_on(Session(answer)))
    missed = sending.missed()
    assert missed is None if problem is None else (missed or "").startswith(problem)


async def test_what_was_never_sent_and_each_wrong_reply_are_reported() -> None:
    sending = messages({"reply": "a"}, {"reply": "b"}, {"message": "bye"}, {"message": "late"})
    run = run_on(Session("a", "x"))
    await send(sending, run)
    await send(sending, run)
    assert sending.missed() == (
        'the reply to "hi" is "x", and not "b"; the run never waited for the message "bye"'
    )


async def test_a_reply_that_does_not_come_is_no_longer_waited_for() -> None:
    sending = messages({}, {"reply": "a"})
    await send(sending, run_on(Session(None)))
    [waiting] = sending.sent
    assert not waiting.done()
    assert sending.missed() == 'the run never waited for the message "hi"'
    async with asyncio.timeout(5):
        await asyncio.wait([waiting])
    assert waiting.cancelled()
    assert sending.missed() == 'the run never waited for the message "hi"'
