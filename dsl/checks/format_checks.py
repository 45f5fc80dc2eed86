"""Warns of a schema with a `format`: no check of an answer or an edited value reads it."""

from dsl.json_schema.schema_problems import formats
from dsl.source.nodes import Mark, Problems
from dsl.values import Json, NodePath
from dsl.wording.document_wording import unchecked_formats


def warn_of_formats(schema: Json, problems: Problems, mark: Mark, path: NodePath) -> None:
    """Warn that the formats in the schema have no effect."""
    named = formats(schema)
    if named:
        problems.note("W515", mark, path, unchecked_formats(named))
