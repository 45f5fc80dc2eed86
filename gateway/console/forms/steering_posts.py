"""The forms that steer a run: at once, or on a page of their own where they take values."""

import asyncio
from typing import cast
from urllib.parse import urlencode

from pydantic import JsonValue
from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.gateway.console.fields.filled_forms import (
    FilledForm,
    read_form,
    with_added_item,
    with_focus,
)
from coterie.gateway.console.fields.form_fields import FormField, Typed, json_text
from coterie.gateway.console.forms.sent_forms import (
    json_of,
    text_of,
    typed_in,
    with_added,
)
from coterie.gateway.console.forms.steering_forms import (
    SteeringAction,
    SteeringFacts,
    SteeringPage,
    changes_of,
    context_fields,
    skip_fields,
    tasks_of,
)
from coterie.gateway.console.served_pages import page_response, sent_form
from coterie.gateway.identity.console_address import run_url
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.error_reports import Rejection, failed_request
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform, permitted_run
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import FoundRun, RunAccess
from coterie.gateway.operations.run_starts import RetryOutcome, StartedRun
from coterie.runs.histories.recorded_plans import plan_of_run

STEERING = ("pause", "resume", "say", "amend", "redirect", "skip", "retry", "fork", "cancel")
_TITLES: dict[SteeringAction, tuple[str, str]] = {
    "amend": ("Amend", "Changes the context of the run at its next step. What you leave, stays."),
    "skip": (
        "Skip",
        "Leaves out a task, now or at its start. Without a value, its data is null.",
    ),
    "retry": ("Retry", "Starts another run where this one failed, with the changes that you make."),
}


class SteeringPosts:
    """Steers runs."""

    def __init__(self, access: RunAccess) -> None:
        """Take the runs, and the project."""
        self._access = access

    async def form(self, request: Request, identity: Identity) -> Response:
        """Show the form of an action that takes values."""
        asked = request.query_params
        action = _action_with_values(asked.get("action", ""))
        found = await self._run_to_steer(asked.get("run", ""), identity, action)
        run = await self._facts(found, action, identity)
        task = asked.get("task", "").strip()
        fields = await asyncio.to_thread(_fields, run, action, task, Typed({}))
        return _page(request, identity, found, run, action, task, fields)

    async def steer(self, request: Request, identity: Identity) -> Response:
        """Steer a run."""
        form = await sent_form(request)
        action, run = text_of(form, "action"), text_of(form, "run")
        if action not in STEERING:
            raise Rejection(422, "invalid", "the form names no way to steer a run")
        if "with_values" in form:
            return await self._steer_with_values(request, form, identity)
        asked: Json = {"run": run} if action == "say" else {"run": run, "why": text_of(form, "why")}
        for name in ("task", "team", "at", "step", "text"):
            if value := text_of(form, f"field:{name}").replace("\r\n", "\n").strip():
                asked[name] = value
        return await self._perform(action, asked, identity)

    async def _steer_with_values(
        self, request: Request, form: FormData, identity: Identity
    ) -> Response:
        """Steer a run with what a form of values holds; one with problems comes back."""
        action = _action_with_values(text_of(form, "action"))
        found = await self._run_to_steer(text_of(form, "run"), identity, action, changes=True)
        base = await asyncio.to_thread(_base, form)
        run = SteeringFacts(await self._plan(found, identity), base)
        task = text_of(form, "task").strip()
        typed, added = with_added(form, typed_in(form))
        filled = await asyncio.to_thread(_filled_form, run, action, task, typed)
        why = text_of(form, "why")
        if added is not None:
            grown = with_added_item(filled.fields, added)
            return _page(request, identity, found, run, action, task, grown, why)
        asked: Json = {"run": found.run.id, "why": why}
        notice = "The form has problems." if filled.has_problems else ""
        if not notice and action == "skip":
            asked |= {"task": task, "value": filled.value}
        elif not notice:
            changes = await asyncio.to_thread(changes_of, run, filled)
            nothing = "Nothing is changed." if action == "amend" and not changes.updates else ""
            notice = f"{changes.problem}." if changes.problem else nothing
            asked["updates"] = changes.updates
        try:
            if not notice:
                return await self._perform(action, asked, identity)
        except CommandError as error:
            notice = failed_request(error).report.message
        fields = with_focus(filled.fields)
        return _page(request, identity, found, run, action, task, fields, why, notice)

    async def _perform(self, action: str, asked: Json, identity: Identity) -> Response:
        operation = operation_named(action)
        output = await perform(
            self._access, operation, operation.input.model_validate(asked), identity
        )
        started = output.started if isinstance(output, RetryOutcome) else output
        target = started.run if isinstance(started, StartedRun) else cast("str", asked["run"])
        return RedirectResponse(f"{run_url(target)}?{urlencode({'done': action})}", 303)

    async def _run_to_steer(
        self, run: str, identity: Identity, action: SteeringAction, *, changes: bool = False
    ) -> FoundRun:
        if not run:
            raise Rejection(422, "invalid", "the form names no run")
        return await permitted_run(
            self._access, run, (Role.OPERATOR,), identity, action, changes=changes
        )

    async def _plan(self, found: FoundRun, identity: Identity) -> Plan | None:
        """Return the plan of a run, for those who may see it."""
        if not isinstance(may(identity, (Role.VIEWER,), found.team), Allowed):
            return None
        return await plan_of_run(self._access.client, found.run.id)

    async def _facts(
        self, found: FoundRun, action: SteeringAction, identity: Identity
    ) -> SteeringFacts:
        """Return the plan of a run, and for changes its context."""
        plan = await self._plan(found, identity)
        if action == "skip" or plan is None or not plan.context:
            return SteeringFacts(plan, None)
        if not found.is_open:
            result = (await found.run.end()).result
            return SteeringFacts(plan, None if result is None else result.context)
        view = await found.run.state("context")
        is_whole = view.whole and isinstance(view.value, dict)
        return SteeringFacts(plan, cast("Json", view.value) if is_whole else None)


def _action_with_values(text: str) -> SteeringAction:
    match text:
        case "amend" | "skip" | "retry" as action:
            return action
        case _:
            raise Rejection(422, "invalid", "the form names no way to steer a run")


def _base(form: FormData) -> Json | None:
    """Return the context that a form showed."""
    text = text_of(form, "base")
    value: JsonValue = json_of(text, "the context of the form") if text else None
    return value if isinstance(value, dict) else None


def _fields(
    run: SteeringFacts, action: SteeringAction, task: str, typed: Typed
) -> tuple[FormField, ...]:
    if action != "skip":
        return context_fields(run, typed)
    return skip_fields(run, task, typed) if task else ()


def _filled_form(run: SteeringFacts, action: SteeringAction, task: str, typed: Typed) -> FilledForm:
    return read_form(_fields(run, action, task, typed), typed)


def _page(
    request: Request,
    identity: Identity,
    found: FoundRun,
    run: SteeringFacts,
    action: SteeringAction,
    task: str,
    fields: tuple[FormField, ...],
    why: str = "",
    notice: str = "",
) -> Response:
    title, sentence = _TITLES[action]
    id = found.run.id
    page = SteeringPage(
        run=id,
        url=run_url(id),
        action=action,
        title=title,
        sentence=sentence,
        task=task,
        tasks=tasks_of(run.plan) if action == "skip" else (),
        fields=fields,
        base="" if run.context is None else json_text(run.context),
        why=why,
    )
    return page_response(
        request, identity, "steer.html", f"{title} {id}", page, tab="runs",
        notice=f"Nothing is done yet. {notice}" if notice else "", status=422 if notice else 200,
    )  # fmt: skip
