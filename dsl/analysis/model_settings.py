"""Model settings without effect: on personas that only follow a plan and never call a model."""

from collections.abc import Iterator

from coterie.dsl.analysis.bodies import Bodies
from coterie.dsl.model.model_defaults import read_defaults
from coterie.dsl.model.step_kinds.agent_types import ORCHESTRATING
from coterie.dsl.model.steps import AgentStep
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import NodePath
from coterie.dsl.wording.agent_wording import persona_key_without_effect

_PERSONAS: NodePath = ("llm_config", "personas")
_OF_CALLS = (
    "temperature",
    "top_p",
    "max_tokens",
    "effort",
    "thinking",
    "prompt_cache",
    "timeout",
    "retries",
)
_OF_MODELS = ("provider", "model")


def check_settings(bodies: Bodies, tree: Node, problems: Problems) -> None:
    """Report each setting that no model call uses.

    Personas need their own provider and model unless the defaults name both, so these two count as
    unused only when the defaults do.
    """
    names = (*_OF_CALLS, *(_OF_MODELS if _has_defaults(tree) else ()))
    used: dict[str, bool] = {}
    for step, path in _agents_of_personas(bodies):
        follows = step.agent_type == ORCHESTRATING
        for key in step.persona_names:
            used[key] = used.get(key, False) or not follows
            if follows:
                _note((*path, "config"), key, names, tree, problems)
    for key, asked in used.items():
        if not asked:
            _note((*_PERSONAS, key), key, names, tree, problems)


def _agents_of_personas(bodies: Bodies) -> Iterator[tuple[AgentStep, NodePath]]:
    """Yield every agent step that names a persona, with where it is written."""
    for body in (*bodies.teams.values(), *bodies.plans.values(), *bodies.tools.values()):
        for step, path in body.steps_with_paths():
            if isinstance(step, AgentStep) and step.persona_key is not None:
                yield step, path


def _note(
    owner: NodePath, key: str, names: tuple[str, ...], tree: Node, problems: Problems
) -> None:
    if not tree.has(owner):
        return
    written = tree.find(owner).entries()
    for name in names:
        path = (*owner, name)
        if name in written and written[name].value is not None and not problems.has("W513", path):
            problems.note("W513", written[name].at, path, persona_key_without_effect(name, key))


def _has_defaults(tree: Node) -> bool:
    """Return whether a persona without a provider and a model gets both from the defaults."""
    section = tree.child("llm_config")
    defaults = read_defaults({} if section is None else {"llm_config": section.plain()})
    return defaults.choose(None, None).is_complete
