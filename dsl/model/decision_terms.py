"""Terms: who decides, how many must, and what happens if nobody does.

One type for everything that may ask a person: an `approval` step or team, `requires_approval` of a
step or a tool, and the limits of a run that ask before they end it.
"""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Literal, TypeVar, get_args

from pydantic import Discriminator, Field, JsonValue, Tag

from coterie.dsl.model.conditions import AnyOf, Condition
from coterie.dsl.model.template_bound import TimeoutBound
from coterie.dsl.values import Frozen, Json, Timeout

TimeoutOutcome = Literal["reject", "approve", "fail"]
"""What `on_timeout` means unless it names a team."""
TIMEOUT_OUTCOMES: tuple[TimeoutOutcome, ...] = get_args(TimeoutOutcome)


class Escalation(Frozen):
    """Who else may decide after a time without a decision."""

    after: Timeout
    """The time since the question was asked."""
    to: tuple[str, ...] = Field(min_length=1)
    """Names and groups; they may decide from then on."""


def _channels(value: object) -> str:
    return "literal[text]" if isinstance(value, str) else "literal[list]"


Channels = Annotated[
    Annotated[tuple[str, ...], Tag("literal[list]")] | Annotated[str, Tag("literal[text]")],
    Discriminator(_channels),
]
"""Accept a channel of the worker, or several; an empty list is none."""


class DecisionTerms(Frozen):
    """Who decides, how many must, and what a missing decision means."""

    approvers: tuple[str, ...] = ()
    """Who may decide: names, and groups of `orchestration.groups`; anyone when empty."""
    quorum: int = Field(default=1, ge=1, le=100)
    """How many different people of `approvers` must approve; one rejection is enough to reject."""
    deadline: TimeoutBound | None = None
    """How long to wait, above zero. Default: no deadline. In a step a template may give it:
    `{value: template, maximum}`, or a context path with a maximum."""
    remind_every: Timeout | None = None
    """The interval of reminders while nobody decides."""
    escalate: tuple[Escalation, ...] = ()
    """Who else may decide as time passes."""
    on_timeout: str = "reject"
    """What happens at the deadline: `reject`, `approve`, `fail`, or the next team. Without
    `approve`, a missing decision never approves.
    """
    remember: bool = False
    """The approval also answers later questions of this run that ask and show the same."""
    notify: Channels | None = None
    """The channels of the worker that notify people of the request, of reminders, escalations and
    the deadline. Default: those of `orchestration.notify`.
    """
    via: Literal["mcp"] | None = None
    """`mcp`: the person at an MCP client of `coterie serve --mcp` may decide, too. Default: no
    client may, because its model might answer.
    """

    @property
    def timeout_outcome(self) -> TimeoutOutcome | None:
        """What a missing decision means; None if another team comes next."""
        return next((outcome for outcome in TIMEOUT_OUTCOMES if outcome == self.on_timeout), None)

    @property
    def timeout_team(self) -> str | None:
        """The team that comes next if nobody decides in time; None if `on_timeout` names none."""
        return self.on_timeout if self.timeout_outcome is None else None

    @property
    def only_people_approve(self) -> bool:
        """Whether no missing decision approves."""
        return self.deadline is None or self.timeout_outcome != "approve"


class ApprovalTerms(DecisionTerms):
    """The terms of a question that shows a value, which the person may change."""

    editable: bool = False
    """The person may change the value shown; the change is checked, and the run continues with
    it.
    """
    schema_: Json | None = Field(default=None, alias="schema")
    """JSON Schema of the approved value; without one, a change must keep the types of the value
    shown.
    """
    digest: Literal["optional", "required"] = "optional"
    """`required`: every decision must name the digest of what it decides. After a change, a
    decision always must.
    """


class AskTerms(DecisionTerms):
    """The terms of a question that a limit of the run asks."""

    prompt: str | None = None
    """The question, instead of the default one."""


class CallApproval(ApprovalTerms):
    """The terms of `requires_approval`."""

    at: Literal["before", "after"] = "before"
    """`before`: a person approves the input; `after`: a person accepts the output."""
    when: Condition | None = None
    """Ask only if it holds, or if it cannot be evaluated. Default: always."""
    prompt: str | None = None
    """The question, instead of the default one; a template."""
    show: JsonValue = None
    """What the person sees, instead of the input or output."""


NEVER = AnyOf.model_construct(any_of=())
"""The condition of terms that hold for the questions of a tool alone: nobody allows its calls."""


def _form(value: object) -> str:
    return "literal[mapping]" if isinstance(value, Mapping | Frozen) else "literal[word]"


Approval = Annotated[
    Annotated[CallApproval, Tag("literal[mapping]")]
    | Annotated[bool | Literal["before", "after"], Tag("literal[word]")],
    Discriminator(_form),
]
"""Accept the forms of `requires_approval`: `true`, `before`, `after`, or terms."""


def channels(said: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the named channels, each once."""
    if said is None:
        return ()
    return (said,) if isinstance(said, str) else tuple(dict.fromkeys(said))


@cache
def _word(at: Literal["before", "after"]) -> CallApproval:
    return CallApproval(at=at)


def call_approval(
    approval: CallApproval | bool | Literal["before", "after"],
) -> CallApproval | None:
    """Return the terms of `requires_approval`; None if nobody is asked."""
    match approval:
        case CallApproval():
            return approval
        case False:
            return None
        case True:
            return _word("before")
        case word:
            return _word(word)


class LimitQuestion(Frozen):
    """A limit that asks a person, with the terms of the question."""

    ask: AskTerms


NoProgress = Annotated[
    Annotated[LimitQuestion, Tag("literal[mapping]")]
    | Annotated[Literal["fail", "ask", "ignore"], Tag("literal[word]")],
    Discriminator(_form),
]
"""`fail`, `ask`, `ignore`, or `{ask: terms}`."""


OnExceeded = Annotated[
    Annotated[LimitQuestion, Tag("literal[mapping]")]
    | Annotated[Literal["stop", "route", "ask"], Tag("literal[word]")],
    Discriminator(_form),
]
"""`stop`, `route`, `ask`, or `{ask: terms}`."""

Word = TypeVar("Word", Literal["fail", "ask", "ignore"], Literal["stop", "route", "ask"])


def limit_reaction(said: LimitQuestion | Word) -> tuple[Word | Literal["ask"], AskTerms | None]:
    """Return what a limit does, and the terms with which it asks."""
    return ("ask", said.ask) if isinstance(said, LimitQuestion) else (said, None)
