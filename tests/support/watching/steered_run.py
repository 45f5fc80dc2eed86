"""A run that records what a person sends to it, and a screen without a terminal."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from pydantic import BaseModel
from textual.pilot import Pilot

from coterie.failures import CommandError
from coterie.runs.call_errors import Unanswered
from coterie.runs.run_client import Run
from coterie.runs.run_view import RunView
from coterie.ui.line_pane import LinePane
from coterie.ui.run_screen import RunApp
from coterie.ui.steering import Steering
from coterie.workflows.core.messages import DecideInput, RetryInput, SkipInput
from coterie.workflows.core.requests import Decision, Pending, RequestView, Verdict

ME = "eva"
_SAME = 3
"""Equal drawings in a row, after which the layout has settled."""


class SteeredRun(Run):
    """Accepts everything, or refuses the next message."""

    def __init__(self) -> None:  # without a client: nothing is sent
        self.id = "r1"
        self.sent: list[tuple[str, BaseModel | str]] = []
        self.refusal: CommandError | None = None
        self.requests: dict[str, Pending] = {}

    async def request(self, id: str) -> RequestView:
        return RequestView(pending=self.requests[id])

    async def is_being_cancelled(self) -> bool:
        return False

    async def decide(self, asked: DecideInput, *, update_id: str | None = None) -> Decision:
        verdict: Verdict = "approved" if asked.decision == "approve" else "rejected"
        return self._took("decide", asked, asked.id, verdict, asked.by)

    async def retry(self, asked: RetryInput, *, update_id: str | None = None) -> Decision:
        return self._took("retry", asked, asked.task or "", "retried", asked.by)

    async def skip(self, asked: SkipInput, *, update_id: str | None = None) -> Decision:
        return self._took("skip", asked, asked.task, "skipped", asked.by)

    async def signal(self, name: str, asked: BaseModel) -> None:
        self._took(name, asked, "", "approved", "")

    async def cancel(self, reason: str) -> None:
        self._took("cancel", reason, "", "approved", "")

    def silent_once(self) -> None:
        """Let the next message find no worker."""
        self.refusal = Unanswered("no worker answers")

    def _took(
        self, name: str, asked: BaseModel | str, id: str, verdict: Verdict, by: str
    ) -> Decision:
        refusal, self.refusal = self.refusal, None
        if refusal is not None:
            raise refusal
        self.sent.append((name, asked))
        return Decision(id=id, verdict=verdict, by=by, at="2026-01-02T03:04:05Z", how="update")


class ShownRun:
    """A screen that shows a run, and what a person sees and presses there."""

    def __init__(self, pilot: Pilot[None], app: RunApp, run: SteeredRun) -> None:
        self.pilot = pilot
        self.app = app
        self.run = run

    async def press(self, *keys: str) -> None:
        """Press keys, and let the screen settle."""
        await self.pilot.press(*keys)
        await self.settled()

    async def settled(self) -> None:
        """Redraw until the sizes of the panes and their lines no longer change each other."""
        before: list[list[str]] = []
        while len(before) < _SAME or any(one != before[-1] for one in before[-_SAME:]):
            self.app.redraw()
            await self.pilot.pause()
            before.append(self.drawn())

    async def write(self, text: str) -> None:
        """Type a text."""
        await self.press(*("space" if one == " " else one for one in text))

    def pane(self, id: str) -> str:
        """Return the text of a pane of the topmost screen that has it."""
        for screen in reversed(self.app.screen_stack):
            found = screen.query(f"#{id}").results(LinePane)
            for pane in found:
                return "\n".join(pane.texts)
        raise AssertionError(f"no pane {id!r}")

    def drawn(self) -> list[str]:
        """Return every line of the terminal."""
        return [
            "".join(segment.text for segment in strip)
            for strip in self.app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
        ]


@asynccontextmanager
async def shown_run(
    seen: RunView, *, size: tuple[int, int] = (120, 40), workspace: Path | None = None
) -> AsyncGenerator[ShownRun]:
    """Show a run without a terminal."""
    run = SteeredRun()
    reported: list[str] = []
    steering = Steering(run, ME, reported.append)
    app = RunApp(seen, steering, workspace)
    async with app.run_test(size=size) as pilot:
        shown = ShownRun(pilot, app, run)
        await shown.settled()
        yield shown
