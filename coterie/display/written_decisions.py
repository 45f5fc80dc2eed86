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
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

from pydantic import Field, JsonValue, model_validator

from coterie.argument_values import read_text
from coterie.dsl.compile.shapes import parse_as
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.sizes import MAX_BY_LENGTH, MAX_WHY_LENGTH
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.values import Frozen, Json, form_mismatch
from coterie.failures import CommandError

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
        for key, (decision, is_required) in _BELONGS_TO.items():
            is_set = key in self.model_fields_set
            if is_set and self.decision != decision:
                raise form_mismatch(
                    "decision",
                    "`{key}` goes with `decision: {decision}`",
                    key=key,
                    decision=decision,
                )
            if is_required and self.decision == decision and not getattr(self, key):
                raise form_mismatch(
                    "decision", "`decision: {decision}` needs `{key}`", key=key, decision=decision
                )
        return self


_NO_DOCUMENT = "E004"


class DecisionsFile(Frozen):
    """A whole file; a bare list is its `decisions`."""

    decisions: tuple[WrittenDecision, ...]


def read_decisions(file: Path, name: str) -> tuple[WrittenDecision, ...]:
    """Read the entries of a file, in order.

    Args:
        file: Path of the file.
        name: Name for messages.

    Raises:
        CommandError: The file cannot be read, or is not a list.
        InvalidDocument: It is not YAML, or has wrong entries; with every problem.
    """
    try:
        tree = read(read_text(file, name), name, may_be_list=True)
    except InvalidDocument as error:
        if [problem.code for problem in error.problems] == [_NO_DOCUMENT]:
            raise CommandError(
                f"{name} must be a list of decisions, each with approval, decision and by"
            ) from None
        raise
    if isinstance(tree.value, list):
        tree = Node({"decisions": tree}, tree.mark)
    problems = Problems()
    document, _ = parse_as(tree, DecisionsFile, problems)
    if document is None or problems.errors:
        raise InvalidDocument(problems.errors)
    return document.decisions


def decisions_for(
    request: str, decisions: Sequence[WrittenDecision]
) -> tuple[WrittenDecision, ...]:
    """Return the entries whose pattern matches the request's id, in order."""
    return tuple(decision for decision in decisions if fnmatchcase(request, decision.approval))
