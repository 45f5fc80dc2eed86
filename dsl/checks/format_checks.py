"""Checks of the schemas of answers and edited values; none of these reads a `format`."""

from coterie.dsl.json_schema.schema_problems import formats, schema_problem
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Node
from coterie.dsl.values import Json, NodePath
from coterie.dsl.wording.agent_wording import unsound_schema
from coterie.dsl.wording.document_wording import unchecked_formats


def warn_of_formats(schema: Json, problems: Problems, mark: Mark, path: NodePath) -> None:
    """Warn that the formats in the schema have no effect."""
    named = formats(schema)
    if named:
        problems.note("W515", mark, path, unchecked_formats(named))


def check_answer_schema(
    schema: Json | None, where: NodePath, tree: Node, problems: Problems
) -> None:
    """Note a schema that answers cannot be checked against; warn of its formats otherwise."""
    if schema is None:
        return
    mark, problem = tree.find(where).mark, schema_problem(schema)
    if problem is not None:
        problems.note("E505", mark, where, unsound_schema(problem))
    else:
        warn_of_formats(schema, problems, mark, where)
