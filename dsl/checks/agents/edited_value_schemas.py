"""The declared schema that an edited input or output must match.

A plan carries it with the step, so that a run can refuse an invalid edit at once.
"""

from pydantic import JsonValue

from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.model.decision_terms import Approval, CallApproval
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.values import Json, NodePath


@rule("E505")
def uncheckable_changes(reason: str) -> ProblemText:
    return ProblemText(
        f"a change cannot be checked against the declared schema: {reason}",
        fix="add a `schema:` for the change, beside `editable`",
    )


def checked_by(
    approval: Approval,
    given: Json | None,
    result: Json | None,
    path: NodePath,
    tree: Node,
    problems: Problems,
    *,
    fixed: Json | None = None,
) -> Approval:
    """Return the approval with the declared schema, if it is editable and has none of its own.

    Args:
        approval: the value of `requires_approval`.
        given: the schema of the input, if there is one.
        result: the schema of the result, if there is one.
        path: where `requires_approval` is written.
        tree: the document.
        problems: collects a schema that cannot be checked inside a run.
        fixed: a tool's fixed values, which stay fixed.
    """
    if (
        not isinstance(approval, CallApproval)
        or not approval.editable
        or approval.schema_ is not None
    ):
        return approval
    declared = result if approval.at == "after" else _with_fixed(given, fixed)
    if declared is None:
        return approval
    wrong = schema_problem(declared)
    if wrong is not None:
        key_path = (*path, "editable")
        problems.report(uncheckable_changes(wrong), tree.key_at(key_path))
    return approval.model_copy(update={"schema_": declared})


def _with_fixed(schema: Json | None, fixed: Json | None) -> Json | None:
    """Return the schema of an input in which some values are fixed."""
    if schema is None or not fixed:
        return schema
    constraint: JsonValue = {
        "properties": {key: {"const": value} for key, value in fixed.items()},
        "required": list(fixed),
    }
    already = schema.get("allOf")
    parts = already if isinstance(already, list) else []
    return {**schema, "allOf": [*parts, constraint]}
