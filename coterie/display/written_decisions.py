"""Decisions written in advance, for runs without a person at the terminal.

    - approval: "solution/*"       # which requests, as a pattern over their ids
      decision: approve            # reject, retry, skip, amend, redirect
      by: release-manager
      comment: The design was agreed on beforehand.
      payload: {pages: 4}          # approve: replaces the payload of an editable request
      value: {}                    # skip: the task's data
      updates: {budget: 5}         # amend: {dotted path: value} of the context
      team: review                 # redirect: the next team

The first entry with a matching pattern decides. `amend` and `redirect` change the run and leave the
request open, and a request may need several people: then the next matching entries follow. A
request without a matching entry, or still open after the last one, waits for a person.
"""

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, JsonValue, ValidationError, model_validator

from coterie.argument_values import read_text
from coterie.failures import CommandError
from dsl.errors import InvalidDocument
from dsl.sizes import MAX_BY_LENGTH, MAX_WHY_LENGTH
from dsl.source.nodes import Node
from dsl.source.yaml_reader import read
from dsl.values import Frozen, Json, form_mismatch

Choice = Literal["approve", "reject", "retry", "skip", "amend", "redirect"]

_BELONGS_TO = {
    "payload": ("approve", False),
    "value": ("skip", False),
    "updates": ("amend", True),
    "team": ("redirect", True),
}
"""`{key: (its decision, whether that decision requires the key)}`."""


class WrittenDecision(Frozen):
    """One entry of the file."""

    approval: str = Field(default="*", min_length=1)
    """A pattern with `*` and `?` over `team/step#number`."""
    decision: Choice
    by: str = Field(min_length=1, max_length=MAX_BY_LENGTH)
    comment: str = Field(default="", max_length=MAX_WHY_LENGTH)
    payload: JsonValue = None
    """For `approve` of an editable request: replaces what was shown."""
    value: JsonValue = None
    """For `skip`: the task's data."""
    updates: Json = Field(default_factory=dict[str, JsonValue])
    """For `amend`: `{dotted path: value}` of the context."""
    team: str = ""
    """For `redirect`: the next team."""

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> "WrittenDecision":
        for key, (decision, required) in _BELONGS_TO.items():
            given = key in self.model_fields_set
            if given and self.decision != decision:
                raise form_mismatch(
                    "decision",
                    "`{key}` goes with `decision: {decision}`",
                    key=key,
                    decision=decision,
                )
            if required and self.decision == decision and not getattr(self, key):
                raise form_mismatch(
                    "decision", "`decision: {decision}` needs `{key}`", key=key, decision=decision
                )
        return self


def read_decisions(file: Path, name: str) -> tuple[WrittenDecision, ...]:
    """Read the entries of a file, in order.

    Args:
        file: Path of the file.
        name: Name for messages.

    Raises:
        CommandError: An entry is invalid; says where.
        InvalidDocument: The file is not valid YAML.
    """
    text = read_text(file, name)
    moved = _is_bare_list(text)
    try:
        # Put a bare list under a key, because the YAML reader expects a mapping at the root.
        tree = read(f"decisions:\n{text}" if moved else text, name)
    except InvalidDocument as error:
        raise InvalidDocument(
            [replace(problem, line=max(1, problem.line - moved)) for problem in error.problems]
        ) from None
    entries = tree.child("decisions")
    if entries is None or not isinstance(entries.value, list) or len(tree.entries()) > 1:
        raise CommandError(
            f"{name} must be a list of decisions, each with approval, decision and by"
        )
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
    """Return the entries whose pattern matches the request's id, in order."""
    return tuple(one for one in decisions if fnmatchcase(request, one.approval))
