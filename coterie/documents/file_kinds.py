"""Tell what a YAML file is for: tests, a persona, or a document."""

from pathlib import Path

from dsl.errors import InvalidDocument
from dsl.model.document import SystemDocument
from dsl.model.steps import PersonaDocument
from dsl.source.yaml_reader import read

SUFFIXES = (".yml", ".yaml")

_TELLING = ("prompts", "execution_plan", "prompt_syntax", "output_schema")
"""Keys that only personas have, and documents do not."""


def is_test(file: Path) -> bool:
    """Return whether a file is named like a test file, which may be beside teams."""
    return file.suffix in SUFFIXES and file.stem.endswith(".test")


def is_persona(file: Path) -> bool:
    """Return whether a file contains a persona: by its folder, else by its keys."""
    try:
        keys = set(read(file.read_text(encoding="utf-8"), file.name).entries())
    except (InvalidDocument, OSError, UnicodeDecodeError):
        return file.parent.name == "personas"
    if keys & SystemDocument.model_fields.keys() - PersonaDocument.model_fields.keys() - {"name"}:
        return False
    return file.parent.name == "personas" or bool(keys & set(_TELLING))
