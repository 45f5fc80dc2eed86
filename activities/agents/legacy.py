"""Agents of older configurations: a class named by its import path, in the family's old shape.

Such a class is made with a configuration and has `process(context)`. What it may be given, by
the names of its constructor's parameters:

- `full_config`, `full_effective_config`, `full_system_config`, `config`: the whole
  configuration, `{"llm_config": {"agents": {...}}}`;
- `persona_config`: its own section, `llm_config.agents.<task name>`;
- `unique_name`: the task's name.

It answers with an object or a mapping that has `success`, `data` and `error`; metrics and other
extras are not carried over. A class is imported only from packages that the worker allows.
"""

import asyncio
import importlib
import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, cast

from activities.agents.base import BaseAgent
from activities.agents.plain import NotJson, as_json
from activities.agents.refusals import AgentRefused
from activities.contracts import AgentError, AgentResponse, FailureType
from dsl.document import RESERVED_PACKAGES
from dsl.errors import listed, nearest
from dsl.merge import deep_merge
from dsl.values import Json

_WHOLE_CONFIG = ("full_config", "full_effective_config", "full_system_config", "config")
_LONGEST_REASON = 500


def load_agent_class(path: str, allowed_packages: Collection[str]) -> type:
    """The class at an import path.

    Args:
        path: `package.module.Class`.
        allowed_packages: Packages or dotted prefixes that the worker lets agents come from.

    Raises:
        AgentRefused: the path is none, is not in an allowed package, or leads to no agent class.
    """
    parts = path.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise AgentRefused(f"agent_class {path!r} must read like package.module.Class")
    if not any(f"{path}.".startswith(f"{package}.") for package in allowed_packages):
        raise AgentRefused(
            f"agent_class {path!r} is not in a package that this worker allows "
            f"({listed(allowed_packages)}); `worker.agent_packages` in the worker's own "
            "configuration lists them"
        )
    module_name, _, class_name = path.rpartition(".")
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever a module does when it is imported
        raise AgentRefused(
            f"agent_class {path!r} cannot be imported: {_reason(error)}{_hidden(error)}"
        ) from error
    found: object = getattr(module, class_name, None)
    if not isinstance(found, type) or not callable(getattr(found, "process", None)):
        names = [name for name, value in vars(module).items() if isinstance(value, type)]
        hint = nearest(class_name, names)
        raise AgentRefused(
            f"agent_class {path!r} is no class with a method process(context)"
            + (f"; {hint}" if hint else "")
        )
    return found


def _hidden(error: Exception) -> str:
    """Why an import found a package of ours where the class wanted one of its own."""
    top = (error.name or "").partition(".")[0] if isinstance(error, ImportError) else ""
    if top not in RESERVED_PACKAGES:
        return ""
    return f"; Coterie has its own package {top!r} and imports only that one: rename yours"


@dataclass(frozen=True, slots=True)
class _Raised:
    """What a legacy agent raised; some exceptions cannot leave a thread as they are."""

    error: BaseException


