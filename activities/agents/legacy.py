"""Run agents of older configurations: a class given by its import path, in the family's old shape.

Such a class takes a configuration and has `process(context)`. Its constructor may have these
parameters:

- `full_config`, `full_effective_config`, `full_system_config`, `config`: the whole
  configuration, `{"llm_config": {"agents": {...}}}`;
- `persona_config`: its own section, `llm_config.agents.<task name>`;
- `unique_name`: the task's name.

It returns an object or a mapping with `success`, `data` and `error`; metrics and other extras are
dropped. A class is imported only from packages that the worker allows, and only in a child process
(`user_code`): it can neither block nor end the worker.
"""

from collections.abc import Collection

from coterie.activities.agents.agent_base import BaseAgent
from coterie.activities.agents.refusals import AgentRefused
from coterie.activities.contracts import AgentError, AgentResponse, FailureType
from coterie.activities.user_code.child_messages import (
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
    UserCodeFailed,
)
from coterie.dsl.errors import listed, nearest
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.model.sections.package_names import RESERVED_PACKAGE
from coterie.dsl.values import Json

_WHOLE_CONFIG = ("full_config", "full_effective_config", "full_system_config", "config")


def check_agent_path(path: str, allowed_packages: Collection[str]) -> None:
    """Check that a class or an agent type may be imported, without importing it.

    Args:
        path: `package.module.Class` of a class, or `package.module:function` of an agent type.
        allowed_packages: Packages or dotted prefixes that the worker allows agents from.

    Raises:
        AgentRefused: The path is malformed, or outside the allowed packages.
    """
    key, form = (
        ("agent_type", "package.module:function")
        if ":" in path
        else ("agent_class", "package.module.Class")
    )
    dotted = path.replace(":", ".", 1)
    parts = dotted.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        raise AgentRefused(f"{key} {path!r} must have the form {form}")
    if not any(f"{dotted}.".startswith(f"{package}.") for package in allowed_packages):
        raise AgentRefused(
            f"{key} {path!r} is not in a package that this worker allows "
            f"({listed(allowed_packages)}); add its package to `worker.agent_packages` in the "
            "worker's configuration"
        )


class LegacyAgent(BaseAgent):
    """Wraps a legacy class, which it instantiates again for each turn."""

    def __init__(self, path: str, unique_name: str, full_config: Json) -> None:
        llm_config = full_config.get("llm_config")
        agents = llm_config.get("agents") if isinstance(llm_config, dict) else None
        section = agents.get(unique_name) if isinstance(agents, dict) else None
        super().__init__(section if isinstance(section, dict) else {}, unique_name, full_config)
        self.path = path

    async def process(self, context: Json) -> AgentResponse:
        """Run one turn of the legacy agent in a child process; cancellation kills it.

        An exception, or the end of its process, is a failure of type AgentFailed.

        Args:
            context: Its `input`, if present, becomes the legacy agent's context; else all of it.

        Raises:
            AgentRefused: The class does not exist, or its constructor needs an unknown parameter.
            UserCodeTimeout: The turn exceeded the time limit of its attempt.
        """
        user_code = self.services.user_code
        if user_code is None:
            raise AgentRefused(f"agent {self.unique_name!r} has no process to run in")
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
            return self._failure_response(str(failure))

    def _response(self, outcome: Outcome) -> AgentResponse:
        match outcome:
            case NotImported(reason=reason, missing=missing):
                raise AgentRefused(
                    f"agent_class {self.path!r} cannot be imported: {reason}"
                    f"{_explain_hidden_module(missing)}"
                )
            case NoClass(names=names):
                hint = nearest(self.path.rpartition(".")[2], names)
                raise AgentRefused(
                    f"agent_class {self.path!r} is not a class with a method process(context)"
                    + (f"; {hint}" if hint else "")
                )
            case NoSignature():
                raise AgentRefused(
                    f"the constructor of {self.path} does not declare its parameters"
                )
            case ConstructorNeeds(parameter=parameter):
                offered = (*_WHOLE_CONFIG, "persona_config", "unique_name")
                raise AgentRefused(
                    f"the constructor of {self.path} needs {parameter!r}; a legacy agent "
                    f"gets: {listed(offered)}"
                )
            case Raised(reason=reason):
                return self._failure_response(f"raised {reason}")
            case NotAnAnswer(type=name):
                return self._failure_response(f"returned a {name} without a boolean `success`")
            case NotJsonAnswer(reason=reason):
                return self._failure_response(f"returned data that is not JSON: {reason}")
            case Answered():
                return _answer_of(outcome)

    def _failure_response(self, what: str) -> AgentResponse:
        message = f"task {self.unique_name!r}: legacy agent {self.path} {what}"
        return AgentResponse(
            success=False, error=AgentError(type=FailureType.AGENT_FAILED, message=message)
        )


def _explain_hidden_module(module: str) -> str:
    """Explain that an import found Coterie's package instead of the user's own."""
    if module.partition(".")[0] != RESERVED_PACKAGE:
        return ""
    return f"; Coterie has its own package {RESERVED_PACKAGE!r}, which hides yours: rename yours"


def legacy_context(inputs: Json) -> Json:
    """Build the flat context of a legacy agent: a copy, because such agents write to it."""
    chosen = inputs.get("input")
    if chosen is None:
        chosen = inputs.get("context")
    if isinstance(chosen, dict):
        return deep_merge(chosen, {})
    return {} if chosen is None else {"input": chosen}


def _answer_of(outcome: Answered) -> AgentResponse:
    if outcome.success:
        return AgentResponse(success=True, data=outcome.data)
    error = AgentError(
        type=outcome.error_type or FailureType.AGENT_FAILED,
        message=outcome.error or "it gave no reason",
    )
    return AgentResponse(success=False, data=outcome.data, error=error)
