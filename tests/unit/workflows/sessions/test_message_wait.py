"""The wait for a message takes the next one that fits, and says why none came."""

from collections.abc import Callable

import pytest

from coterie.dsl.errors import RunRefused
from coterie.dsl.model.outcomes import Failure, Outcome
from coterie.dsl.model.step_kinds.wait_step import MessageWait
from coterie.dsl.values import Json, JsonValue
from coterie.workflows.core.causes.message_causes import MessageTaken
from coterie.workflows.core.location import Location, Skipped
from coterie.workflows.core.messages import SessionInput, SkipInput
from coterie.workflows.core.scope import Interrupted
from coterie.workflows.core.state_keys import MAIN
from coterie.workflows.core.state_parts import Session, SessionMessage, SessionReply
from coterie.workflows.sessions.message_queue import receive
from coterie.workflows.steps.wait import wait_for_message
from tests.support.compiling import plan_of
from tests.support.simulation.stopping import StoppingScope, World, fresh

PLAN = plan_of("""
orchestration:
  entry_team: talk
  max_messages: 2
  teams:
    talk:
      tasks: [{name: listen, type: wait, message: true}, {name: speak, type: reply, value: Hi}]
""")
HERE = Location.of_visit(MAIN, "talk", 1).at("listen")


class Listening(StoppingScope):
    """What arrives while the step waits, and how long it was ready to wait."""

    def __init__(self, arrives: Callable[["Listening"], None] = lambda _: None) -> None:
        super().__init__(PLAN, fresh(PLAN, {}), World(lambda _: {}), None)
        self.arrives = arrives
        self.waited: list[float | None] = []
        self.delivers: list[str] = []
        """Messages that come only with the last task of an activation."""

    async def wait_until(
        self,
        ready: Callable[[], bool],
        seconds: float | None,
        summary: str,
        *,
        boundary: bool = True,
        stands_still: bool = True,
    ) -> bool:
        self.waited.append(seconds)
        if not ready():
            self.arrives(self)
        assert ready() or seconds is not None, "the wait never ends"
        return ready()

    async def messages_delivered(self) -> None:
        self.comes(*self.delivers)
        self.delivers.clear()

    def comes(self, *messages: JsonValue) -> None:
        for message in messages:
            number = self.state.session.received + 1
            receive(self.state.session, f"m{number}", SessionInput(message=message, by="ann"))

    async def listen(self, **more: JsonValue) -> Outcome:
        given: Json = {"name": "listen", "kind": "wait", "message": True, **more}
        return await wait_for_message(MessageWait.model_validate(given), HERE, self)


async def test_the_first_message_in_the_queue_is_taken_with_its_number() -> None:
    scope = Listening()
    scope.comes("Hello", "Bye")
    assert await scope.listen() == Outcome.succeeded("Hello")
    assert scope.state.session.open == SessionMessage("m1", "Hello", "ann")
    assert [one.value for one in scope.state.session.queue] == ["Bye"]
    assert [(one.kind, one.cause) for one in scope.state.trail] == [
        ("control", MessageTaken("message_taken", 1, "ann"))
    ]
    assert await scope.listen() == Outcome.succeeded("Bye")
    assert scope.state.trail[-1].cause == MessageTaken("message_taken", 2, "ann")
    assert list(scope.state.session.replies) == ["m1"], "nobody replied before the next wait"


async def test_a_full_session_waits_for_no_further_message() -> None:
    scope = Listening()
    scope.state.session = Session(received=2)
    full = Outcome.failed("SessionFull", "the session has had all its messages")
    assert await scope.listen() == full
    assert scope.waited == []


async def test_a_full_session_still_takes_what_is_in_its_queue() -> None:
    scope = Listening()
    scope.comes("Hello", "Bye")
    assert (await scope.listen()).data == "Hello"
    assert (await scope.listen()).data == "Bye"


async def test_a_message_may_come_while_the_step_waits() -> None:
    scope = Listening(lambda scope: scope.comes("Hello"))
    assert await scope.listen(deadline=60) == Outcome.succeeded("Hello")
    assert scope.waited == [60]


async def test_a_message_that_comes_with_the_deadline_is_taken() -> None:
    scope = Listening()
    scope.delivers = ["Hello"]
    assert await scope.listen(deadline=60) == Outcome.succeeded("Hello")


async def test_a_step_whose_time_is_up_fails() -> None:
    failed = Outcome.failed("NoMessageCame", "no message came in time")
    assert await Listening().listen(deadline=60) == failed


async def test_a_message_that_does_not_match_is_refused_and_the_next_one_taken() -> None:
    scope = Listening()
    scope.comes(7, "Hello")
    assert await scope.listen(schema={"type": "string"}) == Outcome.succeeded("Hello")
    problem = "the message is a number, not a text"
    assert scope.state.session.replies == {"m1": SessionReply(error=Failure("BadMessage", problem))}


async def test_a_run_ends_if_it_refused_the_message_that_started_it() -> None:
    def refuse(scope: Listening) -> None:
        scope.state.session.refused = "too large"

    with pytest.raises(RunRefused, match="its first message was refused: too large"):
        await Listening(refuse).listen()


async def test_a_person_may_skip_the_wait() -> None:
    def skip(scope: Listening) -> None:
        scope.state.skips[HERE.step] = SkipInput(task="listen", value="Bye", by="ann")

    scope = Listening(skip)
    with pytest.raises(Skipped) as skipped:
        await scope.listen()
    assert skipped.value.value == "Bye"
    assert scope.state.skips == {}


async def test_the_time_that_is_left_travels_with_the_run_and_not_to_the_next_wait() -> None:
    left: list[float | None] = [None, 20.0]

    def leave(scope: Listening) -> None:
        if left:
            raise Interrupted(left.pop())
        scope.comes("Hello")

    scope = Listening(leave)
    for _ in range(2):
        with pytest.raises(Interrupted):
            await scope.listen(deadline=60)
    assert (await scope.listen(deadline=60)).data == "Hello"
    assert (await scope.listen(deadline=60)).data == "Hello"
    assert scope.waited == [60, 20, 20, 60]


async def test_an_unfit_message_takes_from_the_deadline_and_does_not_renew_it() -> None:
    def arrives(scope: Listening) -> None:
        scope.world.seconds += 40
        if len(scope.waited) < 3:
            scope.comes(len(scope.waited))  # a number, where a text is wanted

    scope = Listening(arrives)
    scope.plan = PLAN.model_copy(
        update={"limits": PLAN.limits.model_copy(update={"max_messages": 9})}
    )
    outcome = await scope.listen(deadline=100, schema={"type": "string"})
    assert outcome == Outcome.failed("NoMessageCame", "no message came in time")
    assert scope.waited == [100, 60, 20]


async def test_the_rest_of_the_deadline_survives_a_new_history() -> None:
    scope = Listening(lambda scope: setattr(scope.world, "seconds", scope.world.seconds + 99))
    scope.state.progress.relative_waits[HERE.key] = 30.0
    await scope.listen(deadline=100)
    assert scope.waited == [30]