class LegacyAgent(BaseAgent):
    """Stands for an instance of a legacy class; the class is made anew for every turn."""

    def __init__(self, legacy_class: type, unique_name: str, full_config: Json) -> None:
        llm_config = full_config.get("llm_config")
        agents = llm_config.get("agents") if isinstance(llm_config, dict) else None
        section = agents.get(unique_name) if isinstance(agents, dict) else None
        super().__init__(section if isinstance(section, dict) else {}, unique_name, full_config)
        self.legacy_class = legacy_class

    async def process(self, context: Json) -> AgentResponse:
        """One turn of the legacy agent; what it raises is a failure of type AgentFailed.

        A `process` that is not async runs in a thread. A cancelled turn ends at once, but
        nothing can stop the thread: it runs to its end and its answer is dropped.

        Args:
            context: Its `input`, when given, is the legacy agent's context; else `context` is.

        Raises:
            AgentRefused: the constructor needs what a legacy agent is not given.
        """
        arguments = self._constructor_arguments()
        given = legacy_context(context)
        if inspect.iscoroutinefunction(getattr(self.legacy_class, "process")):  # noqa: B009
            answer = await self._await(arguments, given)
        else:
            answer = await asyncio.to_thread(self._run, arguments, given)
            if inspect.isawaitable(answer):
                answer = await self._finish(answer)
        if isinstance(answer, _Raised):
            return self._failed(f"raised {_reason(answer.error)}")
        return self._response(answer)

    def _constructor_arguments(self) -> dict[str, object]:
        whole = deep_merge(self.full_config, {})
        offered: dict[str, object] = dict.fromkeys(_WHOLE_CONFIG, whole)
        offered |= {"persona_config": self.persona_config, "unique_name": self.unique_name}
        try:
            parameters = inspect.signature(self.legacy_class).parameters.values()
        except ValueError:
            raise AgentRefused(f"{self._path} does not say what its constructor takes") from None
        taken = [parameter.name for parameter in parameters if parameter.name in offered]
        for parameter in parameters:
            variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            required = parameter.default is parameter.empty and not variadic
            if required and parameter.name not in offered:
                raise AgentRefused(
                    f"the constructor of {self._path} needs {parameter.name!r}; a legacy agent "
                    f"is given: {listed(offered)}"
                )
        if not taken and any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            taken = ["config"]  # `**kwargs` handed on to a base class: the oldest name
        return {name: offered[name] for name in taken}

    def _run(self, arguments: dict[str, object], context: Json) -> object:
        try:
            return self.legacy_class(**arguments).process(context)
        except BaseException as error:  # also SystemExit: an agent does not stop the worker
            return _Raised(error)

    async def _await(self, arguments: dict[str, object], context: Json) -> object:
        try:
            return await self.legacy_class(**arguments).process(context)
        except (Exception, SystemExit) as error:
            return _Raised(error)

    async def _finish(self, answer: Any) -> object:
        try:
            return await answer
        except (Exception, SystemExit) as error:
            return _Raised(error)

    def _response(self, answer: object) -> AgentResponse:
        success = _field(answer, "success")
        if not isinstance(success, bool):
            return self._failed(
                f"answered with a {type(answer).__name__} that has no `success` of true or false"
            )
        try:
            data = as_json(_field(answer, "data"), "data")
        except NotJson as error:
            return self._failed(f"answered with data that is not JSON: {error}")
        if success:
            return AgentResponse(success=True, data=data)
        return AgentResponse(success=False, data=data, error=_error(_field(answer, "error")))

    def _failed(self, what: str) -> AgentResponse:
        message = f"task {self.unique_name!r}: legacy agent {self._path} {what}"
        return AgentResponse(
            success=False, error=AgentError(type=FailureType.AGENT_FAILED, message=message)
        )

    @property
    def _path(self) -> str:
        return f"{self.legacy_class.__module__}.{self.legacy_class.__qualname__}"


def legacy_context(inputs: Json) -> Json:
    """What a legacy agent finds in its flat context; a copy, because such agents write to it."""
    chosen = inputs.get("input")
    if chosen is None:
        chosen = inputs.get("context")
    if isinstance(chosen, dict):
        return deep_merge(chosen, {})
    return {} if chosen is None else {"input": chosen}


def _field(answer: object, name: str) -> object:
    if isinstance(answer, Mapping):
        return cast("Mapping[str, object]", answer).get(name)
    return getattr(answer, name, None)


def _error(error: object) -> AgentError:
    type_, message = getattr(error, "type", None), getattr(error, "message", None)
    if isinstance(type_, str) and isinstance(message, str):
        return AgentError(type=type_, message=message)
    told = "it did not say why" if error is None else str(error)[:_LONGEST_REASON]
    return AgentError(type=FailureType.AGENT_FAILED, message=told)


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())[:_LONGEST_REASON]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
