"""Run a team from a program or a notebook, as `coterie run` does, and get its result as data.

    result = await Team.load("team.yml").run({"topic": "boats"})

The run is durable: it has a history on a server, and this process is its worker meanwhile.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError

from coterie.activities.workspace.function_failures import validation_problems
from coterie.documents.compilation import CompiledDocument, compile_target, startable
from coterie.documents.tool_discovery import forget_tools
from coterie.documents.worker_trust import key_names, missing_keys
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.dsl.visible import is_unicode
from coterie.failures import CommandError
from coterie.runs.ends.end_facts import RunEnd
from coterie.runs.ends.end_words import incomplete_reason
from coterie.runs.new_runs import check_id, start_run
from coterie.runs.records import kept, new_record
from coterie.server.connection import open_connection
from coterie.settings import Settings, load
from coterie.text.problems import lines_of_file, problems_text
from coterie.worker.run_worker import run_worker
from coterie.workflows.core.messages import TeamInput

_HOW_TO_GIVE = "pass it to `run`"

_CONTEXT = TypeAdapter(dict[str, JsonValue])

T = TypeVar("T")


class InvalidTeam(ValueError):
    """A team cannot run; the message says why, with the places in its files."""


class TeamRunError(RuntimeError):
    """A run could not be started or followed; the message says why.

    Attributes:
        id: The run's id, for `coterie run --resume ID`; None if it has none yet.
    """

    def __init__(self, message: str, id: str | None = None) -> None:
        self.id = id
        super().__init__(message if id is None else f"run {id}: {message}")


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """How a run of a team ended."""

    id: str
    """For `coterie why ID`, `coterie show ID` and the other commands."""
    completed: bool
    output: JsonValue
    """The declared output of the document; without one, `{task: data}` of the last team."""
    context: Json
    """The context at the end."""
    message: str = ""
    """Why it did not complete."""
    failure: str | None = None
    """The type of the failure, if it failed."""
    cost: float | None = None
    """US dollars; None when no call has a price."""

    def read(self, type: type[T]) -> T:
        """Return the output as a value of this type.

        Raises:
            ValueError: The run did not complete, or its output does not match the type.
        """
        if not self.completed:
            raise ValueError(f"run {self.id} did not complete: {self.message}")
        return TypeAdapter(type).validate_python(self.output)


class RunnableTeam:
    """A compiled team."""

    def __init__(self, document: CompiledDocument, settings: Settings) -> None:
        self._document = document
        self._settings = settings

    @classmethod
    def load(
        cls,
        target: str | Path,
        *,
        address: str | None = None,
        model: str | None = None,
        workspace: str | Path | None = None,
        override: str | Path | None = None,
    ) -> Self:
        """Find and compile a team.

        Args:
            target: A file, whose folder is then the current one for it; or the name of a team of
                the current project.
            address: `host:port` of a Temporal server. Default: COTERIE_ADDRESS, else the project's
                own server, which is started if it does not run.
            model: `provider/model` for every persona instead of its own.
            workspace: The folder that tool functions may touch, instead of the document's.
            override: A YAML file laid over everything else, like the project's `coterie.yml`.

        Raises:
            InvalidTeam: With every problem.
        """
        options = {"model": model, "workspace": workspace, "override": override}
        for name, value in options.items():
            if value is not None and not is_unicode(str(value)):
                raise InvalidTeam(f"{name}={str(value)!a} is not UTF-8 text")
        file = Path(target)
        named, cwd = str(target), Path.cwd()
        forget_tools()  # a notebook edits the modules of its tools
        if file.is_file():
            named, cwd = file.name, file.resolve().parent
        try:
            settings = load(cwd=cwd)
            if address is not None:
                settings = load({**settings.environment, "COTERIE_ADDRESS": address}, cwd)
            root = None if workspace is None else str(Path(workspace).resolve())
            over = None if override is None else Path(override).resolve()
            document = compile_target(settings, named, model=model, workspace=root, override=over)
            return cls(document, settings)
        except InvalidDocument as error:
            raise InvalidTeam(problems_text(error.problems, lines_of_file(cwd))) from None
        except CommandError as error:
            raise InvalidTeam(str(error)) from None

    async def run(
        self, context: Mapping[str, Any] | None = None, *, id: str | None = None
    ) -> FinishedRun:
        """Start a run, serve it here until it ends, and return its result.

        A run that asks a person waits for `coterie approve` or `coterie reject`. If this process
        ends first, `coterie run --resume ID` continues it.

        Args:
            context: The initial context, JSON values.
            id: Of the run. Default: the team's name and some digits.

        Raises:
            InvalidTeam: The context lacks something, or does not match the document.
            TeamRunError: The run could not be started or followed: a key of a provider is missing,
                the id is taken, or the server does not answer.
        """
        try:
            start_context = _CONTEXT.validate_python(dict(context or {}))
        except ValidationError as error:
            raise InvalidTeam(f"the context is not JSON: {validation_problems(error)}") from None
        try:
            plan = startable(self._document.compiled, start_context, how=_HOW_TO_GIVE).plan
        except CommandError as error:
            raise InvalidTeam(str(error)) from None
        try:
            return await self._run(plan, start_context, id)
        except CommandError as error:
            raise TeamRunError(str(error)) from None

    async def _run(self, plan: Plan, context: Json, id: str | None) -> FinishedRun:
        trusted = self._document.trusted
        keys = key_names(plan, trusted)
        lacking = missing_keys(keys, self._settings)
        if lacking:
            raise TeamRunError("; ".join(lacking))
        if id is not None:
            check_id(id)
        record = new_record(self._settings, id, plan, trusted, keys)
        connection = await open_connection(self._settings, start=True)
        async with run_worker(connection.client, self._settings, record):
            start = TeamInput(plan=plan, context=context, marked=trusted.sets_visibility)
            with kept(self._settings, record):
                run = await start_run(
                    connection.client,
                    record.id,
                    start,
                    task_queue=record.task_queue,
                    summary=plan.name,
                )
            try:
                return _finished_run(record.id, await run.end())
            except CommandError as error:
                raise TeamRunError(str(error), record.id) from None


def _finished_run(id: str, end: RunEnd) -> FinishedRun:
    result = end.result
    finished = FinishedRun(
        id,
        end.completed,
        None if result is None else result.output,
        {} if result is None else result.context,
        incomplete_reason(end),
        None if end.failure is None else end.failure.type,
    )
    return finished if result is None else replace(finished, cost=result.cost)


Team = RunnableTeam
"""What programs import: `from coterie import Team`."""
