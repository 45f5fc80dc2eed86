"""Describe the approvals of a step, and of the tools that it may call."""

from collections.abc import Iterator

from coterie.dsl.kinds.agent import some_tools
from coterie.dsl.kinds.approval import asking
from coterie.dsl.model.decision_terms import NEVER, CallApproval, call_approval
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.step_kinds.agent_step import AgentStep
from coterie.dsl.model.steps import FunctionStep, PersonaStep, Step
from coterie.dsl.model.tools.tool_contract import Tool
from coterie.dsl.model.traversal.callable_tools import step_of_tool, tools_of
from coterie.text.step_words import StepWording


def approval(step: Step, plan: Plan, words: StepWording) -> str:
    """Return the approvals of a step and of the tools that it may call, with their terms."""
    parts = [_approval(step, words)] if isinstance(step, AgentStep | FunctionStep) else []
    by_terms: dict[str, list[str]] = {}
    for name, tool in _all_tools(step, plan):
        terms = call_approval(tool.requires_approval)
        if terms is not None and terms.when != NEVER:
            by_terms.setdefault(_terms_words(terms, words), []).append(name)
    for terms, tools in by_terms.items():
        parts.append(f"a person decides calls of {some_tools(tools)}: {terms}")
    return "; ".join(filter(None, parts))


def _approval(step: AgentStep | FunctionStep, words: StepWording) -> str:
    terms = call_approval(step.requires_approval)
    if terms is None:
        return ""
    what = "answer" if isinstance(step, AgentStep) else "result"
    timing = f"a person accepts its {what}" if terms.at == "after" else "a person allows it first"
    if terms.when is not None:
        timing += f" if {words.condition(terms.when)}"
    has_terms = isinstance(step.requires_approval, CallApproval)
    return ", ".join((timing, *asking(terms, words))) if has_terms else timing


def _terms_words(terms: CallApproval, words: StepWording) -> str:
    timing = "after the call" if terms.at == "after" else "before the call"
    if terms.when is not None:
        timing += f" if {words.condition(terms.when)}"
    return ", ".join((timing, *asking(terms, words)))


def _all_tools(step: Step, plan: Plan) -> Iterator[tuple[str, Tool]]:
    """Yield the tools of a step, and those of the agents among them: no box shows these."""
    tools = dict(tools_of(step, plan))
    callers = list(tools.items())
    for name, tool in callers:
        caller = step_of_tool(name, tool, plan)
        if isinstance(caller, PersonaStep):
            callers += (
                (inner_name, inner)
                for inner_name, inner in tools_of(caller, plan)
                if inner_name not in tools
            )
            tools.update(tools_of(caller, plan))
    yield from tools.items()
