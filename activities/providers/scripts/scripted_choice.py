"""Which scripted answer fits a request: by its agent, its call, its number and its prompt."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from coterie.activities.contracts import FailureType
from coterie.activities.providers.message_model import TextPart, ToolResultPart
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.provider_failures import ProviderFailure
from coterie.activities.providers.scripts.script import ScriptedAnswer

_Rank = tuple[int, ...]


class NamedCall(NamedTuple):
    """The parts of a label, `team/task#visit.reask`."""

    team: str
    task: str
    visit: int
    reask: int


def choose(answers: Sequence[ScriptedAnswer], request: ModelRequest) -> ScriptedAnswer | None:
    """Return the best matching entry, the first of equals; None when none matches.

    Raises:
        ProviderFailure: The request has no label.
    """
    call = named_call(request.label)
    prompt = "\n".join([request.system or "", *texts_of(request)])
    fitting = [
        (rank, -number, entry)
        for number, entry in enumerate(answers)
        if entry.compaction == (request.purpose == "compaction")
        and (rank := _rank(entry, call, request.turn, prompt)) is not None
    ]
    return max(fitting, key=lambda fit: fit[:2])[2] if fitting else None


def missing(request: ModelRequest) -> str:
    """Say which entry to add to a script without an answer for the call."""
    call = named_call(request.label)
    turn = f", turn: {request.turn}" if request.turn > 1 else ""
    turn += ", compaction: true" if request.purpose == "compaction" else ""
    entry = f"task: {call.team}/{call.task}, visit: {call.visit}{turn}, answer: ..."
    if not request.tools or request.tool_choice == "none":
        return f"add an entry like `- {{{entry}}}`"
    calls = f"tool_calls: [{{tool: {request.tools[0].name}, arguments: ...}}]"
    return f"add an entry like `- {{{entry}}}`, with `{calls}` for a call of a tool"


def named_call(label: str) -> NamedCall:
    """Return the call that a label names.

    Raises:
        ProviderFailure: it names none.
    """
    name, _, numbers = label.rpartition("#")
    team, _, task = name.partition("/")
    visit, _, reask = numbers.partition(".")
    if not (team and task and visit.isdecimal() and reask.isdecimal()):
        raise refused(f"scripted answers need a label like team/task#1.0, not {label!r}")
    return NamedCall(team, task, int(visit), int(reask))


def _rank(entry: ScriptedAnswer, call: NamedCall, number: int, prompt: str) -> _Rank | None:
    """Rank how well an entry matches a call, greater is better; None when it does not match.

    Compare the full name first, then the number of matching texts, the turn of the conversation,
    the visit, and the re-ask. The first of equal entries wins.
    """
    names = (call.task, f"{call.team}/{call.task}")
    if entry.task not in names or not all(text in prompt for text in entry.texts):
        return None
    turn = _nearness(entry.turn, number)
    visit = _nearness(entry.visit, call.visit)
    reask = _nearness(entry.reask, call.reask)
    if turn is None or visit is None or reask is None:
        return None
    return (names.index(entry.task), len(entry.texts), *turn, *visit, *reask)


def _nearness(entry_number: int | None, number: int) -> tuple[int, int] | None:
    """Rank an exact number first, then an entry without one, then the highest number below."""
    if entry_number is None:
        return (1, 0)
    if entry_number > number:
        return None
    return (2, 0) if entry_number == number else (0, entry_number)


def texts_of(request: ModelRequest) -> Iterator[str]:
    """Yield what the model reads in the messages: texts and results of tools."""
    for message in request.messages:
        yield "".join(
            part.text for part in message.content if isinstance(part, TextPart | ToolResultPart)
        )


def refused(message: str) -> ProviderFailure:
    """Return the failure of a request that no script can answer."""
    return ProviderFailure(FailureType.PROVIDER_REFUSED, message, retryable=False)
