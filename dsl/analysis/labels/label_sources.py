"""Find the calls that add labels, at any depth of nested steps."""

from collections.abc import Iterator, Sequence

from coterie.dsl.analysis.labels.labels_at_points import Source
from coterie.dsl.egress.egress_rules import hook_terms
from coterie.dsl.egress.met_labels import KEPT
from coterie.dsl.model.capabilities import Label
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import ApprovalStep, FunctionStep, PersonaStep, Step
from coterie.dsl.model.traversal.callable_tools import tools_of
from coterie.dsl.model.traversal.step_walk import lists_of_plan, walk


def sources(steps: Sequence[Step], plan: Plan, name: str) -> Iterator[Source]:
    """Yield what calls at any depth of these steps bring.

    Args:
        steps: of a list.
        plan: of the run.
        name: `team` or `team/step` around them.
    """
    for step in steps:
        at = f"{name}/{step.name}"
        if isinstance(step, FunctionStep) and step.terms is not None:
            yield from brought(step.terms.labels, at, step.skill)
        if not executes(step, plan):
            continue
        for tool_name, tool in tools_of(step, plan):
            yield from brought(tool.labels, at, tool_name)
        for below in step.lists(()):
            yield from sources(below.steps, plan, at)


def brought(labels: Sequence[Label], step: str, tool: str) -> tuple[Source, ...]:
    """Return what one call brings."""
    return tuple(Source(label, step, tool) for label in KEPT if label in labels)


def labels_of(plan: Plan) -> frozenset[Label]:
    """Return the labels of all that a run may call, whether it comes there or not."""
    label_lists = [tool.labels for tool in plan.tools.values()]
    label_lists += [terms.labels for _, terms in hook_terms(plan)]
    for steps in lists_of_plan(plan):
        for step, _ in walk(steps, ()):
            if isinstance(step, FunctionStep) and step.terms is not None:
                label_lists.append(step.terms.labels)
    return frozenset(label for labels in label_lists for label in labels)


def hook_sources(plan: Plan) -> Iterator[Source]:
    """Yield what the tool functions of hooks bring."""
    for hook, terms in hook_terms(plan):
        yield from brought(terms.labels, f"the hook {hook.label!r}", hook.skill or "")


def executes(step: Step, plan: Plan) -> bool:
    """Return whether an agent's calls are executed at all."""
    if not isinstance(step, PersonaStep):
        return True
    persona = plan.personas.get(step.persona_key)
    return persona is None or (persona.tool_calls == "execute" and persona.tool_choice != "none")


def clears(step: Step) -> bool:
    """Return whether a person decides at this step, so that what was met before counts no more."""
    return isinstance(step, ApprovalStep) and step.only_people_approve
