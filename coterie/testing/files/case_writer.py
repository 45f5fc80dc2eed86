"""Write a test file as readable YAML that parses back to the same document."""

from collections.abc import Callable, Mapping
from typing import Any, cast

import yaml
from pydantic import JsonValue

from coterie.dsl.source.yaml_reader import read
from coterie.testing.files.case_document import TestDocument

_WIDTH = 100
_LIKE_OTHERS = "+-.0123456789~"
"""First characters for which YAML readers may take a plain text for a number."""


def yaml_of(document: TestDocument, head: str) -> str:
    """Format the document as YAML, below a comment.

    Args:
        document: The document; fields that were never set are omitted.
        head: Comment lines.
    """
    plain = _lean(document.model_dump(mode="json", by_alias=True, exclude_unset=True))
    assert isinstance(plain, dict)  # a document is a mapping
    for long in ("answers", "functions"):
        if long in plain:
            plain[long] = plain.pop(long)  # moved to the end, below what people look for
    text = yaml.dump(plain, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_WIDTH)
    assert read(text, "written").plain() == plain, "a written test file reads back differently"
    comment = "".join(f"# {line}\n" for line in head.splitlines())
    return f"{comment}{text}"


def _lean(value: object) -> JsonValue:
    """Convert whole numbers of seconds to integers."""
    match value:
        case dict():
            mapping = cast("Mapping[str, object]", value)
            return {key: _lean(item) for key, item in mapping.items()}
        case list():
            return [_lean(item) for item in cast("list[object]", value)]
        case float() if value.is_integer():
            return int(value)
        case _:
            return cast("JsonValue", value)


class _Dumper(yaml.SafeDumper):
    """Writes long texts as blocks, ambiguous texts in quotes, and lists indented."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = None
    if "\n" in text:
        style = "|"
    elif text[:1] in _LIKE_OTHERS or text.lower() in ("true", "false", "null"):
        style = '"'
    represent: Callable[..., yaml.ScalarNode] = cast("Any", dumper).represent_scalar
    return represent("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _text)
