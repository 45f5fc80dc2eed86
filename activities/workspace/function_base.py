"""Define tool functions, and the project that they may touch.

A tool function is a typed operation that agents' plans call by `Name.method`. Tool functions are in
`activities.tool_functions`: `function_registry.py` lists them, `function_activity.py` runs them for
Temporal.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Generic, TypeVar

from pydantic import JsonValue, TypeAdapter, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from coterie.activities.contracts import CodeTurn
from coterie.activities.process_pool.thread_runner import ThreadRunner
from coterie.activities.process_pool.work import WorkRunner
from coterie.activities.processes.bubblewrap import Bubblewrap
from coterie.activities.processes.process_group import ProcessLimits
from coterie.activities.workspace.call_effects import EffectProgress, shown
from coterie.activities.workspace.command_parameters import Parameter
from coterie.activities.workspace.function_failures import (
    FunctionFailure,
    FunctionRefusal,
    validation_problems,
)
from coterie.activities.workspace.memory_access import MemoryAccess
from coterie.activities.workspace.protected_files import protected_path, why_protected
from coterie.activities.workspace.web_access import WebAccess
from coterie.dsl.model.agent_skills import SkillExcerpt
from coterie.dsl.model.capabilities import Effect, FunctionContract, Label
from coterie.dsl.model.memory_terms import MemoryOwner
from coterie.dsl.model.tools.asked_input import GivenInput
from coterie.dsl.safety.blocked_rules import blocked_text
from coterie.dsl.safety.field_safety import blocked_fields, describe_blocked, judge
from coterie.dsl.schema_keys import ALSO
from coterie.dsl.values import MAX_COMMAND_TIMEOUT, Json


class WithAliases(GenerateJsonSchema):
    """Lists the aliases of each property in its schema."""

    def model_field_schema(self, schema: core_schema.ModelField) -> JsonSchemaValue:
        """Return the schema of the field, with its aliases."""
        json_schema = super().model_field_schema(schema)
        paths = schema.get("validation_alias")
        names = [path[0] for path in paths if isinstance(path, list)] if paths else []
        return {**json_schema, ALSO: names[1:]} if len(names) > 1 else json_schema


_DRIVE = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, slots=True)
class Command:
    """A command from the worker's configuration; documents name it and cannot change it."""

    name: str
    run: tuple[str, ...]
    """Program and arguments; no shell. `{python}` is the project's own interpreter."""
    timeout: float = 300.0
    """Timeout in seconds."""
    cwd: str = "."
    """Working directory, relative to the project's root."""
    env: tuple[str, ...] = ()
    """Names of further environment variables to pass on."""
    once: bool = False
    """Whether it may run only once: never through a tool function that is retried."""
    network: bool = False
    """Whether it may use the network; outside a sandbox every command may."""
    parameters: Mapping[str, Parameter] = field(default_factory=dict[str, Parameter])
    """Its parameters by name; `{name}` in `run` is where the value stands."""

    def __post_init__(self) -> None:
        if not self.run or not self.run[0]:
            raise ValueError(f"command {self.name!r} has no program to run")
        if not 0 < self.timeout <= MAX_COMMAND_TIMEOUT:
            raise ValueError(
                f"command {self.name!r} has a timeout of {self.timeout:g} s; it must be "
                f"more than 0 and at most {MAX_COMMAND_TIMEOUT:g} s"
            )


