"""The screen of a run: its Textual app, connected to the reports of its watcher."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar, Literal

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Resize
from textual.widgets import Footer

from coterie.arguments import login_name
from coterie.display.following.follower import RequestHandling
from coterie.display.screens import PastRun, Screen, ScreenLeft
from coterie.failures import CommandError
from coterie.rendering.progress_lines import ProgressLine
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.live_texts import LiveAnswer
from coterie.runs.run_client import Run
from coterie.runs.run_view import RunNews, RunView
from coterie.text.moments import clock
from coterie.ui.dialogs import DecisionDialog, DialogAnswer, DialogSubject, DialogSubjects
from coterie.ui.line_pane import LinePane, TreePane
from coterie.ui.panes import (
    ScreenRow,
    action_lines,
    head_lines,
    request_lines,
    thought_lines,
    tree_rows,
    usage_lines,
)
from coterie.ui.steering import Steering
from coterie.workflows.core.requests import Pending

_MAX_MESSAGES = 50
_SECOND = 1.0
_PANES = 7
_WIDE = 110
"""Cells from which the panes stand side by side."""
_TALL = 34
"""Lines from which every pane has room beside an open request."""


class RunApp(App[None]):
    """Shows a run, and steers it by keys."""

    CSS_PATH = "run_app.tcss"
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (_WIDE, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (_TALL, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "approve", "Approve"),
        Binding("r", "reject", "Reject"),
        Binding("e", "edit", "Edit"),
        Binding("t", "retry", "Retry"),
        Binding("n", "next", "Next"),
        Binding("p", "pause", "Pause"),
        Binding("p", "resume", "Resume"),
        Binding("s", "skip", "Skip"),
        Binding("x", "stop", "Stop"),
        Binding("A", "auto", "Auto"),
        Binding("q", "leave", "Quit"),
        Binding("ctrl+c", "leave", "Quit", show=False, priority=True),
    ]

    def __init__(self, seen: RunView, steering: Steering, workspace: Path | None) -> None:
        """Prepare the screen.

        Args:
            seen: What is known of the run; others keep it up to date and call `changed`.
            steering: Sends what the person decides.
            workspace: Folder of the files that the run changes; None if it is elsewhere.
        """
        super().__init__()
        self.seen = seen
        self.steering = steering
        self._workspace = workspace
        self._subjects = DialogSubjects(seen.run, steering.by, workspace)
        self._messages: deque[str] = deque(maxlen=_MAX_MESSAGES)
        self._rows: list[ScreenRow] = []
        self._stale = False
        self._possible: dict[str, bool] = {}

    def compose(self) -> ComposeResult:
        """Create the panes."""
        yield LinePane("", "head", folds=False)
        with Container(id="body"):
            yield TreePane("Tasks", "tree")
            with Container(id="side"):
                yield LinePane("Current thought", "thought")
                yield LinePane("Action", "action")
                yield LinePane("Tokens and money", "usage")
        yield LinePane("Waits for you", "request")
        yield LinePane("", "messages")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Draw the run, and keep its durations current."""
        if self._is_drawable:
            self.query_one("#tree", TreePane).focus()
        self.set_interval(_SECOND, self.redraw)
        self.call_after_refresh(self.redraw)

    def on_resize(self, event: Resize) -> None:
        """Fit the lines to the new size."""
        self.call_after_refresh(self.redraw)

    def changed(self) -> None:
        """Redraw soon: there is something new to see."""
        if self.is_running and not self._stale:
            self._stale = True
            self.call_later(self.redraw)

    def tell(self, text: str) -> None:
        """Show a message."""
        at = clock(datetime.now(UTC).isoformat())
        self._messages.append(f"{at}  {text}")
        self.changed()

    def redraw(self) -> None:
        """Draw every pane that has changed."""
        self._stale = False
        if not self._is_drawable:
            return
        view, now = self.seen, datetime.now(UTC)
        self.screen_stack[0].set_class(view.request is not None, "-asks")
        self._show("head", [*head_lines(view, self._pane("head").room, now), *self._auto_line()])
        self._show_tree(now)
        self._show("thought", thought_lines(view, self._pane("thought").room))
        self._show("action", action_lines(view, self._pane("action").room, now))
        self._show("usage", usage_lines(view, self._pane("usage").room))
        lines = request_lines(view, self._pane("request").room, self._workspace)
        self._show("request", lines)
        self._show("messages", [ProgressLine(text, "italic") for text in self._messages])
        self._pane("messages").scroll_end(animate=False)
        self._withdraw()
        possible, self._possible = self._possible, view.possible
        if possible != self._possible:
            self.refresh_bindings()  # the footer, whose keys are made anew

    @property
    def _is_drawable(self) -> bool:
        """Whether the panes exist: not before they are created, and not while the screen closes."""
        return bool(self.screen_stack) and len(self.screen_stack[0].query(LinePane)) >= _PANES

    @property
    def _here(self) -> DecisionDialog | None:
        """The open dialog."""
        return self.screen if isinstance(self.screen, DecisionDialog) else None

    def _pane(self, id: str) -> LinePane:
        return self.screen_stack[0].query_one(f"#{id}", LinePane)

    def _show(self, id: str, lines: list[ProgressLine]) -> None:
        self._pane(id).show(lines)

    def _show_tree(self, now: datetime) -> None:
        tree = self.screen_stack[0].query_one("#tree", TreePane)
        step = self._step_at_cursor()
        self._rows = tree_rows(self.seen, tree.room, now)
        tree.show([row.line for row in self._rows])
        steps = [row.step for row in self._rows]
        if not tree.follows:
            tree.put_cursor(steps.index(step) if step in steps else tree.cursor)
            return
        doing = () if self.seen.status is None else self.seen.status.doing
        indexes = [steps.index(current.step) for current in doing if current.step in steps]
        tree.put_cursor(max(indexes, default=len(steps) - 1))

    def _step_at_cursor(self) -> str | None:
        """Return the step at the cursor; None if the line is of no step."""
        at = self.screen_stack[0].query_one("#tree", TreePane).cursor
        return (self._rows[at].step or None) if at < len(self._rows) else None

    def _auto_line(self) -> list[ProgressLine]:
        if not self.steering.auto or self.seen.end is not None:
            return []
        text = f" AUTO: every request is approved as {self.steering.by}; A turns it off "
        return [ProgressLine(text, "bold reverse red")]

    def _withdraw(self) -> None:
        """Close a dialog whose request was decided or changed by somebody else."""
        dialog = self._here
        request = None if dialog is None else dialog.subject.request
        if dialog is None or request is None:
            return
        now = next(
            (candidate for candidate in self.seen.pending if candidate.id == request.id), None
        )
        if now is None or now.digest != request.digest:
            dialog.dismiss(None)
            self.tell(f"{request.id} was {'decided' if now is None else 'changed'} elsewhere")

    @property
    def failure(self) -> Exception | None:
        """The error that ended the screen, if there was one."""
        return self._exception

    def _handle_exception(self, error: Exception) -> None:
        """Leave the report of an error to the command: the library would print local values."""
        super()._handle_exception(error)
        self._exit_renderables.clear()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """Return whether a key does something now; the footer shows only those."""
        return self.seen.allows(action)

    def action_leave(self) -> None:
        """Close the screen; the command decides what happens to the run."""
        self.exit()

    def action_next(self) -> None:
        """Look at the next request."""
        self.seen.select_next()
        self.changed()

    def action_approve(self) -> None:
        """Approve the request as shown."""
        self._decide("approve")

    def action_reject(self) -> None:
        """Reject the request, or let the failed task fail."""
        self._decide("reject")

    def action_edit(self) -> None:
        """Approve the request with another value."""
        self._decide("approve", edits=True)

    @work
    async def action_retry(self) -> None:
        """Retry the failed task."""
        request = self.seen.request
        if request is None:
            return
        answer = await self._ask_in_dialog(self._subjects.request(request, "Retry the failed task"))
        if answer is not None:
            self.tell(await self.steering.retry(request, answer.answered))

    @work
    async def action_skip(self) -> None:
        """Skip the failed task that waits, or the step at the cursor."""
        request = self.seen.request
        if request is not None and "skip" in request.choices:
            step, subject = request.id, self._subjects.request(request, "Skip the failed task")
        else:
            step = self._step_at_cursor()
            if step is None:
                self.tell("choose a step that can be skipped with the arrow keys")
                return
            subject = self._subjects.step(step)
        answer = await self._ask_in_dialog(subject)
        if answer is not None:
            self.tell(await self.steering.skip(step, answer.answered))

    def action_pause(self) -> None:
        """Pause the run."""
        self._control("pause")

    def action_resume(self) -> None:
        """Resume the run."""
        self._control("resume")

    @work
    async def action_stop(self) -> None:
        """Cancel the run."""
        answer = await self._ask_in_dialog(self._subjects.control("stop"))
        if answer is not None:
            self.tell(await self.steering.stop(answer.answered))

    @work
    async def action_auto(self) -> None:
        """Approve everything from now on, or no longer."""
        if self.steering.auto:
            self.steering.auto = False
            self.tell("auto is off")
        elif await self._ask_in_dialog(self._subjects.auto()) is not None:
            self.steering.auto = True
            self.tell("auto is on: every request is approved until A turns it off")
            await self.steering.consider(self.seen.pending)

    @work
    async def _control(self, what: Literal["pause", "resume"]) -> None:
        answer = await self._ask_in_dialog(self._subjects.control(what))
        if answer is not None:
            self.tell(await self.steering.pause(what, answer.answered))

    @work
    async def _decide(self, decision: Literal["approve", "reject"], *, edits: bool = False) -> None:
        request = await self._request()
        if request is None:
            return
        title = "Let the task fail" if request.choices else decision.capitalize()
        answer = await self._ask_in_dialog(self._subjects.request(request, title, edits=edits))
        if answer is not None:
            message = await self.steering.decide(request, decision, answer.answered, answer.payload)
            self.tell(message)

    async def _request(self) -> Pending | None:
        """Return the whole request that the person looks at."""
        request = self.seen.request
        if request is None:
            return None
        try:
            return await self.steering.whole(request)
        except CommandError as error:
            self.tell(str(error))
            return None

    async def _ask_in_dialog(self, subject: DialogSubject) -> DialogAnswer | None:
        return await self.push_screen_wait(DecisionDialog(subject))


