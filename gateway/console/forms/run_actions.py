"""What the reader of a run's page may do with the run: forms, as their roles allow. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from coterie.gateway.console.fields.form_fields import FormField
from coterie.gateway.console.inbox_page import BUDGET
from coterie.gateway.console.request_cards import RequestCard
from coterie.gateway.console.run_page import RunPage
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.permissions import Allowed, may


@dataclass(frozen=True, slots=True)
class SteeringForm:
    """One way to steer a run."""

    action: str
    """The name of the operation."""
    title: str
    sentence: str
    fields: tuple[FormField, ...] = ()
    takes_reason: bool = True
    takes_values: bool = False
    """Whether it has a page of its own, with fields from the plan of the run."""


@dataclass(frozen=True, slots=True)
class RunActions:
    """What a reader may do with one run."""

    run: str
    words: str
    forms: tuple[SteeringForm, ...]
    may_decide: bool
    extends: bool
    """Whether a budget is used up, and the reader may extend it."""
    may_sign_in: bool = False
    """Whether a request wants a sign-in, and the reader may sign in."""
    origin: str = ""
    """The run that it was forked from."""


_OPTIONAL_TASK = FormField(
    "task", "text", "Task", "TEAM/TASK. Default: the only one that waits.", required=False
)


def run_actions(page: RunPage, team: str, identity: Identity) -> RunActions:
    """Return what an identity may do with a run."""

    def allows(role: Role) -> bool:
        return isinstance(may(identity, (role,), team), Allowed)

    forms = tuple(_forms(page)) if allows(Role.OPERATOR) else ()
    words = ", ".join(form.title.lower() for form in forms)
    return RunActions(
        page.run,
        words or "compare it",
        forms,
        allows(Role.APPROVER),
        allows(Role.APPROVER) and any(map(_asks_for_budget, page.requests)),
        any(card.sign_in for card in page.requests) and allows(Role.OPERATOR),
        page.input.origin,
    )


def _asks_for_budget(card: RequestCard) -> bool:
    return card.is_open and BUDGET in card.id


def _forms(page: RunPage) -> Sequence[SteeringForm]:
    visits = tuple(visit.name for visit in page.visits[-50:] if "#" in visit.name)
    fork = SteeringForm(
        "fork",
        "Fork",
        "Starts another run from the start of a visit of this one.",
        (FormField("at", "choice", "Visit", "", required=True, choices=visits),),
    )
    if page.ended is not None:
        retry = SteeringForm(
            "retry", "Retry", "Starts another run where this one failed.", takes_values=True
        )
        return (retry, fork) if page.tone == "bad" else (fork,)
    teams = tuple(team.id for team in page.plan.teams)
    paused = page.state == "paused"
    hold = SteeringForm(
        "resume" if paused else "pause",
        "Resume" if paused else "Pause",
        "Lets it continue." if paused else "Starts nothing new, and stops its deadlines.",
    )
    return (
        hold,
        SteeringForm(
            "say",
            "Tell an agent",
            "The model of an agent at work reads it at its next turn.",
            (
                FormField("text", "text", "Text", "", required=True),
                FormField(
                    "step", "text", "Step", "TEAM/STEP. Default: the only one.", required=False
                ),
            ),
            takes_reason=False,
        ),
        SteeringForm("amend", "Amend", "Changes the context at the next step.", takes_values=True),
        SteeringForm(
            "redirect",
            "Redirect",
            "Continues with another team when the current one ends.",
            (FormField("team", "choice", "Team", "", required=True, choices=teams),),
        ),
        SteeringForm(
            "skip", "Skip", "Leaves a task out, now or when it starts.", takes_values=True
        ),
        SteeringForm("retry", "Retry", "Retries a failed task that waits.", (_OPTIONAL_TASK,)),
        fork,
        SteeringForm("cancel", "Cancel", "Stops the run for good, after its cleanup."),
    )
