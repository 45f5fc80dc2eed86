"""Checks of the schemas of answers and edited values; none of these reads a `format`."""

from coterie.dsl.json_schema.schema_problems import formats, schema_problem
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Mark, Node, Place
from coterie.dsl.values import Json, NodePath
from coterie.dsl.wording.agent_wording import unsound_schema
from coterie.dsl.wording.document_wording import unchecked_formats


def warn_of_formats(schema: Json, problems: Problems, mark: Mark, path: NodePath) -> None:
    """Warn that the formats in the schema have no effect."""
    named = formats(schema)
    if named:
        problems.report(unchecked_formats(named), Place(mark, path))


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
