"""What each dialog of the screen shows before a person confirms it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from coterie.control.deciding_names import DecidingNames
from coterie.dsl.visible import one_line
from coterie.rendering.progress_lines import ProgressLine, wrapped
from coterie.rendering.request_text import panel_lines, short_digest
from coterie.ui.dialogs import DialogSubject
from coterie.workflows.core.requests import Pending

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
                *(ProgressLine(f"changed: {one_line(one)}", "dim") for one in request.changes),
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
            return [ProgressLine(one, style) for one in wrapped(text, width, "")]

        return DialogSubject(title, lines, self._names.login, asks_why=asks_why)