@dataclass(frozen=True, slots=True)
class Workspace:
    """The project that tool functions work on: one directory, and nothing outside it."""

    root: Path
    commands: Mapping[str, Command] = field(default_factory=dict[str, Command])
    trusted_paths: tuple[str, ...] = ()
    """Globs of the files that the worker vouches for."""
    state_dir: Path = Path(".coterie")
    """Backups and journals; a relative path is below the root."""
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The worker's environment variables; a command sees few of them (`Command.env`)."""
    protected: tuple[Path, ...] = ()
    """Absolute files and folders that functions never change, because the worker trusts them."""
    sandbox: Bubblewrap | None = None
    """The sandbox for commands; None runs them like the worker itself."""
    readable: tuple[Path, ...] = ()
    """Absolute files and folders that commands can read in the sandbox."""
    hidden: tuple[Path, ...] = ()
    """Files and folders of the workspace that the sandbox hides, besides the state."""
    limits: ProcessLimits = field(default_factory=ProcessLimits)
    """Resource limits of each command."""
    web: WebAccess = field(default_factory=WebAccess)
    """What tool functions may reach on the web."""
    memory: MemoryAccess = field(default_factory=MemoryAccess)
    """Where agents remember."""

    def __post_init__(self) -> None:
        root = self.root.resolve()
        object.__setattr__(self, "root", root)
        object.__setattr__(self, "state_dir", (root / self.state_dir).resolve())

    def inside(self, relative: str) -> Path:
        """Resolve the path of a file or directory of the project, which need not exist.

        Args:
            relative: Path relative to the root, with forward slashes; `.` is the root itself.

        Raises:
            FunctionRefusal: The path is malformed, leads outside the root (also by a symlink), or
                into `.git` or the state directory.
        """
        self._check_form(relative)
        try:
            path = (self.root / relative).resolve()
        except (OSError, RuntimeError):
            raise FunctionRefusal(f"the path {relative!r} cannot be resolved") from None
        if not path.is_relative_to(self.root):
            raise FunctionRefusal(f"the path {relative!r} leads outside the project by a symlink")
        parts = (*PurePosixPath(relative).parts, *path.relative_to(self.root).parts)
        if any(part.casefold() == ".git" for part in parts):
            raise FunctionRefusal(
                f"the path {relative!r} is in .git, which no tool function may touch"
            )
        if path.is_relative_to(self.state_dir):
            raise FunctionRefusal(
                f"the path {relative!r} is in {self.state_dir.name}, which belongs to the worker"
            )
        return path

    def changeable(self, relative: str) -> Path:
        """Resolve the path of a file that a tool function may create, modify or delete.

        Raises:
            FunctionRefusal: As for `inside`, or the worker trusts the file.
        """
        path = self.inside(relative)
        parts = (*PurePosixPath(relative).parts, *path.relative_to(self.root).parts)
        why = why_protected(parts)
        if why is not None:
            raise FunctionRefusal(f"the path {relative!r} names {why}; only a person may change it")
        place = protected_path(path, self.protected)
        if place is not None:
            raise FunctionRefusal(
                f"the path {relative!r} leads to {place.name!r}, which the worker trusts; "
                "only a person may change it"
            )
        return path

    def _check_form(self, relative: str) -> None:
        if not relative.strip():
            raise FunctionRefusal("a path is empty; name a file relative to the project's root")
        if "\0" in relative:
            raise FunctionRefusal(f"the path {relative!r} contains a NUL character")
        if relative.startswith("/") or _DRIVE.match(relative):
            raise FunctionRefusal(
                f"the path {relative!r} is absolute; paths are relative to the project's root"
            )
        if "\\" in relative:
            raise FunctionRefusal(f"the path {relative!r} has a backslash; use '/'")
        if ".." in PurePosixPath(relative).parts:
            raise FunctionRefusal(
                f"the path {relative!r} has '..', which could lead outside the root"
            )
        blocked = judge("path", relative)
        if blocked is not None:
            raise FunctionRefusal(f"the path {relative!r} is blocked: {blocked_text(*blocked)}")


@dataclass(frozen=True, slots=True)
class FunctionContext:
    """What a tool function gets besides its input."""

    workspace: Workspace
    key: str
    """Identifies this call permanently, also across retries."""
    run: str = ""
    """The id of the calling run."""
    timeout: float | None = None
    """Seconds of the whole attempt; None outside an activity."""
    given_input: GivenInput | None = None
    """A person's answers to what the same call has asked."""
    progress: JsonValue = None
    """What an earlier attempt reported last."""
    beat: Callable[[JsonValue], None] | None = None
    """Reports progress to the next attempt."""
    effect: EffectProgress = field(default_factory=EffectProgress)
    """How far the call is: what calls the world begins the effect first."""
    store: Callable[[bytes], Awaitable[str]] | None = None
    """Stores bytes outside the history, and returns their name; None: the worker has no storage."""
    load: Callable[[str], Awaitable[bytes]] | None = None
    """Returns the bytes that are stored under a name; None: the worker has no storage."""
    code: CodeTurn | None = None
    """The part of a program that calls tools."""
    memory: MemoryOwner = field(default_factory=MemoryOwner)
    """Whose memory the call uses."""
    untrusted: bool = False
    """Whether the run has met text of others."""
    runner: WorkRunner = field(default_factory=ThreadRunner)
    """Runs work that takes long, or whose input is not trusted."""
    skill_excerpt: SkillExcerpt | None = None
    """What the run's plan has of the agent skill that the call reads; None: no run calls."""


