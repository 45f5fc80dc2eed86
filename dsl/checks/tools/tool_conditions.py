"""Check the condition of a tool's approval, which reads the call but not the caller."""

from coterie.dsl.checks.contracts.outputs import NO_OUTPUTS
from coterie.dsl.checks.questions_of_document import approval_of_tool
from coterie.dsl.checks.steps.condition_checks import check_condition
from coterie.dsl.checks.steps.step_scope import StepScope
from coterie.dsl.model.capabilities import Capabilities
from coterie.dsl.model.conditions import Expression
from coterie.dsl.model.terms import CallApproval
from coterie.dsl.model.tools.tool_section import ToolSection
from coterie.dsl.model.traversal.step_walk import APPROVAL_CONDITION, leaves
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.templates.template import is_template, parse
from coterie.dsl.values import Json, NodePath

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
    section: ToolSection,
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
    asked = section.requires_approval
    if not isinstance(asked, CallApproval) or asked.when is None:
        return
    known = _CALL_AND_RESULT if asked.at == "after" else _CALL
    schemas = {"arguments": given, "data": result}
    outputs = NO_OUTPUTS._replace(variables={one: schemas[one] for one in known})
    scope = StepScope(tree, problems, capabilities, {}, (), (), given=known, outputs=outputs)
    key_path: NodePath = ("tools", name, *APPROVAL_CONDITION)
    for leaf, path in leaves(asked.when, key_path):
        if isinstance(leaf, Expression):
            check_condition(scope, leaf, path)
            if any(problems.below(path)) or _names(leaf) <= set(known):
                continue
        problems.report(not_of_a_call(approval_of_tool(name)), tree.value_at(path))


def _names(leaf: Expression) -> set[str]:
    text = leaf.expression
    return {path[0] for path in parse(text).paths} if is_template(text) else set()
