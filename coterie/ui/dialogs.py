"""Dialogs of the screen: what is decided is shown whole, then the person says why."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, TextArea

from coterie.argument_values import json_value
from coterie.control.deciding_names import DecidingNames
from coterie.dsl.sizes import MAX_BY_LENGTH, MAX_WHY_LENGTH
from coterie.dsl.visible import one_line, visible
from coterie.failures import CommandError
from coterie.rendering.progress_lines import ProgressLine, wrapped
from coterie.rendering.request_text import panel_lines, short_digest
from coterie.ui.line_pane import LinePane
from coterie.ui.steering import EditedPayload, PersonsAnswer
from coterie.workflows.core.requests import Pending

Lines = Callable[[int], Sequence[ProgressLine]]
"""The lines of a dialog at a width in cells."""


@dataclass(frozen=True, slots=True)
class DialogAnswer:
    """What a person entered and confirmed."""

    answered: PersonsAnswer
    payload: EditedPayload | None = None


@dataclass(frozen=True, slots=True)
class DialogSubject:
    """What a dialog is about."""

    title: str
    """Ours, with what Enter does."""
    lines: Lines
    by: str
    """Name of the person."""
    learn_name: Callable[[str], None] | None = None
    """Takes the name that the person must give; None if `by` may decide."""
    request: Pending | None = None
    """The request that is decided, exactly as shown."""
    edits: bool = False
    """Whether the value shown can be edited."""
    asks_why: bool = True
    """Whether a reason goes with it."""


class DecisionDialog(ModalScreen[DialogAnswer | None]):
    """Shows what happens, takes a reason, and waits for Enter or Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Cancel"),
        Binding("enter", "confirm", "Confirm"),
        Binding("ctrl+s", "confirm", "Confirm (in a text)"),
        Binding("pageup", "page(-1)", "Page up", show=False, priority=True),
        Binding("pagedown", "page(1)", "Page down", show=False, priority=True),
    ]

    def __init__(self, subject: DialogSubject) -> None:
        super().__init__()
        self.subject = subject

    def compose(self) -> ComposeResult:
        """Create the widgets."""
        subject = self.subject
        with Vertical(id="dialog") as frame:
            frame.border_title = subject.title
            yield LinePane("", "dialog_text")
            if subject.edits and subject.request is not None:
                text = json.dumps(subject.request.show, indent=2, ensure_ascii=False)
                yield TextArea(visible(text), id="payload", tab_behavior="indent")
            if subject.learn_name is not None:
                yield Input(placeholder="your name", id="by", max_length=MAX_BY_LENGTH)
            if subject.asks_why:
                yield Input(placeholder="why (optional)", id="comment", max_length=MAX_WHY_LENGTH)
            yield LinePane("", "problem")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Leave the person where to write."""
        if self.subject.learn_name is not None:
            self.query_one("#by").focus()
            return
        selector = "#payload" if self.subject.edits else "Input, #dialog_text"
        self.query(selector).last().focus()

    def on_resize(self, event: Resize) -> None:
        """Wrap the text anew, once its pane has its size."""
        self.call_after_refresh(self._draw)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Confirm by Enter."""
        event.stop()
        self.action_confirm()

    def action_leave(self) -> None:
        """Close the dialog, and do nothing."""
        self.dismiss(None)

    def action_page(self, pages: int) -> None:
        """Scroll the text while the person writes."""
        pane = self.query_one("#dialog_text", LinePane)
        if pages < 0:
            pane.scroll_page_up(animate=False)
        else:
            pane.scroll_page_down(animate=False)

    def action_confirm(self) -> None:
        """Close the dialog with what was entered, if it is complete."""
        subject = self.subject
        learn = subject.learn_name
        by = subject.by if learn is None else self.query_one("#by", Input).value.strip()
        if not by:
            self._complain("enter your name")
            self.query_one("#by").focus()
            return
        payload = None
        if subject.edits:
            try:
                text = self.query_one("#payload", TextArea).text
                payload = EditedPayload(json_value("the payload", text))
            except CommandError as error:
                self._complain(str(error))
                return
        comment = self.query_one("#comment", Input).value.strip() if subject.asks_why else ""
        if learn is not None:
            learn(by)
        self.dismiss(DialogAnswer(PersonsAnswer(by, comment), payload))

    def _draw(self) -> None:
        pane = self.query_one("#dialog_text", LinePane)
        pane.show(self.subject.lines(pane.room))

    def _complain(self, text: str) -> None:
        self.query_one("#problem", LinePane).show([ProgressLine(text, "bold red")])


_EFFECTS: dict[Literal["pause", "resume", "stop"], str] = {
    "pause": "Nothing new starts, and deadlines stand still. Calls in progress end.",
    "resume": "The run continues, and its deadlines run again.",
    "stop": "The run is cancelled for good, after its cleanup. `coterie fork` can start it anew.",
}
_AUTO = (
    "From now on, every approval that this run asks for is given as soon as it opens, under your "
    "name: also to write files, to run commands, to send data out and to extend a budget. You see "
    "each of them only afterwards. Failed tasks and questions of tools still wait for you. It ends "
    "with this screen, or when you press A again."
)


class DialogSubjects:
    """The subjects of one run's dialogs."""

    def __init__(self, run: str, by: str, workspace: Path | None) -> None:
        """Keep what all dialogs need.

        Args:
            run: Id of the run.
            by: Login name of the person.
            workspace: Folder of the files that the run changes; None if it is elsewhere.
        """
        self._run = run
        self._names = DecidingNames(by)
        self._workspace = workspace

    def request(self, request: Pending, title: str, *, edits: bool = False) -> DialogSubject:
        """Return the whole request, with its digest."""

        def lines(width: int) -> Sequence[ProgressLine]:
            return [
                ProgressLine(one_line(request.id), "bold yellow"),
                *panel_lines(self._run, request, width, self._workspace, max_lines=None),
                *(
                    ProgressLine(f"changed: {one_line(change)}", "dim")
                    for change in request.changes
                ),
                ProgressLine(f"digest: {short_digest(request.digest)}", "dim"),
            ]

        by = self._names.allowed(request.approvers)
        learn = self._names.add if by is None else None
        return DialogSubject(title, lines, by or "", learn_name=learn, request=request, edits=edits)

    def step(self, step: str) -> DialogSubject:
        """Return what it means to skip a step."""
        text = f"{step} is left out, now or when it starts. What depends on it goes on without it."
        return self._text("Skip", text)

    def control(self, what: Literal["pause", "resume", "stop"]) -> DialogSubject:
        """Return what it means to pause, resume or stop the run."""
        return self._text(what.capitalize(), _EFFECTS[what])

    def auto(self) -> DialogSubject:
        """Return what it means to approve everything."""
        return self._text("Auto", _AUTO, "yellow", asks_why=False)

    def _text(
        self, title: str, text: str, style: str = "", *, asks_why: bool = True
    ) -> DialogSubject:
        def lines(width: int) -> Sequence[ProgressLine]:
            return [ProgressLine(line, style) for line in wrapped(text, width, "")]

        return DialogSubject(title, lines, self._names.login, asks_why=asks_why)
