"""Checks whether a skill's contract accepts the input of a step or a tool."""

from coterie.dsl.checks.contracts.contract_problems import ContractMismatch, contract_mismatches
from coterie.dsl.checks.contracts.known_answers import resolved
from coterie.dsl.model.capabilities import SkillContract
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.templates.literal_parts import known_parts
from coterie.dsl.values import UNREADABLE, Json, JsonValue, NodePath


def check_input(
    tree: Node,
    problems: Problems,
    contract: SkillContract,
    given: JsonValue,
    path: NodePath,
    *,
    fixed: Json | None = None,
    whole: bool = True,
) -> None:
    """Note every part of an input that the contract never accepts; the run checks the rest.

    Args:
        tree: the document.
        problems: collects the findings.
        contract: of the skill.
        given: the input, templates not rendered.
        path: where it is written.
        fixed: the tool's values that override it; they are checked at the tool.
        whole: whether nothing is added to it later.
    """
    parts = known_parts(_without_unreadable(given))
    if given is None and _wants_mapping(contract.input_schema):
        parts = {}
    if fixed and isinstance(parts, dict):
        parts = {**parts, **{key: known_parts(value) for key, value in fixed.items()}}
    for mismatch in contract_mismatches(parts, contract.input_schema, whole=whole):
        if fixed is None or not mismatch.path or mismatch.path[0] not in fixed:
            _note(tree, problems, contract.name, mismatch, path)


@rule("E213")
def skill_input(
    skill: str, problem: str, allowed: str, fix: str, *, is_missing: bool
) -> ProblemText:
    return ProblemText(f"{skill} {'needs' if is_missing else 'takes'} {problem}", allowed, fix)


def _note(
    tree: Node, problems: Problems, skill: str, mismatch: ContractMismatch, path: NodePath
) -> None:
    key_path = (*path, *mismatch.path)
    node = tree.find(key_path)
    there = tree.has(key_path)
    by_key = mismatch.missing or mismatch.unknown or not there
    problems.report(
        skill_input(
            skill, mismatch.message, mismatch.allowed, mismatch.fix, is_missing=mismatch.missing
        ),
        Place(node.at if by_key else node.mark, key_path),
    )


def _wants_mapping(schema: Json) -> bool:
    """Return whether the input is always a mapping, so that without one its keys are missing."""
    here = resolved(schema, schema)
    return isinstance(here, dict) and here.get("type") == "object"


def _without_unreadable(given: JsonValue) -> JsonValue:
    """Return the input without the placeholders for unreadable values, already reported."""
    if isinstance(given, dict):
        return {key: _without_unreadable(one) for key, one in given.items() if one != UNREADABLE}
    return given
