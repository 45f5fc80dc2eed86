"""The forms that steer a run."""

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from coterie.dsl.values import Json
from coterie.gateway.console.forms.sent_forms import json_of, text_of
from coterie.gateway.console.inbox_page import run_url
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import Rejection
from coterie.gateway.operations.operations_table import operation_named
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_starts import StartedRun

STEERING = ("pause", "resume", "amend", "redirect", "skip", "retry", "fork", "cancel")


class SteeringPosts:
    """Steers runs."""

    def __init__(self, access: RunAccess) -> None:
        """Take the runs, and the project."""
        self._access = access

    async def steer(self, request: Request, identity: Identity) -> Response:
        """Steer a run."""
        form = await request.form()
        action, run = text_of(form, "action"), text_of(form, "run")
        if action not in STEERING:
            raise Rejection(422, "invalid", "the form names no way to steer a run")
        asked: Json = {"run": run, "why": text_of(form, "why")}
        for name in ("task", "team", "at"):
            if value := text_of(form, f"field:{name}").strip():
                asked[name] = value
        if "field:updates" in form:
            asked["updates"] = json_of(text_of(form, "field:updates"), "the changes")
        operation = operation_named(action)
        output = await perform(
            self._access, operation, operation.input.model_validate(asked), identity
        )
        started = getattr(output, "started", output)
        target = started.run if isinstance(started, StartedRun) else run
        return RedirectResponse(f"{run_url(target)}?{urlencode({'done': action})}", 303)
