"""Tell what a YAML file is for: tests, a persona, or a document."""

from pathlib import Path

from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.document import SystemDocument
from coterie.dsl.model.steps import PersonaDocument
from coterie.dsl.source.yaml_events import top_keys
from coterie.dsl.source.yaml_reader import read
from coterie.text.document_text import text_of_document

SUFFIXES = (".yml", ".yaml")

_PERSONA_ONLY = frozenset({"prompts", "execution_plan", "prompt_syntax", "output_schema"})
"""Keys that only personas have, and documents do not."""

_DOCUMENT_ONLY = frozenset(
    SystemDocument.model_fields.keys() - PersonaDocument.model_fields.keys() - {"name"}
)
"""Keys that only documents have."""


def is_test(file: Path) -> bool:
    """Return whether a file is named like a test file, which may be beside teams."""
    return file.suffix in SUFFIXES and file.stem.endswith(".test")


def is_persona(file: Path) -> bool:
    """Return whether a file contains a persona: by its folder, else by its keys."""
    in_folder = file.parent.name == "personas"
    try:
        text = text_of_document(file)
        if not in_folder and not _DOCUMENT_ONLY.isdisjoint(top_keys(text)):
            return False  # found without reading the whole text
        keys = read(text, file.name).entries().keys()
    except (InvalidDocument, OSError, UnicodeDecodeError):
        return in_folder
    return _DOCUMENT_ONLY.isdisjoint(keys) and (in_folder or not _PERSONA_ONLY.isdisjoint(keys))
