"""Read an OpenAPI document: its text as a tree, references within it, where its parts are. Pure.

References to other files and addresses are not followed.
"""

from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import unquote

from coterie.dsl.source.nodes import Node
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.strict_json import read_json
from coterie.dsl.values import Json, JsonValue, NodePath

MAX_PLACED = 2_000_000
"""Characters of a JSON text whose parts have lines and columns; reading these takes a second."""

_MAX_HOPS = 20


class Unreadable(Exception):
    """A part of the document cannot be used; the message says why."""


class ApiDocument(NamedTuple):
    """A document of an API."""

    file: str
    content: Json
    tree: Node | None
    """With positions; None for a large JSON text."""

    @property
    def is_old(self) -> bool:
        """Whether its schemas are those of OpenAPI 3.0, not JSON Schema."""
        return str(self.content.get("openapi")).startswith("3.0")

    def place(self, path: NodePath) -> str:
        """Return where a part is, for people: `file:line:column`."""
        if self.tree is None:
            return f"{self.file}, {'.'.join(map(str, path))}"
        mark = self.tree.find(path).at
        return f"{self.file}:{mark.line}:{mark.column}"

    def target(self, reference: str) -> JsonValue:
        """Return what a reference names, after all that it leads through.

        Raises:
            Unreadable: It leads out of the document, to nothing, or in a circle.
        """
        seen = reference
        for _ in range(_MAX_HOPS):
            value = self._pointed_at(seen)
            further = value.get("$ref") if isinstance(value, dict) else None
            if not isinstance(further, str):
                return value
            seen = further
        raise Unreadable(f"its reference {reference!r} leads in a circle")

    def _pointed_at(self, reference: str) -> JsonValue:
        if not reference.startswith("#/"):
            raise Unreadable(
                f"it refers to {reference!r}, and only references within the document (`#/...`) "
                "are followed: bundle the document into one file"
            )
        value: JsonValue = self.content
        for part in reference[2:].split("/"):
            name = unquote(part).replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and name in value:
                value = value[name]
            elif isinstance(value, list) and name.isdigit() and int(name) < len(value):
                value = value[int(name)]
            else:
                raise Unreadable(f"its reference {reference!r} names nothing")
        return value

    def resolved(self, value: JsonValue) -> Json:
        """Return a mapping, or the one that it refers to.

        Raises:
            Unreadable: It is not a mapping, or its reference cannot be followed.
        """
        reference = value.get("$ref") if isinstance(value, dict) else None
        target = self.target(reference) if isinstance(reference, str) else value
        if not isinstance(target, dict):
            raise Unreadable("a part of it is not a mapping")
        return target


def read_api_document(text: str, file: str) -> ApiDocument:
    """Return the document of a YAML or JSON text.

    Raises:
        InvalidDocument: The text is not YAML.
        Unreadable: The document is of an unknown version or kind; the message says where.
    """
    if len(text) > MAX_PLACED and text.lstrip().startswith("{"):
        try:
            large = read_json(text)
        except ValueError as error:
            raise Unreadable(f"{file} is not JSON: {error}") from None
        document = ApiDocument(file, large if isinstance(large, dict) else {}, None)
    else:
        tree = read(text, file)
        plain = tree.plain()
        document = ApiDocument(file, plain if isinstance(plain, dict) else {}, tree)
    _check_version(document)
    return document


def _check_version(document: ApiDocument) -> None:
    content = document.content
    version = content.get("openapi")
    if isinstance(version, str) and version.startswith(("3.0.", "3.1.")):
        if not isinstance(content.get("paths", {}), Mapping):
            raise Unreadable(f"{document.place(('paths',))}: `paths` is not a mapping")
        return
    if "swagger" in content:
        place = document.place(("swagger",))
        raise Unreadable(
            f"{place}: this is a document of Swagger {content['swagger']}; OpenAPI 3.0 and 3.1 are "
            "read: convert it, for example with `npx swagger2openapi`"
        )
    place = document.place(("openapi",))
    what = "`openapi` is missing" if version is None else f"OpenAPI {version!r} is not known"
    raise Unreadable(f"{place}: {what}; documents of OpenAPI 3.0 and 3.1 are read")
