"""Find and call a user's tools in a child process."""

import asyncio
import importlib
import inspect
import json
import os
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from types import ModuleType
from typing import Any

from coterie.activities.processes.child_loop import (
    Channel,
    kept_environment,
    not_imported,
    reason_for,
    said,
    serve,
)
from coterie.activities.user_code.call_runner import CallRunner
from coterie.activities.user_code.plain_values import as_json
from coterie.activities.user_code.python_tools import (
    ToolContext,
    ToolError,
    ToolMisused,
    terms_of,
)
from coterie.activities.user_code.tool_schemas import (
    MismatchedValue,
    TypedFunction,
    UnfitFunction,
    bound_arguments,
    contract,
    plain_result,
    typed,
)

_MAX_PROGRESS = 10_000


def main() -> None:
    """Serve questions for tools, and calls of them."""
    with CallRunner() as runner:
        serve(lambda request, channel: answer(request, channel, runner))


def answer(asked: dict[str, Any], channel: Channel, runner: CallRunner) -> dict[str, object]:
    """Answer one message; any exception becomes an outcome."""
    try:
        if "modules" in asked:
            return _contracts_of_packages(asked["modules"])
        if "imports" in asked:
            return _import_module(asked["imports"])
        return _call_tool(asked, channel, runner)
    except BaseException as error:
        return {"kind": "raised", "reason": reason_for(error)}


def _import_module(module: str) -> dict[str, object]:
    try:
        importlib.import_module(module)
    except BaseException as error:  # importing a module may do anything
        return not_imported(error)
    return {"kind": "ready"}


def _contracts_of_packages(packages: list[str]) -> dict[str, object]:
    """Return the contracts of all tools in the packages, and what is wrong with the others."""
    tools: list[dict[str, object]] = []
    problems: list[str] = []
    for package in packages:
        for name in _modules(package, problems):
            try:
                module = importlib.import_module(name)
            except BaseException as error:  # importing a module may do anything
                problems.append(f"the module {name!r} cannot be imported: {reason_for(error)}")
                continue
            for path, function in _marked_functions(module):
                terms = terms_of(function)
                try:
                    if terms is not None:
                        tools.append(contract(path, typed(function), terms))
                except UnfitFunction as error:
                    problems.append(f"the function {path!r} cannot be a tool: it {error}")
    return {"kind": "found", "tools": tools, "problems": problems}


def _modules(package: str, problems: list[str]) -> Iterator[str]:
    """Yield the name of a module, and those below it if it is a package; no programs."""
    yield package
    try:
        paths = getattr(importlib.import_module(package), "__path__", None)
    except BaseException:  # reported where the module itself is imported
        return
    if paths is not None:
        prefix = f"{package}."
        broken = problems.append
        for module_info in pkgutil.walk_packages(
            paths, prefix, onerror=lambda name: broken(f"the package {name!r} cannot be imported")
        ):
            if module_info.name.rpartition(".")[2] != "__main__":  # importing it runs the program
                yield module_info.name


def _marked_functions(module: ModuleType) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the tools that a module defines itself, not those that it imports."""
    for name, value in sorted(vars(module).items()):
        if terms_of(value) is not None and value.__module__ == module.__name__:
            yield f"{module.__name__}:{name}", value


def _call_tool(request: dict[str, Any], channel: Channel, runner: CallRunner) -> dict[str, object]:
    module_name, _, name = str(request["tool"]).partition(":")
    try:
        module = importlib.import_module(module_name)
    except BaseException as error:  # importing a module may do anything
        return not_imported(error)
    function = getattr(module, name, None)
    if function is None or terms_of(function) is None:
        return {"kind": "no_tool", "names": [path for path, _ in _marked_functions(module)]}
    try:
        ready = typed(function)
    except UnfitFunction as error:
        return {"kind": "unfit", "reason": str(error)}
    try:
        return _result(ready, request, channel, runner)
    except ToolError as error:
        return {"kind": "failed", "reason": str(error), "retry": error.retry}


def _result(
    function: TypedFunction, request: dict[str, Any], channel: Channel, runner: CallRunner
) -> dict[str, object]:
    try:
        arguments = bound_arguments(function, request["arguments"])
    except MismatchedValue as error:
        return {"kind": "invalid_arguments", "reason": str(error)}
    os.chdir(request["context"].get("workspace", "."))  # an earlier call may have left it
    with kept_environment():
        result = _call_function(function, arguments, request["context"], channel, runner)
    try:
        return {"kind": "returned", "data": plain_result(function, result)}
    except MismatchedValue as error:
        return {"kind": "wrong_result", "reason": str(error), "said": said(result)}
    except Exception as error:  # converting a result may run code of its class
        return {"kind": "wrong_result", "reason": reason_for(error), "said": said(result)}


def _call_function(
    function: TypedFunction,
    arguments: dict[str, Any],
    surroundings: dict[str, Any],
    channel: Channel,
    runner: CallRunner,
) -> object:
    """Call the function; with a context, it learns that the call is cancelled."""
    if function.context is None:
        result: Any = function.call(**arguments)
        return runner.run(result) if inspect.isawaitable(result) else result
    on_cancel: list[Callable[[], object]] = []
    stopped = Event()

    def beat(progress: object) -> None:
        plain = as_json(progress, "the progress")
        if len(json.dumps(plain)) > _MAX_PROGRESS:
            raise ToolMisused(f"the progress is longer than {_MAX_PROGRESS:,} characters of JSON")
        channel.note({"note": "heartbeat", "progress": plain})

    def cancel() -> None:
        stopped.set()
        for call in on_cancel:
            call()

    folder = Path(surroundings.pop("workspace", "."))
    arguments[function.context] = ToolContext(
        **surroundings, workspace=folder, _beat=beat, _stopped=stopped
    )
    with channel.cancellation(cancel):
        result = function.call(**arguments)
        return (
            runner.run(_await_result(result, on_cancel)) if inspect.isawaitable(result) else result
        )


async def _await_result(result: Any, on_cancel: list[Callable[[], object]]) -> object:
    """Await the result; the calls of `on_cancel` cancel it, from any thread."""
    task, loop = asyncio.ensure_future(result), asyncio.get_running_loop()
    on_cancel.append(lambda: loop.call_soon_threadsafe(task.cancel))
    try:
        return await task
    finally:
        on_cancel.clear()
