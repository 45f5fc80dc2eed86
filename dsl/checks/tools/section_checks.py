"""Checks of one tool as written: what its keys cannot mean together."""

from collections.abc import Mapping, Sequence

from coterie.dsl.checks.contracts.outputs import NO_OUTPUTS
from coterie.dsl.checks.questions_of_document import approval_of_tool
from coterie.dsl.checks.steps.condition_checks import check_condition
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.model.capabilities import Capabilities, FunctionContract, Label
from coterie.dsl.model.conditions import Expression
from coterie.dsl.model.decision_terms import CallApproval, call_approval
from coterie.dsl.model.tools.local_activities import is_local, local_reasons
from coterie.dsl.model.tools.tool_section import (
    AgentToolSection,
    NestedToolSection,
    OneCallSection,
    OwnCallSection,
    ToolSection,
    ToolSectionBase,
)
from coterie.dsl.model.traversal.step_walk import APPROVAL_CONDITION, leaves
from coterie.dsl.problem_details import Details, ProblemText, Remove, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.templates.template import is_template, parse
from coterie.dsl.values import MAX_CALL_SECONDS, UNREADABLE, Json, NodePath


@rule("E106")
def call_too_long(name: str, seconds: float, maximum: float) -> ProblemText:
    return ProblemText(
        f"a call of {name!r} may take {seconds:g} s, and this kind of tool at most {maximum:g} s: "
        "only commands and Python tools continue longer, in a process of their own",
        fix="shorten `timeout`; an MCP server continues a long call as a task, which takes as long "
        "as it needs",
    )


@rule("E107")
def grant_of_nothing(name: str) -> ProblemText:
    return ProblemText(
        f"`grants` of {name!r} has no effect: its calls send nothing out",
        fix="remove `grants`, or add `labels: [egress]`",
        edit=Remove("grants"),
    )


def check_grants(
    name: str,
    section: OneCallSection,
    labels: Sequence[Label],
    path: NodePath,
    tree: Node,
    problems: Problems,
) -> None:
    """Note a grant to a tool function or an MCP tool that sends nothing out."""
    if section.grants and "egress" not in labels:
        _note(name, "grants", path, tree, problems, grant_of_nothing(name))


@rule("E107")
def cached_effect(name: str, effect: str) -> ProblemText:
    return ProblemText(
        f"`cache: run` would leave out calls of {name!r}, and they have an effect ({effect!r})",
        "a tool whose effect is 'read'",
        "remove `cache`",
        edit=Remove("cache"),
    )


@rule("E107")
def unfit_for_local(name: str, reasons: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"the tool {name!r} cannot run as a local activity: {', '.join(reasons)}",
        "a tool whose effect is 'read', with `timeout: 2s` or less, `retries: 0` and no approval",
        "change these, or write `local_activity: false`",
    )


@rule("E107")
def once_retried(name: str) -> ProblemText:
    return ProblemText(
        f"a call of {name!r} must not happen twice, so it is never retried",
        fix="remove `retries`",
        edit=Remove("retries"),
    )


def check_function_tool(
    name: str,
    section: OneCallSection,
    contract: FunctionContract,
    path: NodePath,
    tree: Node,
    problems: Problems,
) -> None:
    """Note what a tool function's effect rules out: a cache, and further attempts."""
    is_long = section.timeout is not None and section.timeout > MAX_CALL_SECONDS
    if section.timeout is not None and is_long and not contract.continues_long:
        details = call_too_long(name, section.timeout, MAX_CALL_SECONDS)
        problems.report(details, tree.key_at((*path, "timeout")))
    if section.cache is not None and contract.effect != "read":
        _note(name, "cache", path, tree, problems, cached_effect(name, contract.effect))
    if section.retries and contract.effect == "once":
        _note(name, "retries", path, tree, problems, once_retried(name))
    own = section.local_activity if isinstance(section, OwnCallSection) else None
    if is_local(own, contract):
        reasons = local_reasons(
            contract.effect,
            section.timeout or contract.timeout,
            contract.retries if section.retries is None else section.retries,
            asks=contract.asks or call_approval(section.requires_approval) is not None,
        )
        if reasons:
            key_path = path if own is None else (*path, "local_activity")
            details = unfit_for_local(name, reasons)
            problems.report(details, Place(tree.find(key_path).at, (*path, "local_activity")))


