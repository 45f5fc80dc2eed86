"""Judge the licences of a bill of materials by our list."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from license_expression import (  # pyright: ignore[reportMissingTypeStubs]  # types are inline
    ExpressionError,
    get_spdx_licensing,
)
from pydantic import BaseModel, ConfigDict, Field

_LIST = Path(__file__).with_name("licences.toml")
_OWN_WORDS = "declared license of "
"""How the tool names a licence that is only written in words."""

_SPDX: Any = get_spdx_licensing()


class _Text(BaseModel):
    content: str


class _License(BaseModel):
    id: str | None = None
    name: str | None = None
    text: _Text | None = None


class Statement(BaseModel):
    """One entry of `licenses`: an expression, an id, or a name."""

    expression: str | None = None
    license: _License = _License()


class Component(BaseModel):
    """One package of a bill of materials."""

    name: str
    version: str
    licenses: tuple[Statement, ...] = ()


class Bill(BaseModel):
    """What we read of a CycloneDX document."""

    model_config = ConfigDict(populate_by_name=True)

    format: str = Field(alias="bomFormat")
    components: tuple[Component, ...]


@dataclass(frozen=True, slots=True)
class AllowedLicences:
    """The licences that packages may have, and the words that stand for them."""

    ids: frozenset[str]
    classifiers: Mapping[str, str]
    words: Mapping[str, str]

    @classmethod
    def read(cls, file: Path = _LIST) -> "AllowedLicences":
        """Read the list."""
        table = tomllib.loads(file.read_text(encoding="utf-8"))
        return cls(frozenset(table["allowed"]), table["classifiers"], table["words"])

    def problem_of(self, component: Component) -> str | None:
        """Why a package may not be in a release; None if it may."""
        expressions = list(self._expressions(component.licenses))
        if not expressions:
            return f"{component.name} {component.version} names no licence"
        refused = [text for text in expressions if not self.allows(text)]
        if refused:
            return f"{component.name} {component.version}: {refused[0]!r} is not on the list"
        return None

    def allows(self, expression: str) -> bool:
        """Whether the list has all that an SPDX expression asks for; of `OR`, one is enough."""
        try:
            tree = _SPDX.parse(expression, validate=True)
        except ExpressionError:
            return False
        return tree is not None and self._fits(tree)

    def _fits(self, tree: Any) -> bool:
        if isinstance(tree, _SPDX.AND):
            return all(map(self._fits, tree.args))
        if isinstance(tree, _SPDX.OR):
            return any(map(self._fits, tree.args))
        return str(tree) in self.ids  # also of "X WITH Y"

    def _expressions(self, statements: Sequence[Statement]) -> Iterator[str]:
        """Yield each licence that is named; words count only where nothing else is said."""
        named = list(self._named(statements))
        yield from named or self._worded(statements)

    def _named(self, statements: Sequence[Statement]) -> Iterator[str]:
        for statement in statements:
            name = statement.license.name or ""
            if statement.expression or statement.license.id:
                yield statement.expression or statement.license.id or ""
            elif name.startswith("License ::"):
                yield self.classifiers.get(name, name)

    def _worded(self, statements: Sequence[Statement]) -> Iterator[str]:
        for statement in statements:
            name, text = statement.license.name or "", statement.license.text
            if name.startswith(_OWN_WORDS) and text is not None:
                yield self.words.get(text.content, text.content[:100])


def problems_of(bill: Bill, allowed: AllowedLicences) -> list[str]:
    """Each package of a bill whose licence is not on the list."""
    problems = (allowed.problem_of(component) for component in bill.components)
    return [problem for problem in problems if problem is not None]
