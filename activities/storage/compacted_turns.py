"""The turns of a conversation after it was compacted: a summary, then the latest turns. Pure."""

from collections.abc import Sequence

from coterie.activities.providers.message_json import content_to_json
from coterie.activities.providers.message_model import Part, ToolResultPart, unbound
from coterie.activities.storage.turn_records import Turn


def step_prompt(turns: Sequence[Turn], cut: int) -> tuple[Part, ...]:
    """Return the prompt of the step in progress, if its first turn is before the cut.

    The new conversation repeats it word by word, so no summary of it replaces it.
    """
    first = len(turns) - 1
    while first > 0 and turns[first].continues:
        first -= 1
    return () if first >= cut else _without_results(turns[first].asked_parts)


def compacted(
    turns: Sequence[Turn], cut: int, summary: str, prompt: tuple[Part, ...] = ()
) -> list[Turn]:
    """Return the turns of the new conversation.

    Args:
        turns: of the old one, oldest first.
        cut: how many of them the summary replaces.
        summary: the model's words.
        prompt: what the new beginning asks besides, of the step in progress.
    """
    kept_turns, replaced = turns[cut:], turns[:cut]
    if not kept_turns:
        last = replaced[-1]
        content = content_to_json(prompt)
        root = Turn(number=last.number, opening=last.opening, asked=content, answered=[])
        return [root.model_copy(update={"summary": summary})]
    first, *later = kept_turns
    question = (*prompt, *_without_results(first.asked_parts))
    root = _plain(first, question).model_copy(update={"summary": summary, "continues": False})
    return [root, *(_plain(turn, turn.question) for turn in later)]


def _plain(turn: Turn, question: tuple[Part, ...]) -> Turn:
    """Return a turn without what is bound to the old beginning, with this question."""
    reply = unbound(turn.reply)
    return turn.model_copy(
        update={
            "prompt": "",
            "answer": "",
            "asked": content_to_json(question),
            "answered": content_to_json(reply),
            "tokens": None,
            "summary": "",
        }
    )


def _without_results(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    return tuple(part for part in parts if not isinstance(part, ToolResultPart))
