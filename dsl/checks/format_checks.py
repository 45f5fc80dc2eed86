"""Checks of the schemas of answers and edited values; none of these reads a `format`."""

from collections.abc import Collection

from coterie.dsl.json_schema.schema_problems import formats, schema_problem
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Node, Place
from coterie.dsl.values import Json, NodePath


@rule("W515")
def unchecked_formats(names: Collection[str]) -> ProblemText:
    return ProblemText(
        f"`format` is not checked: {', '.join(names)}; any text passes",
        fix="write a `pattern`, or leave `format` as a remark to the model",
    )


def warn_of_formats(schema: Json, problems: Problems, mark: Mark, path: NodePath) -> None:
    """Warn that the formats in the schema have no effect."""
    named = formats(schema)
    if named:
        problems.report(unchecked_formats(named), Place(mark, path))


@rule("E505")
def unsound_schema(reason: str) -> ProblemText:
    return ProblemText(f"the output_schema cannot be used: {reason}")


def check_answer_schema(
    schema: Json | None, where: NodePath, tree: Node, problems: Problems
) -> None:
    """Note a schema that answers cannot be checked against; warn of its formats otherwise."""
    if schema is None:
        return
    mark, problem = tree.find(where).mark, schema_problem(schema)
    if problem is not None:
        problems.report(unsound_schema(problem), Place(mark, where))
    else:
        warn_of_formats(schema, problems, mark, where)
