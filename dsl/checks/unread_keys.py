"""Keys that are well formed, and that nothing reads as the rest of the document stands."""

from dsl.checks.document_steps import every_step
from dsl.model.document import SystemDocument
from dsl.model.steps import AgentStep, ParallelStep
from dsl.source.nodes import Node, Problems
from dsl.source.unknown_names import called
from dsl.values import NodePath

SCRIPTED = "scripted"


def check_unread_keys(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Warn of each key that changes nothing."""
    _providers(document, tree, problems)
    _sections(document, tree, problems)
    for step, path in every_step(document):
        if isinstance(step, ParallelStep):
            _losers(step, path, tree, problems)


def _providers(document: SystemDocument, tree: Node, problems: Problems) -> None:
    for name, section in document.llm_config.providers.items():
        kind = section.kind or name.partition("@")[0]
        for key in () if kind == SCRIPTED else ("answers", "log"):
            if getattr(section, key) is not None:
                _warn(
                    ("llm_config", "providers", name, key),
                    tree,
                    problems,
                    f"`{key}` has no effect: only a scripted provider reads it, and {name!r} is "
                    f"of kind {kind!r}",
                    f"write it under a provider with `kind: {SCRIPTED}`",
                )


def _sections(document: SystemDocument, tree: Node, problems: Problems) -> None:
    """Sections beside teams that do not use them; a file without teams is for any team."""
    steps = [step for step, _ in every_step(document) if isinstance(step, AgentStep)]
    classes = {step.name for step in steps if step.agent_class is not None}
    personas = {step.persona_key for step in steps if step.persona_key is not None}
    teams = tree.find(("orchestration", "teams")).entries().values()
    files = {team.mark.file for team in teams}
    for name, section in document.llm_config.agents.items():
        named = section.get("persona_key") if isinstance(section, dict) else None
        place: NodePath = ("llm_config", "agents", name)
        if name in classes or named in personas or tree.find(place).at.file not in files:
            continue
        if not problems.has("E202", (*place, "persona_key")):
            _warn(
                place,
                tree,
                problems,
                f"no task with an `agent_class` is called {name!r}, so no "
                "agent is given this section as its own",
                "call it like the task that is to have it, or remove it",
            )


def _losers(step: ParallelStep, path: NodePath, tree: Node, problems: Problems) -> None:
    said = "losers" in tree.find(path).entries()
    if said and step.join in ("all", len(step.branches)):
        _warn(
            (*path, "losers"),
            tree,
            problems,
            f"`losers` has no effect: {called(step.name)} needs all of its ways, so none is left "
            "over",
            "say `join: any`, or how many are enough, or remove it",
        )


def _warn(place: NodePath, tree: Node, problems: Problems, told: str, fix: str) -> None:
    problems.add("W517", tree.find(place).at, place, told, fix=fix)
