"""The declared schema that an edited input or output must match.

A plan carries it with the step, so that a run can refuse an invalid edit at once.
"""

from pydantic import JsonValue

from dsl.json_schema.schema_checker import beyond
from dsl.model.capabilities import SkillContract
from dsl.model.terms import Approval, Consent
from dsl.source.nodes import Node, Problems
from dsl.values import Json, NodePath
from dsl.wording.approval_wording import uncheckable_changes


def checked_by(
    approval: Approval, declared: Json | None, path: NodePath, tree: Node, problems: Problems
) -> Approval:
    """Return the approval with the declared schema, if it is editable and has none of its own.

    Args:
        approval: the value of `requires_approval`.
        declared: the schema of the value shown, if there is one.
        path: where `requires_approval` is written.
        tree: the document.
        problems: collects a schema that cannot be checked inside a run.
    """
    if not isinstance(approval, Consent) or not approval.editable or approval.schema_ is not None:
        return approval
    if declared is None:
        return approval
    wrong = beyond(declared)
    if wrong is not None:
        place = (*path, "editable")
        problems.note("E505", tree.find(place).at, place, uncheckable_changes(wrong))
    return approval.model_copy(update={"schema_": declared})


def of_contract(approval: Approval, contract: SkillContract) -> Json | None:
    """Return what a contract declares of the value shown."""
    return of_schemas(approval, contract.input_schema, contract.output_schema)


def of_schemas(
    approval: Approval, given: Json, result: Json | None, fixed: Json | None = None
) -> Json | None:
    """Return the declared schema of the value shown; a tool's fixed values stay fixed."""
    if not isinstance(approval, Consent):
        return None
    if approval.at == "after":
        return result
    if not fixed:
        return given
    kept: JsonValue = {
        "properties": {key: {"const": value} for key, value in fixed.items()},
        "required": list(fixed),
    }
    already = given.get("allOf")
    parts = already if isinstance(already, list) else []
    return {**given, "allOf": [*parts, kept]}
