"""Implement `coterie show`: one request in full, or a step with its calls."""

import json
from shlex import quote

from coterie.arguments import login_name
from coterie.display.pager import show_result
from coterie.dsl.model.traversal.step_paths import split_reference
from coterie.dsl.tool_loop.call_names import calls_in
from coterie.failures import CommandError, ExitCode
from coterie.inspection.recorded_requests import request_of
from coterie.inspection.step_calls import step_calls
from coterie.logs import quietly
from coterie.rendering.calls_text import call_data, calls_text
from coterie.rendering.commit_diffs import CommitDiffs
from coterie.rendering.request_text import request_text
from coterie.runs.run_client import Run
from coterie.runs.run_workspaces import workspace_of_run
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import say


async def show_request(
    settings: Settings, id: str, request: str | None, *, as_json: bool
) -> ExitCode:
    """Show one request in full, or how it was decided."""
    quietly(settings)
    client = (await open_connection(settings)).client
    run, folder = Run(client, id), workspace_of_run(settings, id)
    run.complete = CommitDiffs(folder, settings.environment).complete
    try:
        view, is_served = await request_of(client, run, request)
    except CommandError:
        calls = [] if request is None else await step_calls(client, run, request)
        if request is not None and not calls and calls_in(split_reference(request)[0]):
            raise CommandError(
                f"run {id!r} has no call {request!r} of a tool function or a model; "
                f"`coterie why {quote(id)} {quote(request)}` says what became of it"
            ) from None
        if request is None or not calls:
            raise
        if as_json:
            data = [call_data(call) for call in calls]
            say(json.dumps(data, indent=2, ensure_ascii=False))
        else:
            show_result(calls_text(id, request, calls), settings)
        return ExitCode.DONE
    if as_json:
        data = {"served": is_served, **view.model_dump(mode="json", exclude_defaults=True)}
        say(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        text = request_text(id, view, login_name(), served=is_served, workspace=folder)
        show_result(text, settings)
    return ExitCode.DONE
