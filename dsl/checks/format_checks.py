"""A schema that names a `format`, which no check of an answer or a change looks at."""

from dsl.json_schema.schema_problems import formats
from dsl.source.nodes import Mark, Problems
from dsl.values import Json, NodePath
from dsl.wording.document_wording import unchecked_formats


def warn_of_formats(schema: Json, problems: Problems, mark: Mark, path: NodePath) -> None:
    """Warn that the formats of the schema are remarks."""
    named = formats(schema)
    if named:
        problems.note("W515", mark, path, unchecked_formats(named))
