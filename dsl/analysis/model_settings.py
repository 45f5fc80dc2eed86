"""Model settings without effect: on personas that only follow a plan and never call a model."""

from collections.abc import Iterator

from coterie.dsl.analysis.variable_scopes import Bodies
from coterie.dsl.checks.keys_without_effect import MOVE_TO_PLAN
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING
from coterie.dsl.model.steps import PersonaStep
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.values import NodePath

_PERSONAS: NodePath = ("llm_config", "personas")
_OF_CALLS = (
    "temperature",
    "top_p",
    "max_tokens",
    "effort",
    "thinking",
    "reasoning",
    "prompt_cache",
    "timeout",
    "retries",
    "provider",
    "model",
)


def check_settings(bodies: Bodies, tree: Node, problems: Problems) -> None:
    """Report each setting that no model call uses."""
    has_model_call: dict[str, bool] = {}
    for step, path in _agents_of_personas(bodies):
        follows = step.agent_type == ORCHESTRATING
        for key in step.persona_names:
            has_model_call[key] = has_model_call.get(key, False) or not follows
            if follows:
                _note((*path, "config"), key, tree, problems)
    for key, is_called in has_model_call.items():
        if not is_called:
            _note((*_PERSONAS, key), key, tree, problems)


def _agents_of_personas(bodies: Bodies) -> Iterator[tuple[PersonaStep, NodePath]]:
    """Yield every agent step that names a persona, with where it is written."""
    for body in (*bodies.teams.values(), *bodies.plans.values(), *bodies.tools.values()):
        for step, path in body.steps_with_paths:
            if isinstance(step, PersonaStep):
                yield step, path


@rule("W513")
def persona_key_without_effect(key: str, persona: str) -> ProblemText:
    return ProblemText(
        f"`{key}` has no effect: the persona {persona!r} only follows its plan here, and asks no "
        "model itself",
        fix=MOVE_TO_PLAN,
    )


def _note(owner: NodePath, key: str, tree: Node, problems: Problems) -> None:
    if not tree.has(owner):
        return
    entries = tree.find(owner).entries()
    for name in _OF_CALLS:
        path = (*owner, name)
        if name in entries and entries[name].value is not None and not problems.has("W513", path):
            problems.report(persona_key_without_effect(name, key), Place(entries[name].at, path))
