"""The page of what waits for people, as a typed view. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from coterie.gateway.console.fields.form_fields import FormField
from coterie.gateway.console.fields.schema_forms import edit_form
from coterie.gateway.console.request_cards import RequestCard, request_card
from coterie.gateway.identity.console_address import run_url
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.request_decisions import WaitingRequest, WaitingRequests
from coterie.runs.progress import Tone
from coterie.worker.sign_in_files import sign_in_url
from coterie.workflows.core.requests import Pending
from coterie.workflows.core.state_keys import StepKey

RequestKind = Literal["approval", "budget", "question", "failed"]
"""`budget`: a person extends it; `failed`: a failed task is retried, skipped, or fails."""
TOGETHER: tuple[RequestKind, ...] = ("approval", "budget")
"""What several requests may be decided as at once."""
EXTEND_BY = "extend_by"
BUDGET = "/budget/"
"""In the id of a request that a budget makes."""


class DecisionWords(NamedTuple):
    """What the buttons and the fold of a request say."""

    approve: str
    reject: str
    change: str


_WORDS: Mapping[RequestKind, DecisionWords] = {
    "approval": DecisionWords("Approve", "Reject", "Change what is shown before you approve"),
    "budget": DecisionWords("Extend", "Stop the run", "By how much; 0 ends the run as it is"),
    "question": DecisionWords("Answer", "Decline", "Your answer"),
    "failed": DecisionWords("", "Let it fail", ""),
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A form that comes back: what a person typed about one request."""

    run: str
    request: str
    fields: tuple[FormField, ...]
    comment: str


@dataclass(frozen=True, slots=True)
class InboxCard:
    """One request that waits, with what a decision needs."""

    run: str
    url: str
    team: str
    card: RequestCard
    pick: str
    """Identifies the request as it was shown, for a form."""
    is_served: bool
    is_yours: bool
    words: DecisionWords
    is_choosable: bool = False
    """Whether it may be decided together with others."""
    form: tuple[FormField, ...] = ()
    """Of the shown value, if the approver may change it."""
    is_open_form: bool = False
    """Whether the form is unfolded at first."""
    comment: str = ""
    """As it was typed."""
    is_cut: bool = False
    """Whether the request is too large to be whole in a list."""
    task: str = ""
    """Of a failed task: `team/task`."""
    may_steer: bool = False
    """Of a failed task: whether the reader may try it again, or skip it."""
    sign_in: str = ""
    """Where the reader may sign in, if the request wants that."""

    @property
    def is_for_reader(self) -> bool:
        """Whether the reader can do something about it."""
        return self.is_yours or self.may_steer or bool(self.sign_in)


@dataclass(frozen=True, slots=True)
class InboxPage:
    """Everything that waits for people."""

    mine: tuple[InboxCard, ...]
    """What the reader may decide."""
    others: tuple[InboxCard, ...]
    silent: tuple[str, ...]
    """Runs for which no worker answers."""
    more: bool
    run: str = ""
    """The only run whose requests are here; empty: all."""

    @property
    def choosable(self) -> int:
        """How many requests a person may decide together."""
        return sum(card.is_choosable for card in self.mine)


def inbox_page(
    found: WaitingRequests,
    identity: Identity | None = None,
    draft: Draft | None = None,
    run: str = "",
) -> InboxPage:
    """Return the page of the requests that wait.

    Args:
        found: The requests.
        identity: The reader.
        draft: A form of the reader that comes back.
        run: The only run whose requests are here.
    """
    cards = [inbox_card(waiting, identity, draft) for waiting in found.requests]
    return InboxPage(
        mine=tuple(card for card in cards if card.is_for_reader),
        others=tuple(card for card in cards if not card.is_for_reader),
        silent=found.silent,
        more=found.more,
        run=run,
    )


def inbox_card(
    waiting: WaitingRequest, identity: Identity | None = None, draft: Draft | None = None
) -> InboxCard:
    """Return one request that waits; the arguments are those of `inbox_page`."""
    asked = waiting.request
    request = asked.model_copy(update={"commit": waiting.diff or asked.commit})
    pick = {"run": waiting.run, "request": asked.id, "digest": asked.digest}
    is_draft = draft is not None and (draft.run, draft.request) == (waiting.run, asked.id)
    kind = request_kind(asked)
    form = () if kind == "failed" or asked.cut or not asked.editable else _edit_form(asked)
    steers = identity is not None and isinstance(
        may(identity, (Role.OPERATOR,), waiting.team), Allowed
    )
    return InboxCard(
        run=waiting.run,
        url=run_url(waiting.run),
        team=waiting.team,
        card=request_card(request, None, asked.id),
        pick=json.dumps(pick, ensure_ascii=False),
        is_served=waiting.is_served,
        is_yours=waiting.is_yours,
        words=_WORDS[kind],
        is_choosable=waiting.is_yours and kind in TOGETHER,
        form=draft.fields if draft is not None and is_draft else form,
        is_open_form=is_draft or kind in ("budget", "question"),
        comment=draft.comment if draft is not None and is_draft else "",
        is_cut=asked.cut,
        task=str(StepKey.of_failed(asked.id)) if kind == "failed" else "",
        may_steer=kind == "failed" and steers,
        sign_in=sign_in_url(asked.sign_in, waiting.run) if asked.sign_in and steers else "",
    )


def request_kind(request: Pending) -> RequestKind:
    """Return what a decision about a request does."""
    if request.choices:
        return "failed"
    if request.is_question:
        return "question"
    schema = request.payload_schema or {}
    properties = schema.get("properties")
    extends = isinstance(properties, dict) and set(properties) == {EXTEND_BY}
    return "budget" if extends and BUDGET in request.id else "approval"


def _edit_form(request: Pending) -> tuple[FormField, ...]:
    return edit_form(request.payload_schema, request.show, {})


@dataclass(frozen=True, slots=True)
class ProblemPage:
    """A request that could not be answered, and what its sender may do."""

    title: str
    message: str
    fix: str
    code: str
    retry: str = ""
    """The address that may answer now; empty: none."""
    sign_in: str = ""
    """The address of sign-in, which leads back."""
    form_action: str = ""
    """Where to send the form again."""
    fields: Sequence[tuple[str, str]] = ()
    """What the person typed, which is kept."""
    hidden: Sequence[tuple[str, str]] = ()
    """What the form holds besides."""
    tone: Tone = "bad"
