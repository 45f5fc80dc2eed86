"""What the reader of a run's page may do with the run: forms, as their roles allow. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from coterie.gateway.console.fields.form_fields import FormField
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


@dataclass(frozen=True, slots=True)
class RunActions:
    """What a reader may do with one run."""

    run: str
    words: str
    forms: tuple[SteeringForm, ...]
    may_decide: bool
    origin: str = ""
    """The run that it was forked from."""


_TASK = FormField("task", "text", "Task", "TEAM/TASK, as the page names it.", required=True)
_OPTIONAL_TASK = FormField(
    "task", "text", "Task", "TEAM/TASK. Default: the only one that waits.", required=False
)
_UPDATES = FormField(
    "updates", "json", "Changes", "`{dotted path: value}`.", required=True, value="{}"
)


def run_actions(page: RunPage, team: str, identity: Identity) -> RunActions:
    """Return what an identity may do with a run."""

    def allows(role: Role) -> bool:
        return isinstance(may(identity, (role,), team), Allowed)

    forms = tuple(_forms(page)) if allows(Role.OPERATOR) else ()
    words = ", ".join(form.title.lower() for form in forms)
    return RunActions(
        page.run, words or "compare it", forms, allows(Role.APPROVER), page.input.origin
    )


def _forms(page: RunPage) -> Sequence[SteeringForm]:
    visits = tuple(visit.name for visit in page.visits[-50:] if "#" in visit.name)
    fork = SteeringForm(
        "fork",
        "Fork",
        "Starts another run from the start of a visit of this one.",
        (FormField("at", "choice", "Visit", "", required=True, choices=visits),),
    )
    if page.ended is not None:
        retry = SteeringForm("retry", "Retry", "Starts another run where this one failed.")
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
        SteeringForm("amend", "Amend", "Changes the context at the next step.", (_UPDATES,)),
        SteeringForm(
            "redirect",
            "Redirect",
            "Continues with another team when the current one ends.",
            (FormField("team", "choice", "Team", "", required=True, choices=teams),),
        ),
        SteeringForm("skip", "Skip", "Leaves a task out, now or when it starts.", (_TASK,)),
        SteeringForm("retry", "Retry", "Retries a failed task that waits.", (_OPTIONAL_TASK,)),
        fork,
        SteeringForm("cancel", "Cancel", "Stops the run for good, after its cleanup."),
    )
