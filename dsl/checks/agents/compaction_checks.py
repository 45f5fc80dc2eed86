"""Checks of `compaction`: its model, and windows that contradict it."""

from collections.abc import Collection

from coterie.dsl.checks.agents.placeholder_checks import check_compaction_prompt
from coterie.dsl.model.plan import Persona
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.model_names import split_model
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.values import UNREADABLE, NodePath

_WINDOW = ("conversation_turns", "conversation_characters")


@rule("E105")
def compaction_not_a_model(name: str) -> ProblemText:
    return ProblemText(
        f"`compaction.model` names a model as `provider/model`, and {name!r} has no provider or no "
        "model",
        fix="write both, such as `anthropic/claude-haiku-4-5`",
    )


@rule("E107")
def compaction_with_window(persona: str, key: str) -> ProblemText:
    return ProblemText(
        f"`{key}` leaves turns out, and persona {persona!r} has `compaction`, which sums them up",
        fix=f"remove `{key}`, or set `compaction: null` in the task's `config`",
    )


def check_compaction(
    step: PersonaStep,
    persona: Persona,
    providers: Collection[str],
    path: NodePath,
    written_at: NodePath,
    tree: Node,
    problems: Problems,
) -> None:
    """Note a wrong model, placeholders in the prompt, and a window of turns beside it.

    Args:
        step: The agent's step.
        persona: Its persona.
        providers: The names that the worker knows.
        path: Of the step.
        written_at: Where `compaction` is written.
        tree: The document.
        problems: Collects the findings.
    """
    policy = persona.compaction
    if policy is None:
        return
    for key in _WINDOW:
        if getattr(step, key) is not None:
            key_path = (*path, key)
            details = compaction_with_window(step.persona_key, key)
            problems.report(details, tree.value_at(key_path))
    if policy.prompt is not None:
        check_compaction_prompt(tree, problems, policy.prompt, (*written_at, "prompt"))
    if policy.model is None or policy.model == UNREADABLE:
        return
    key_path = (*written_at, "model")
    provider, model = split_model(policy.model)
    if not provider or not model:
        problems.report(compaction_not_a_model(policy.model), tree.value_at(key_path))
    elif provider not in providers:
        unknown(problems, tree.value_at(key_path), "provider", provider, providers)
