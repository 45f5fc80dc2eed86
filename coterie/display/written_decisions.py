"""Decisions written down beforehand, for runs where no person sits.

    - approval: "solution/*"       # which requests, as a pattern over their ids
      decision: approve            # reject, retry, skip, amend, redirect
      by: release-manager
      comment: The design was agreed on beforehand.
      payload: {pages: 4}          # approve: replaces what an editable request shows
      value: {}                    # skip: the task's data
      updates: {budget: 5}         # amend: {dotted path: value} of the context
      team: review                 # redirect: the team that comes next

The first entry whose pattern fits decides. `amend` and `redirect` change the run and leave the
request open, and a request may need several people: then the next entries that fit follow. A
request that no entry fits, or that is still open after the last one, waits for a person.
"""

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, JsonValue, ValidationError, model_validator

from coterie.arguments import read_text
from coterie.failures import CommandError
from dsl.errors import InvalidDocument
from dsl.sizes import MAX_BY_LENGTH, MAX_WHY_LENGTH
from dsl.source.yaml_reader import Node, read
from dsl.values import Frozen, Json, misfit

Choice = Literal["approve", "reject", "retry", "skip", "amend", "redirect"]

_BELONGS_TO = {
    "payload": ("approve", False),
    "value": ("skip", False),
    "updates": ("amend", True),
    "team": ("redirect", True),
}
"""`{key: (the decision that it goes with, whether that decision needs it)}`."""


class WrittenDecision(Frozen):
    """One entry of the file."""

    approval: str = Field(default="*", min_length=1)
    """A pattern with `*` and `?` over `team/step#visit`."""
    decision: Choice
    by: str = Field(min_length=1, max_length=MAX_BY_LENGTH)
    comment: str = Field(default="", max_length=MAX_WHY_LENGTH)
    payload: JsonValue = None
    """With `approve`, of what is editable: what shall be instead of what was shown."""
    value: JsonValue = None
    """With `skip`: the task's data."""
    updates: Json = Field(default_factory=dict[str, JsonValue])
    """With `amend`: `{dotted path: value}` of the context."""
    team: str = ""
    """With `redirect`: the team that comes next."""

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> "WrittenDecision":
        for key, (decision, required) in _BELONGS_TO.items():
            given = key in self.model_fields_set
            if given and self.decision != decision:
                raise misfit(
                    "decision",
                    "`{key}` goes with `decision: {decision}`",
                    key=key,
                    decision=decision,
                )
            if required and self.decision == decision and not getattr(self, key):
                raise misfit(
                    "decision", "`decision: {decision}` needs `{key}`", key=key, decision=decision
                )
        return self


def read_decisions(file: Path, name: str) -> tuple[WrittenDecision, ...]:
    """The entries of a file, in its order.

    Args:
        file: where it is.
        name: what messages call it.

    Raises:
        CommandError: an entry is none; says where.
        InvalidDocument: the file is not YAML of ours.
    """
    text = read_text(file, name)
    moved = _is_bare_list(text)
    try:
        # A bare list is put under a key, since the root of what we read is a mapping.
        tree = read(f"decisions:\n{text}" if moved else text, name)
    except InvalidDocument as error:
        raise InvalidDocument(
            [replace(problem, line=max(1, problem.line - moved)) for problem in error.problems]
        ) from None
    entries = tree.child("decisions")
    if entries is None or not isinstance(entries.value, list) or len(tree.entries()) > 1:
        raise CommandError(f"{name} holds a list of decisions, each with approval, decision and by")
    return tuple(_entry(node, name, moved=moved) for node in entries.items())


def _is_bare_list(text: str) -> bool:
    lines = (
        line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")
    )
    return next(lines, "").startswith("-")


def _entry(node: Node, name: str, *, moved: bool) -> WrittenDecision:
    try:
        return WrittenDecision.model_validate(node.plain())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        line = node.mark.line - moved
        raise CommandError(
            f"{name}:{line}: {field or 'the entry'}: {first['msg']}; an entry has approval (a "
            f"pattern), decision ({', '.join(get_args(Choice))}), by, and optionally comment, "
            "payload, value, updates or team"
        ) from None


def decisions_for(
    request: str, decisions: Sequence[WrittenDecision]
) -> tuple[WrittenDecision, ...]:
    """The entries whose pattern fits the request's id, in their order."""
    return tuple(one for one in decisions if fnmatchcase(request, one.approval))
