"""Run a user's agent classes in a child process (`activities/processes/child_process.py`)."""

import asyncio
import importlib
import inspect
from collections.abc import Mapping
from typing import Any, cast

from coterie.activities.processes.child_loop import (
    Channel,
    cut_text,
    kept_environment,
    not_imported,
    reason_for,
    serve,
)
from coterie.activities.user_code.plain_values import NotJson, as_json


def main() -> None:
    """Serve turns of agent classes."""
    serve(run_agent)


def run_agent(call: dict[str, Any], _: Channel) -> dict[str, object]:
    """Run one turn of an agent class; any exception becomes an outcome."""
    try:
        return _turn(call)
    except BaseException as error:
        return {"kind": "raised", "reason": reason_for(error)}


def _turn(call: dict[str, Any]) -> dict[str, object]:
    module_name, _, class_name = str(call["path"]).rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except BaseException as error:  # importing a module may do anything
        return not_imported(error)
    agent_class: Any = getattr(module, class_name, None)
    if not isinstance(agent_class, type) or not callable(getattr(agent_class, "process", None)):
        names = [name for name, value in vars(module).items() if isinstance(value, type)]
        return {"kind": "no_class", "names": names}
    arguments = _arguments(cast("Any", agent_class), call)
    if "kind" in arguments:
        return arguments
    with kept_environment():
        answer: Any = cast("Any", agent_class)(**arguments["given"]).process(call["context"])
        if inspect.isawaitable(answer):
            answer = asyncio.run(_await_answer(answer))
    return _outcome(answer)


async def _await_answer(answer: Any) -> object:
    return await answer


def _arguments(agent_class: Any, call: dict[str, Any]) -> dict[str, Any]:
    """Return the constructor's arguments, or why they cannot be determined."""
    offered: dict[str, Any] = call["offered"]
    try:
        parameters = inspect.signature(agent_class).parameters.values()
    except ValueError:
        return {"kind": "no_signature"}
    names = [parameter.name for parameter in parameters if parameter.name in offered]
    for parameter in parameters:
        variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        required = parameter.default is parameter.empty and not variadic
        if required and parameter.name not in offered:
            return {"kind": "needs", "parameter": parameter.name}
    if not names and any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        # `**kwargs` passed on to a base class: use the oldest name
        names = [call["config_names"][-1]]
    return {"given": {name: offered[name] for name in names}}


def _outcome(answer: object) -> dict[str, object]:
    success = _field(answer, "success")
    if not isinstance(success, bool):
        return {"kind": "not_an_answer", "type": type(answer).__name__}
    try:
        data = as_json(_field(answer, "data"), "data")
    except NotJson as error:
        return {"kind": "not_json", "reason": str(error)}
    message: dict[str, object] = {"kind": "answered", "success": success, "data": data}
    return message if success else message | _error(_field(answer, "error"))


def _error(error: object) -> dict[str, object]:
    type_, message = getattr(error, "type", None), getattr(error, "message", None)
    if isinstance(type_, str) and isinstance(message, str):
        return {"error_type": type_, "error": message}
    return {"error": None if error is None else cut_text(str(error))}


def _field(answer: object, name: str) -> object:
    if isinstance(answer, Mapping):
        return cast("Mapping[str, object]", answer).get(name)
    return getattr(answer, name, None)
