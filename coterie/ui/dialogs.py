"""Dialogs of the screen: what is decided is shown whole, then the person says why."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Resize
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, TextArea

from coterie.argument_values import json_value
from coterie.dsl.sizes import MAX_BY_LENGTH, MAX_WHY_LENGTH
from coterie.dsl.visible import visible
from coterie.failures import CommandError
from coterie.rendering.progress_lines import ProgressLine
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
                shown = json.dumps(subject.request.show, indent=2, ensure_ascii=False)
                yield TextArea(visible(shown), id="payload", tab_behavior="indent")
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
        wanted = "#payload" if self.subject.edits else "Input, #dialog_text"
        self.query(wanted).last().focus()

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
