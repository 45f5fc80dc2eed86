"""Agents of older configurations: a class named by its import path, in the family's old shape.

Such a class is made with a configuration and has `process(context)`. What it may be given, by
the names of its constructor's parameters:

- `full_config`, `full_effective_config`, `full_system_config`, `config`: the whole
  configuration, `{"llm_config": {"agents": {...}}}`;
- `persona_config`: its own section, `llm_config.agents.<task name>`;
- `unique_name`: the task's name.

It answers with an object or a mapping that has `success`, `data` and `error`; metrics and other
extras are not carried over. A class is imported only from packages that the worker allows, and
only in a child process (`user_code`): it can neither block nor end the worker.
"""

from collections.abc import Collection

from activities.agents.agent_base import BaseAgent
from activities.agents.refusals import AgentRefused
from activities.contracts import AgentError, AgentResponse, FailureType
from activities.user_code.child_messages import (
    AgentCall,
    Answered,
    ConstructorNeeds,
    NoClass,
    NoSignature,
    NotAnAnswer,
    NotImported,
    NotJsonAnswer,
    Outcome,
    Raised,
)
from activities.user_code.child_pool import UserCodeFailed
from dsl.errors import listed, nearest
from dsl.model.document import RESERVED_PACKAGES
from dsl.model.merge import deep_merge
from dsl.values import Json

_WHOLE_CONFIG = ("full_config", "full_effective_config", "full_system_config", "config")


def check_agent_path(path: str, allowed_packages: Collection[str]) -> None:
    """Make sure that a class may be imported, without importing it.

    Args:
        path: `package.module.Class`.
        allowed_packages: Packages or dotted prefixes that the worker lets agents come from.

    Raises:
        AgentRefused: the path is none, or is not in an allowed package.
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


class LegacyAgent(BaseAgent):
    """Stands for an instance of a legacy class; the class is made anew for every turn."""

    def __init__(self, path: str, unique_name: str, full_config: Json) -> None:
        llm_config = full_config.get("llm_config")
        agents = llm_config.get("agents") if isinstance(llm_config, dict) else None
        section = agents.get(unique_name) if isinstance(agents, dict) else None
        super().__init__(section if isinstance(section, dict) else {}, unique_name, full_config)
        self.path = path

    async def process(self, context: Json) -> AgentResponse:
        """One turn of the legacy agent, in a child process; a cancelled turn ends it.

        What it raises, and an end of its process, are failures of type AgentFailed.

        Args:
            context: Its `input`, when given, is the legacy agent's context; else `context` is.

        Raises:
            AgentRefused: there is no such class, or its constructor needs what it is not given.
            UserCodeTimeout: the turn took longer than its attempt may.
        """
        user_code = self.services.user_code
        if user_code is None:
            raise AgentRefused(f"agent {self.unique_name!r} was given no process to run in")
        offered: Json = dict.fromkeys(_WHOLE_CONFIG, self.full_config)
        offered |= {"persona_config": self.persona_config, "unique_name": self.unique_name}
        call = AgentCall(
            path=self.path,
            offered=offered,
            config_names=_WHOLE_CONFIG,
            context=legacy_context(context),
        )
        try:
            return self._response(await user_code.run(call, self.services.timeout))
        except UserCodeFailed as failure:
            return self._failed(str(failure))

    def _response(self, outcome: Outcome) -> AgentResponse:
        match outcome:
            case NotImported(reason=reason, missing=missing):
                raise AgentRefused(
                    f"agent_class {self.path!r} cannot be imported: {reason}{_hidden(missing)}"
                )
            case NoClass(names=names):
                hint = nearest(self.path.rpartition(".")[2], names)
                raise AgentRefused(
                    f"agent_class {self.path!r} is no class with a method process(context)"
                    + (f"; {hint}" if hint else "")
                )
            case NoSignature():
                raise AgentRefused(f"{self.path} does not say what its constructor takes")
            case ConstructorNeeds(parameter=parameter):
                offered = (*_WHOLE_CONFIG, "persona_config", "unique_name")
                raise AgentRefused(
                    f"the constructor of {self.path} needs {parameter!r}; a legacy agent "
                    f"is given: {listed(offered)}"
                )
            case Raised(reason=reason):
                return self._failed(f"raised {reason}")
            case NotAnAnswer(type=name):
                return self._failed(
                    f"answered with a {name} that has no `success` of true or false"
                )
            case NotJsonAnswer(reason=reason):
                return self._failed(f"answered with data that is not JSON: {reason}")
            case Answered():
                return _answered(outcome)

    def _failed(self, what: str) -> AgentResponse:
        message = f"task {self.unique_name!r}: legacy agent {self.path} {what}"
        return AgentResponse(
            success=False, error=AgentError(type=FailureType.AGENT_FAILED, message=message)
        )


def _hidden(module: str) -> str:
    """Why an import found a package of ours where the class wanted one of its own."""
    top = module.partition(".")[0]
    if top not in RESERVED_PACKAGES:
        return ""
    return f"; Coterie has its own package {top!r} and imports only that one: rename yours"


def legacy_context(inputs: Json) -> Json:
    """What a legacy agent finds in its flat context; a copy, because such agents write to it."""
    chosen = inputs.get("input")
    if chosen is None:
        chosen = inputs.get("context")
    if isinstance(chosen, dict):
        return deep_merge(chosen, {})
    return {} if chosen is None else {"input": chosen}


def _answered(outcome: Answered) -> AgentResponse:
    if outcome.success:
        return AgentResponse(success=True, data=outcome.data)
    error = AgentError(
        type=outcome.error_type or FailureType.AGENT_FAILED,
        message=outcome.error or "it did not say why",
    )
    return AgentResponse(success=False, data=outcome.data, error=error)