class RunScreen(Screen):
    """Shows a run in the whole terminal; what the watcher reports and the person decides."""

    def __init__(self, run: Run, workspace: Path | None) -> None:
        """Prepare the screen; it opens with `until_left`.

        Args:
            run: The run.
            workspace: Folder of the files that the run changes; None if it is elsewhere.
        """
        super().__init__(run.id)
        self._ended: datetime | None = None
        steering = Steering(run, login_name(), self.say)
        self.requests: RequestHandling = ScreenRequests(run, self._seen, steering)
        self.app = RunApp(self._seen, steering, workspace)

    def progress(self, news: RunNews) -> None:
        """Take the run's state and the new events."""
        super().progress(news)
        self.app.changed()

    def take_past(self, past: PastRun) -> None:
        """Take a run that has ended already; its end follows with `until_left`."""
        self._seen.goal, self._seen.began, self._ended = past.goal, past.began, past.ended
        self.progress(past.news)

    def writing(self, answers: Sequence[LiveAnswer]) -> None:
        """Take the answers that models are writing now."""
        super().writing(answers)
        self.app.changed()

    def say(self, text: str) -> None:
        """Show a message."""
        self.app.tell(text)

    async def until_left(self, end: Awaitable[RunEnd]) -> RunEnd:
        """Show the run until the person leaves, and return its end.

        Raises:
            ScreenLeft: The person left before the end.
        """
        watching = asyncio.ensure_future(end)
        showing = asyncio.create_task(self.app.run_async())
        try:
            await asyncio.wait({watching, showing}, return_when=asyncio.FIRST_COMPLETED)
            if watching.done() and not showing.done():
                if watching.exception() is None:
                    self._seen.take_end(watching.result(), self._ended or datetime.now(UTC))
                    self.say("the run has ended; q closes the screen")
                else:
                    self.app.exit()
            await showing
            if self.app.failure is not None:
                raise self.app.failure
            if not watching.done():
                raise ScreenLeft
            return watching.result()
        finally:
            if not showing.done():
                self.app.exit()
                await asyncio.wait([showing])
            watching.cancel()
            await asyncio.wait([watching])


class ScreenRequests:
    """Handles the requests that wait: by `auto`, else by what the person presses."""

    def __init__(self, run: Run, seen: RunView, steering: Steering) -> None:
        self._run = run
        self._seen = seen
        self._steering = steering
        self._introduced = False

    async def consider(self, pending: Sequence[Pending]) -> None:
        """Approve every pending request, if the person chose to."""
        if not self._introduced:
            self._introduced = True
            await self._introduce()
        await self._steering.consider(pending)

    async def close(self) -> None:
        """Do nothing: the screen withdraws its dialogs itself."""

    async def _introduce(self) -> None:
        """Learn what the run is for, and since when."""
        try:
            self._seen.began = await self._run.began(await self._run.describe())
            goal = (await self._run.state("context.goal")).value
        except CommandError:
            return  # it has no goal, or does not answer
        if isinstance(goal, str):
            self._seen.goal = goal
