"""Find and compile the teams that an MCP server offers, each as one tool."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast, get_args

from pydantic import JsonValue

from coterie.deployed.registry import DeployedVersion
from coterie.deployed.version_documents import compile_version
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_target, startable
from coterie.documents.worker_trust import TrustedConfig, key_names, missing_keys, resolved
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.context.declarations import DeclaredPath
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.traversal.step_paths import message_wait_paths
from coterie.dsl.paths import parse
from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Json
from coterie.dsl.visible import shortened_text, visible
from coterie.failures import CommandError
from coterie.runs.records import RunRecord, new_record
from coterie.settings import Settings
from coterie.terminal import note


def arguments_schema(plan: Plan) -> Json:
    """Return the schema of what a start must and may give: the declared context.

    A plan without declarations takes any context; then the schema names what its steps need.
    """
    if plan.context:
        schema = _object(closed=True)
        for path, declaration in plan.context.items():
            _put_schema(
                schema, parse(path), _leaf(path, declaration), required=declaration.required
            )
        return schema
    schema = _object(closed=False)
    for path in plan.needs:
        _put_schema(schema, parse(path), {}, required=True)
    return schema


def result_schema(plan: Plan) -> Json:
    """Return the schema of the result, as far as it is known: the keys of the declared output."""
    return _known_schema(plan.output)


def _known_schema(output: JsonValue) -> Json:
    if not isinstance(output, Mapping):
        return {}
    return {
        "type": "object",
        "properties": {key: _known_schema(value) for key, value in output.items()},
    }


def _leaf(path: str, declaration: DeclaredPath) -> Json:
    schema = dict(declaration.schema_)
    if _has_reference(schema):
        schema["$id"] = f"urn:coterie:context:{path}"  # references stay within this value
    if not declaration.required:
        schema["default"] = declaration.default
    return schema


def _has_reference(value: JsonValue) -> bool:
    match value:
        case dict():
            return "$ref" in value or any(map(_has_reference, value.values()))
        case list():
            return any(map(_has_reference, value))
        case _:
            return False


def _object(*, closed: bool) -> Json:
    schema: Json = {"type": "object", "properties": {}}
    return {**schema, "additionalProperties": False} if closed else schema


def _put_schema(schema: Json, path: tuple[str, ...], leaf: Json, *, required: bool) -> None:
    """Put the schema of a path into the schema of the mappings above it."""
    name, *rest = path
    properties = cast("Json", schema.setdefault("properties", {}))
    if required:
        names = cast("list[JsonValue]", schema.setdefault("required", []))
        names += () if name in names else (name,)
    if not rest:
        properties[name] = {**leaf, **cast("Json", properties.get(name, {}))}
        return
    is_closed = schema.get("additionalProperties") is False
    inner = cast("Json", properties.setdefault(name, _object(closed=is_closed)))
    _put_schema(inner, tuple(rest), leaf, required=required)


RunTool = Literal["start", "status", "answer", "result"]
"""The tools beside the teams."""
ExplainingTool = Literal["runs", "why", "show", "pending", "cost"]
AuthoringTool = Literal["validate", "explain_code", "schema", "graph", "test"]
_SERVER_TOOLS = (*get_args(RunTool), *get_args(ExplainingTool), *get_args(AuthoringTool))

_MAX_NAME_LENGTH = 64
_MAX_DESCRIPTION_LENGTH = 2_000
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")
_GIVE = "give it in the arguments of the tool"


@dataclass(frozen=True, slots=True)
class ServedTeam:
    """A team as a tool."""

    name: str
    """Of the document, which grants name."""
    tool: str
    """Its name for clients, which every model API accepts."""
    description: str
    compiled: Compiled
    trusted: TrustedConfig
    arguments: Json
    """JSON Schema of the context."""
    result: Json
    """JSON Schema of what is known of the result."""
    messages: frozenset[str]
    """`team/path` of the steps that wait for a message; empty unless it is a session."""

    def start(self, context: Json, settings: Settings) -> tuple[RunRecord, Plan]:
        """Return the record and the plan of a new run.

        Raises:
            CommandError: The context does not match, or a key of a provider is missing.
        """
        unsound = unsound_part(context)
        if unsound is not None:
            raise CommandError(f"the argument {unsound}")
        plan = startable(self.compiled, context, how=_GIVE).plan
        keys = key_names(plan, self.trusted)
        missing = missing_keys(keys, settings)
        if missing:
            raise CommandError("; ".join(missing))
        record = new_record(settings, None, plan, self.trusted, keys, mcp_tool=self.tool)
        return record, plan


def served_teams(
    settings: Settings, targets: Sequence[str], model: str | None, workspace: str | None
) -> dict[str, ServedTeam]:
    """Compile the teams, by the names of their tools.

    Args:
        settings: Environment of the command.
        targets: Files or names; none for all teams of the project.
        model: `provider/model` for every persona.
        workspace: The folder that tool functions may touch.

    Raises:
        InvalidDocument: A named team has problems.
        CommandError: A named team cannot be a tool, or two have the same name.
    """
    teams: dict[str, ServedTeam] = {}
    origins: dict[str, str] = {}
    for target in targets or _own(settings):
        try:
            team = _served_team(settings, target, model, workspace)
        except InvalidDocument as error:
            if targets:
                raise
            note(f"{target} is not offered: {error.problems[0].message} (coterie validate)")
            continue
        if team.tool in origins:
            raise CommandError(
                f"{origins[team.tool]} and {target} would both be the tool {team.tool!r}; rename "
                "one, or name the teams to offer"
            )
        if team.tool in _SERVER_TOOLS:
            why = f"the server has a tool {team.tool!r} of its own; rename the team"
            if targets:
                raise CommandError(f"{target} cannot be a tool: {why}")
            note(f"{target} is not offered: {why}")
            continue
        teams[team.tool], origins[team.tool] = team, target
    if not teams:
        note("the project offers no team yet: clients have the tools that help to write one")
    return teams


def _own(settings: Settings) -> list[str]:
    return list(dict.fromkeys(located.name for located in Catalog(settings).own()))


def _served_team(
    settings: Settings, target: str, model: str | None, workspace: str | None
) -> ServedTeam:
    located, compiled, trusted = compile_target(settings, target, model=model, workspace=workspace)
    return _team_of(located.name, with_needs(compiled), trusted)


def deployed_team(settings: Settings, version: DeployedVersion) -> ServedTeam:
    """Return a deployed version of a team as its tool; its runs get exactly this version.

    Raises:
        InvalidDocument: The project lacks what it needs, such as a provider.
        CommandError: A package of tools cannot be used, or the server has a tool of this name.
    """
    compiled = compile_version(Catalog(settings), version, only_shown=False)
    trusted = resolved(compiled.worker, compiled.providers, compiled.tree, settings, None)
    team = _team_of(version.team, compiled, trusted)
    if team.tool in _SERVER_TOOLS:
        raise CommandError(f"the server has a tool {team.tool!r} of its own; rename the team")
    return team


def _team_of(name: str, compiled: Compiled, trusted: TrustedConfig) -> ServedTeam:
    plan = compiled.plan
    return ServedTeam(
        name=name,
        tool=_OTHER.sub("_", name)[:_MAX_NAME_LENGTH],
        description=team_description(compiled, name),
        compiled=compiled,
        trusted=trusted,
        arguments=arguments_schema(plan),
        result=result_schema(plan),
        messages=message_wait_paths(plan),
    )


def team_description(compiled: Compiled, name: str) -> str:
    """Return the document's description, or that of its entry team."""
    entry = ("orchestration", "teams", compiled.plan.entry_team)
    for node in (compiled.tree, compiled.tree.find(entry)):
        description = node.child("description")
        text = None if description is None else description.plain()
        if isinstance(text, str) and text.strip():
            return shortened_text(visible(text.strip()), _MAX_DESCRIPTION_LENGTH)
    return f"Runs the team {name}."
