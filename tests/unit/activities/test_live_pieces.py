"""The pieces of an answer are sent together, at once or soon after the previous ones."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from temporalio.testing import ActivityEnvironment

from coterie.activities.live_text import LiveText
from coterie.dsl.known_secrets import KnownSecrets
from coterie.dsl.values import Json


class Sent:
    """Counts what a live text sends."""

    def __init__(self) -> None:
        self.count = 0
        self._more = asyncio.Event()
        self.live = LiveText(KnownSecrets(), 1, self._send)

    def _send(self) -> None:
        self.count += 1
        self._more.set()

    async def more(self) -> None:
        """Wait until something is sent."""
        async with asyncio.timeout(10):
            await self._more.wait()
        self._more.clear()


async def test_an_empty_piece_sends_nothing() -> None:
    nothing, some = Sent(), Sent()
    with nothing.live, some.live:
        nothing.live.write("")
        some.live.write("a ")
        await some.more()
    assert (nothing.count, some.count) == (0, 1)


async def test_pieces_that_arrive_together_are_sent_once() -> None:
    sent, later = Sent(), Sent()
    with sent.live, later.live:
        for round in (1, 2):
            for piece in ("a ", "b ", "", "c "):
                sent.live.write(piece)
            later.live.write("x ")  # its timer is due after those of `sent`
            await sent.more()
            await later.more()
            assert (sent.count, later.count) == (round, round)


async def test_a_text_that_has_ended_sends_nothing_more() -> None:
    ended, other = Sent(), Sent()
    with ended.live:
        ended.live.write("a ")
    with other.live:
        other.live.write("x ")
        await other.more()
    assert (ended.count, other.count) == (0, 1)


@pytest.mark.parametrize("silence", [None, timedelta(seconds=60)])
async def test_nobody_sees_the_text_of_an_activity_without_heartbeats(
    silence: timedelta | None,
) -> None:
    made = ActivityEnvironment()
    made.info = replace(made.info, heartbeat_timeout=silence, attempt=3)
    live = made.run(lambda: LiveText.of_activity(KnownSecrets(), lambda: None))
    assert (live and live.details()) == (None if silence is None else {"attempt": 3})
    assert LiveText.of_activity(KnownSecrets(), lambda: None) is None


async def test_pieces_wait_until_a_tenth_of_a_second_after_the_ones_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    now, waits, flushes = [100.0], list[float](), list[Callable[[], None]]()

    def later(wait: float, flush: Callable[[], None]) -> asyncio.TimerHandle:
        waits.append(wait)
        flushes.append(flush)
        return asyncio.TimerHandle(0, flush, (), loop)

    sent: list[Json] = []
    live = LiveText(KnownSecrets(), 1, lambda: sent.append(live.details()))
    with monkeypatch.context() as patched:
        patched.setattr(loop, "time", lambda: now[0])
        patched.setattr(loop, "call_later", later)
        for piece, moment in (("a ", 100.0), ("b ", 100.03), ("c ", 105.0)):
            now[0] = moment
            live.write(piece)
            flushes[-1]()
    assert waits == [0.0, pytest.approx(0.07), 0.0]
    assert [one["text"] for one in sent] == ["a ", "a b ", "a b c "]