In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True)
class ToolFunction(Generic[In, Out]):
    """A typed operation: its contract, and the function that implements it."""

    name: str
    """`Name.method`."""
    description: str
    effect: Effect
    input: TypeAdapter[In]
    output: TypeAdapter[Out]
    run: Callable[[In, FunctionContext], Awaitable[Out]]
    timeout: float = 60.0
    """Timeout of one attempt, in seconds."""
    retries: int = 2
    """Additional attempts after the first."""
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    """`{failure type: when the tool function fails with it}`."""
    labels: tuple[Label, ...] = ()
    """What its results carry, and where its input goes."""
    asks: bool = False
    """Whether its work is to ask a person."""
    local_activity: bool = False
    """Whether tools made of it run as local activities."""
    begins_itself: bool = False
    """Whether `run` begins the effect, after it has waited or prepared something."""

    @cached_property
    def input_schema(self) -> Json:
        """The JSON Schema of the input."""
        return self.input.json_schema(mode="validation", schema_generator=WithAliases)

    @cached_property
    def _output_schema(self) -> Json:
        return self.output.json_schema(mode="serialization")

    def contract(self) -> FunctionContract:
        """Return the contract as data, for documents, compilers and people."""
        return FunctionContract(
            name=self.name,
            description=self.description,
            effect=self.effect,
            input_schema=self.input_schema,
            output_schema=self._output_schema,
            timeout=self.timeout,
            retries=self.retries,
            errors=dict(self.errors),
            labels=self.labels,
            asks=self.asks,
            local_activity=self.local_activity,
        )

    def _parse_input(self, value: JsonValue) -> In:
        """Parse the input; a null counts as absent in a field that does not allow it.

        Raises:
            ValidationError: It does not match, or a required field is absent.
        """
        try:
            return self.input.validate_python(value)
        except ValidationError as error:
            if not isinstance(value, dict):
                raise
            refused = {
                details["loc"][-1]
                for details in error.errors()
                if details["loc"] and details["type"] != "extra_forbidden"
            }
            fields = {key: v for key, v in value.items() if v is not None or key not in refused}
            if fields == value:
                raise
            return self.input.validate_python(fields)

    def _refuse_blocked(self, value: JsonValue) -> None:
        """Refuse texts of code, commands, paths and addresses that are blocked for their kind."""
        if blocked := blocked_fields(self.input_schema, value):
            what = "; ".join(map(describe_blocked, blocked[:5]))
            raise FunctionRefusal(f"blocked input for {self.name}: {what}")

    async def call(self, value: JsonValue, context: FunctionContext) -> JsonValue:
        """Check the input, run, check the output.

        Raises:
            FunctionRefusal: The input violates the contract, or requests something forbidden.
            FunctionFailure: The tool function failed, or violated its own contract.
        """
        self._refuse_blocked(value)
        try:
            typed = self._parse_input(value)
        except ValidationError as error:
            raise FunctionRefusal(
                f"invalid input for {self.name}: {validation_problems(error)}"
            ) from None
        if not self.begins_itself:
            await context.effect.begin()
        result = await self.run(typed, context)
        try:
            checked = self.output.validate_python(result)
            return self.output.dump_python(checked, mode="json", by_alias=True)
        except ValidationError as error:
            raise FunctionFailure(
                f"{self.name} returned a result that violates its contract: "
                f"{validation_problems(error)}",
                happened="yes",
                said=shown(result),
            ) from None