@rule("E107")
def retries_without_retry(name: str) -> ProblemText:
    return ProblemText(
        f"`retries` of {name!r} has no effect: its failures are surfaced at once",
        fix="add `on_error: retry`",
    )


@rule("E107")
def retry_without_retries(name: str) -> ProblemText:
    return ProblemText(
        f"`on_error: retry` of {name!r} does not say how often", fix="add `retries: 2`"
    )


def check_attempts(
    name: str, section: NestedToolSection, path: NodePath, tree: Node, problems: Problems
) -> None:
    """Note a number of attempts without `on_error: retry`, and the reverse."""
    if section.retries and section.on_error != "retry":
        _note(name, "retries", path, tree, problems, retries_without_retry(name))
    if section.on_error == "retry" and not section.retries:
        _note(name, "on_error", path, tree, problems, retry_without_retries(name))


@rule("E505")
def unusable_tool_schema(name: str, key: str, reason: str) -> ProblemText:
    return ProblemText(f"the {key} of the tool {name!r} cannot be used: {reason}")


def check_schema(
    name: str, key: str, schema: Json | None, path: NodePath, tree: Node, problems: Problems
) -> bool:
    """Return whether a run can check values against a schema; note a problem if it cannot."""
    wrong = None if schema is None else schema_problem(schema)
    if wrong is not None:
        key_path = (*path, key)
        problems.report(unusable_tool_schema(name, key, wrong), tree.key_at(key_path))
    return wrong is None


@rule("E107")
def memory_of_no_agent(name: str, source: str) -> ProblemText:
    return ProblemText(
        f"{name!r} reads the work of {source!r}, which is not an agent",
        fix="read from a tool made of an agent",
    )


def check_memory(
    name: str,
    section: AgentToolSection,
    tools: Mapping[str, ToolSection],
    path: NodePath,
    tree: Node,
    problems: Problems,
) -> None:
    """Note a tool whose work is read and that is not an agent; unknown ones are noted elsewhere."""
    for index, edge in enumerate(section.reads):
        source = tools.get(edge.source)
        if source is None or source.kind == "agent" or source.made_of == UNREADABLE:
            continue
        key_path = (*path, "reads", index, "from")
        problems.report(memory_of_no_agent(name, edge.source), tree.value_at(key_path))


def _note(
    name: str, key: str, path: NodePath, tree: Node, problems: Problems, details: Details
) -> None:
    key_path = (*path, key)
    problems.report(details, tree.key_at(key_path))


_CALL = ("arguments",)
_CALL_AND_RESULT = (*_CALL, "data")


@rule("E107")
def not_of_a_call(question: str) -> ProblemText:
    return ProblemText(
        f"{question}: every caller has its own tasks and context, so its `when` cannot ask about "
        "them",
        "templates over `arguments`, and over `data` with `at: after`",
    )


def check_tool_condition(
    name: str,
    section: ToolSectionBase,
    given: Json,
    result: Json,
    capabilities: Capabilities,
    tree: Node,
    problems: Problems,
) -> None:
    """Note what the condition of a tool's approval names besides the call.

    Args:
        name: Of the tool.
        section: The tool as written.
        given: The schema of its input.
        result: The schema of its result.
        capabilities: Of the worker.
        tree: The document.
        problems: Receives what is wrong.
    """
    approval = section.requires_approval
    if not isinstance(approval, CallApproval) or approval.when is None:
        return
    names = _CALL_AND_RESULT if approval.at == "after" else _CALL
    schemas = {"arguments": given, "data": result}
    outputs = NO_OUTPUTS._replace(variables={variable: schemas[variable] for variable in names})
    scope = StepScope(tree, problems, capabilities, {}, (), (), given=names, outputs=outputs)
    key_path: NodePath = ("tools", name, *APPROVAL_CONDITION)
    for leaf, path in leaves(approval.when, key_path):
        if isinstance(leaf, Expression):
            check_condition(scope, leaf, path)
            if any(problems.below(path)) or _names(leaf) <= set(names):
                continue
        problems.report(not_of_a_call(approval_of_tool(name)), tree.value_at(path))


def _names(leaf: Expression) -> set[str]:
    text = leaf.expression
    return {path[0] for path in parse(text).paths} if is_template(text) else set()
