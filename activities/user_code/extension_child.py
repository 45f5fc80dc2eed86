"""Run agent types of packages in a child process."""

import importlib
import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from coterie.activities.processes.child_loop import (
    Channel,
    kept_environment,
    not_imported,
    reason_for,
    serve,
)
from coterie.activities.user_code.agent_functions import AgentFailure, AgentTurn
from coterie.activities.user_code.call_runner import CallRunner
from coterie.activities.user_code.plain_values import NotJson, as_json

Handle = Callable[[Callable[..., Any], dict[str, Any], Channel], dict[str, object]]


def main() -> None:
    """Serve turns of agent types."""
    with CallRunner() as runner:
        turn = partial(_turn, runner)
        serve(lambda request, channel: handled(str(request["agent"]), turn, request, channel))


def handled(
    path: str, handle: Handle, asked: dict[str, Any], channel: Channel
) -> dict[str, object]:
    """Import what a message names, and let it handle the message; exceptions become outcomes."""
    module_name, _, name = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except BaseException as error:  # importing a module may do anything
        return not_imported(error)
    function: Any = getattr(module, name, None)
    if not callable(function):
        return {"kind": "no_object", "names": [k for k, v in vars(module).items() if callable(v)]}
    try:
        return handle(function, asked, channel)
    except AgentFailure as failure:
        return {"kind": "failed", "reason": str(failure)}
    except NotJson as error:
        return {"kind": "not_json", "reason": str(error)}
    except BaseException as error:
        return {"kind": "raised", "reason": reason_for(error)}


def _turn(
    runner: CallRunner, function: Callable[..., Any], request: dict[str, Any], channel: Channel
) -> dict[str, object]:
    with kept_environment():
        work: Any = function(AgentTurn(**request["turn"], asked=channel.ask))
        if not inspect.isawaitable(work):
            raise AgentFailure("is not an async function; define it with `async def`")
        return {"kind": "ended", "data": as_json(runner.run(work), "the result")}
