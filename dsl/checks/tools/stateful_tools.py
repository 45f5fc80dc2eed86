"""Warn of stateful agents that concurrent steps call: their calls wait for each other."""

from collections.abc import Iterator, Sequence

from dsl.checks.document_steps import PlacedSteps
from dsl.model.document import SystemDocument
from dsl.model.steps import AgentStep, LoopStep, ParallelStep, Step, TaskGraphStep, ToolStep
from dsl.model.traversal.step_lists import EachRound, EachTask, step_lists
from dsl.model.traversal.step_walk import walk
from dsl.source.nodes import Node, Problems
from dsl.values import NodePath
from dsl.wording.tool_wording import stateful_in_parallel


def check_stateful_tools(
    document: SystemDocument, steps: PlacedSteps, tree: Node, problems: Problems
) -> None:
    """Warn where one stateful tool may be called by branches, rounds or tasks at the same time.

    Args:
        document: Whose tools and personas are read.
        steps: Every step of the document, with its place.
        tree: The document's tree.
        problems: Receives the warnings.
    """
    stateful = {name for name, tool in document.tools.items() if tool.stateful}
    if not stateful:
        return
    for step, place in steps:
        for key, concurrent in _concurrent_lists(step, place):
            lists = [[one for one, _ in walk(inner, ())] for inner in concurrent]
            met = [stateful & set(_called(inner, document)) for inner in lists]
            for name in sorted(_met_twice(step, met)):
                here = (*place, key)
                details = stateful_in_parallel(step.name, name)
                problems.note("W524", tree.find(here).at, here, details)


def _concurrent_lists(step: Step, place: NodePath) -> Iterator[tuple[str, list[Sequence[Step]]]]:
    """Yield the key that makes lists of steps concurrent, with these lists."""
    inner = step_lists(step, place)
    match step:
        case ParallelStep(join="fallback"):
            return
        case ParallelStep():
            yield "branches", [one.steps for one in inner]
        case LoopStep() if step.is_concurrent:
            yield "concurrency", [one.steps for one in inner if isinstance(one.role, EachRound)]
        case TaskGraphStep() if step.concurrency != 1:
            yield "concurrency", [one.steps for one in inner if isinstance(one.role, EachTask)]
        case _:
            return


def _met_twice(step: Step, met: Sequence[set[str]]) -> set[str]:
    """Return the tools that two branches call, or that each round or task calls."""
    if not isinstance(step, ParallelStep):
        return set[str]().union(*met)
    return {name for names in met for name in names if sum(name in one for one in met) > 1}


def _called(steps: Sequence[Step], document: SystemDocument) -> Iterator[str]:
    """Yield the tools that steps call, themselves or by the models of their agents."""
    personas = document.llm_config.personas
    for step in steps:
        if isinstance(step, ToolStep):
            yield step.tool
        elif isinstance(step, AgentStep):
            for persona in (personas.get(step.persona_key or ""), step.config):
                if persona is not None:
                    yield from (*(persona.tools or ()), *(persona.subagents or ()))
