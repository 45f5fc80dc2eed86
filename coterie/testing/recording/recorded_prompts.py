"""Tell recorded answers of a task apart by their prompts, where their numbers are equal.

Rounds of a loop, branches and tasks of a graph ask under one name, each for the first time.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from coterie.activities.agents.prompts import user_message
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.contracts import AgentRequest, AgentResponse
from coterie.activities.providers.scripts.script import ScriptedAnswer
from coterie.dsl.errors import TemplateFailed
from coterie.dsl.model.outcomes import Failure

_NO_ANSWER = frozenset({"seconds", "usage", "contains"})
"""Fields that do not decide what a run does."""


class AskedAnswer(NamedTuple):
    """An answer with the prompt that led to it; None where the model does not see it."""

    entry: ScriptedAnswer
    prompt: str | None


def first_prompt(
    request: AgentRequest, result: AgentResponse | Failure, prompts: dict[str, str | None]
) -> str | None:
    """Return the prompt that a turn saw first, unless a summary has replaced it.

    Args:
        request: of the turn.
        result: of the turn.
        prompts: `{name of a turn: its first prompt}` of the turns before; gets this one.
    """
    conversation = request.conversation
    if request.compaction is not None:
        prompt = None
    elif request.persona is not None or conversation is None:
        prompt = _prompt_of(request)
    else:
        prompt = prompts.get(conversation.head or "")
    if isinstance(result, AgentResponse) and result.conversation is not None:
        prompts[result.conversation] = prompt
    return prompt


def with_own_texts(asked: Sequence[AskedAnswer]) -> Iterator[ScriptedAnswer]:
    """Yield the entries, with `contains` in those of each task that has several at one number."""
    tasks: defaultdict[str, list[AskedAnswer]] = defaultdict(list)
    for answer in asked:
        tasks[answer.entry.task].append(answer)
    mixed = {task for task, its in tasks.items() if _are_mixed(its)}
    prompts = {task: {answer.prompt for answer in tasks[task] if answer.prompt} for task in mixed}
    for entry, prompt in asked:
        if entry.task not in mixed or prompt is None or entry.compaction:
            yield entry
        else:
            text = own_text(prompt, prompts[entry.task] - {prompt})
            yield entry.model_copy(update={"contains": text}) if text else entry


def own_text(prompt: str, others: set[str]) -> str:
    """Return a line that no other prompt has, else the whole prompt; empty if neither is."""
    lines = (line.strip() for line in prompt.splitlines())
    for text in (*filter(None, lines), prompt):
        if not any(text in other for other in others):
            return text
    return ""


def _are_mixed(entries: Sequence[AskedAnswer]) -> bool:
    """Return whether different answers of a task have the same numbers."""
    answers: dict[object, object] = {}
    for entry, _ in entries:
        numbers = (entry.visit, entry.turn, entry.reask, entry.compaction)
        answer = entry.model_dump(mode="json", exclude=set(_NO_ANSWER))
        if answers.setdefault(numbers, answer) != answer:
            return True
    return False


def _prompt_of(request: AgentRequest) -> str | None:
    """Render the prompt of a turn; None for a later turn, and for an agent without prompts."""
    if request.persona is None:
        return None
    try:
        return user_message(request.persona, request.inputs, request.task)
    except (AgentRefused, TemplateFailed):
        return None
