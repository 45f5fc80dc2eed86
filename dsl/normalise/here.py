"""The context that a written form may refer to implicitly.

Forms work on nodes, before validation by the models, so that every position is kept. "Older forms"
of docs/language.md lists the older ones; every other form is refused (`dsl.wording.replacements`).
"""

from collections.abc import Collection
from dataclasses import dataclass

from pydantic import JsonValue

from dsl.source.collected_problems import Problems
from dsl.source.nodes import Node


@dataclass(frozen=True, slots=True)
class Here:
    """The context that an older form refers to implicitly."""

    root: Node
    """The whole document."""
    problems: Problems
    tasks: Collection[str] = ()
    """The tasks of the team, or the steps of the plan, for `{type: simple, field: task.path}`."""
    persona: str | None = None
    """The persona whose plan this is, for `llm_call`."""
    variables: Collection[str] = ()
    """The variables that the steps set, for `field` and plain `{key: value}` conditions."""

    @property
    def document(self) -> JsonValue:
        """The whole document's plain value, for `config_field`."""
        return self.root.plain()

    def value_at(self, *path: str) -> JsonValue:
        """Return the document's value at the path; None if there is none."""
        node: Node | None = self.root
        for segment in path:
            node = None if node is None else node.entries().get(segment)
        return None if node is None else node.plain()
