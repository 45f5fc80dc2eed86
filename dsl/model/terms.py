"""Terms: who decides, how many, and what happens while nobody does (design 5).

One shape for everything that may ask a person: an `approval` step or team, `requires_approval` of
a step or a tool, and the limits of a run that ask before they end it.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, TypeVar

from pydantic import Discriminator, Field, JsonValue, Tag

from dsl.values import Frozen, Json, Seconds, Timeout


class Escalation(Frozen):
    """Who may decide too, once nobody has for so long."""

    after: Timeout
    """From when the question was asked."""
    to: tuple[str, ...] = Field(min_length=1)
    """Names and groups; they may decide from then on."""


def _channels(value: object) -> str:
    return "literal[text]" if isinstance(value, str) else "literal[list]"


Channels = Annotated[
    Annotated[tuple[str, ...], Tag("literal[list]")] | Annotated[str, Tag("literal[text]")],
    Discriminator(_channels),
]
"""A channel of the worker, or several; an empty list is none."""


class DecisionTerms(Frozen):
    """Who decides, how many, and what silence means."""

    approvers: tuple[str, ...] = ()
    """Who may decide: names, and groups of `orchestration.groups`; anyone when empty."""
    quorum: int = Field(default=1, ge=1, le=100)
    """So many different people of `approvers` have to approve; one rejection is enough to
    reject."""
    deadline: Seconds | None = None
    """How long to wait. Default: no deadline."""
    remind_every: Timeout | None = None
    """A reminder in the trail after each such while without a decision."""
    escalate: tuple[Escalation, ...] = ()
    """Who may decide too, as time goes by."""
    on_timeout: str = "reject"
    """What the deadline means: `reject`, `approve`, `fail`, or the next team. Nothing is
    approved by silence unless this says `approve`."""
    remember: bool = False
    """What was approved is approved again in this run, when the same is asked and shown."""
    notify: Channels | None = None
    """The channels of the worker that tell people of the request, of reminders, escalations and of
    its end by the deadline; default: those of `orchestration.notify`."""


class ApprovalTerms(DecisionTerms):
    """The terms of a question that shows something, which the person may change."""

    editable: bool = False
    """The person may change what is shown; the change is checked, and is what counts."""
    schema_: Json | None = Field(default=None, alias="schema")
    """JSON Schema that a change has to meet, and all that is approved; without one, a change keeps
    the shape of what is shown."""
    digest: Literal["optional", "required"] = "optional"
    """`required`: every decision names the digest of what it decides. What was changed since it
    opened needs one anyway."""


class AskTerms(DecisionTerms):
    """The terms of a question that a limit of the run asks."""

    prompt: str | None = None
    """The question, instead of the limit's own words."""


class Consent(ApprovalTerms):
    """The terms of `requires_approval`."""

    when: Literal["before", "after"] = "before"
    """`before`: a person allows what will be sent; `after`: a person accepts what came of it."""
    prompt: str | None = None
    """The question, instead of the product's own; a template."""
    show: JsonValue = None
    """What the person sees, instead of what will be sent or what came of it."""


def _form(value: object) -> str:
    return "literal[mapping]" if isinstance(value, Mapping | Frozen) else "literal[word]"


Approval = Annotated[
    Annotated[Consent, Tag("literal[mapping]")]
    | Annotated[bool | Literal["before", "after"], Tag("literal[word]")],
    Discriminator(_form),
]
"""Of `requires_approval`: `true`, `before`, `after`, or terms."""


def channels(said: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """The channels that are named, each once."""
    if said is None:
        return ()
    return (said,) if isinstance(said, str) else tuple(dict.fromkeys(said))


_WORDS = {when: Consent(when=when) for when in ("before", "after")}


def consent(approval: Consent | bool | Literal["before", "after"]) -> Consent | None:
    """The terms that `requires_approval` comes to; None when nobody is asked."""
    match approval:
        case Consent():
            return approval
        case False:
            return None
        case True:
            return _WORDS["before"]
        case word:
            return _WORDS[word]


class Asking(Frozen):
    """A limit that asks a person, with the terms of the question."""

    ask: AskTerms


NoProgress = Annotated[
    Annotated[Asking, Tag("literal[mapping]")]
    | Annotated[Literal["fail", "ask", "ignore"], Tag("literal[word]")],
    Discriminator(_form),
]
"""`fail`, `ask`, `ignore`, or `{ask: terms}`."""


OnExceeded = Annotated[
    Annotated[Asking, Tag("literal[mapping]")]
    | Annotated[Literal["stop", "route", "ask"], Tag("literal[word]")],
    Discriminator(_form),
]
"""`stop`, `route`, `ask`, or `{ask: terms}`."""

Word = TypeVar("Word", Literal["fail", "ask", "ignore"], Literal["stop", "route", "ask"])


def asking(said: Asking | Word) -> tuple[Word | Literal["ask"], AskTerms | None]:
    """What a limit does, and the terms with which it asks."""
    return ("ask", said.ask) if isinstance(said, Asking) else (said, None)
