"""List the teams of the project, and describe one; the schemas of documents."""

import asyncio
from collections.abc import Sequence

from coterie.documents.catalog import Catalog, shown
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.values import Documented, Json
from coterie.dsl.visible import shortened_text, visible
from coterie.evals.document_schemas import DocumentKind, schema_of
from coterie.gateway.identity.identity import Identity, Role
from coterie.gateway.operations.named_teams import NamedTeam
from coterie.gateway.operations.operation import AnyOperation, Operation, TeamAsked
from coterie.gateway.operations.permissions import Allowed, may
from coterie.gateway.operations.run_access import RunAccess
from coterie.gateway.operations.run_starts import TEAM_READERS, unknown_team
from coterie.graph.mermaid import mermaid_of
from coterie.graph.picture import picture
from coterie.mcp_server.served_teams import arguments_schema, result_schema, team_description
from coterie.settings import Settings

_MAX_PROBLEM_LENGTH = 500


class TeamsAsked(Documented):
    """The input of `teams`: nothing."""


class ListedTeam(Documented):
    """A team of the list."""

    team: str
    file: str
    """Empty: the gateway has none, and the team is only deployed."""
    is_own: bool
    """Whether it is a team of the project; otherwise it comes with Coterie."""
    version: str | None = None
    """The deployed version that its name starts, such as `review@3`."""


class TeamListing(Documented):
    """The teams that the project offers by name, its own first."""

    teams: tuple[ListedTeam, ...]


class TeamDescription(Documented):
    """What a team is for, needs and returns."""

    team: str
    file: str
    """Empty: the gateway has none, and the team is only deployed."""
    version: str | None = None
    """The deployed version that is described; None: what the file says."""
    description: str
    """As its document has it."""
    problem: str = ""
    """Why it cannot start; then the rest is not known."""
    context_schema: Json | None = None
    """JSON Schema of the context with which it starts."""
    result_schema: Json | None = None
    """JSON Schema of what is known of its result."""
    graph: str = ""
    """As a Mermaid diagram."""


class SchemaAsked(Documented):
    """The input of `schema`."""

    kind: DocumentKind
    """Of the documents."""


class DocumentSchema(Documented):
    """The JSON Schema of a kind of documents."""

    kind: DocumentKind
    json_schema: Json


async def _teams(access: RunAccess, _: TeamsAsked, identity: Identity) -> TeamListing:
    listed_teams = [
        ListedTeam(
            team=own.name,
            file="" if own.file is None else shown(own.file, access.settings),
            is_own=True,
            version=own.version,
        )
        for own in sorted(await access.teams.own(), key=lambda own: own.name)
    ]
    listed_teams += await asyncio.to_thread(_shipped_teams, access.settings, listed_teams)
    visible_teams = (
        team for team in listed_teams if isinstance(may(identity, TEAM_READERS, team.team), Allowed)
    )
    return TeamListing(teams=tuple(visible_teams))


def _shipped_teams(settings: Settings, own: Sequence[ListedTeam]) -> list[ListedTeam]:
    names = {team.team for team in own}
    found = [
        ListedTeam(team=located.name, file=shown(located.file, settings), is_own=False)
        for located in Catalog(settings).all()
        if located.name not in names
    ]
    return sorted(found, key=lambda team: team.team)


async def _team(access: RunAccess, asked: TeamAsked, identity: Identity) -> TeamDescription:
    name = asked.team
    file = await asyncio.to_thread(_file_of, access.settings, name)
    try:
        named = await access.teams.find(name)
    except InvalidDocument as error:
        problem = error.problems[0]
        where = f"{problem.file}:{problem.line}:{problem.column}"
        text = shortened_text(visible(f"{where}: {problem.message}"), _MAX_PROBLEM_LENGTH)
        return TeamDescription(team=name, file=file, description="", problem=text)
    if named is None:
        raise unknown_team(await access.teams.names(), name, identity)
    return await asyncio.to_thread(_described_team, named, file)


def _file_of(settings: Settings, team: str) -> str:
    located = Catalog(settings).named(team)
    return "" if located is None else shown(located.file, settings)


def _described_team(named: NamedTeam, file: str) -> TeamDescription:
    plan = named.compiled.plan
    return TeamDescription(
        team=named.name,
        file=file,
        version=None if named.start_name == named.name else named.start_name,
        description=team_description(named.compiled, named.name),
        context_schema=arguments_schema(plan),
        result_schema=result_schema(plan),
        graph=visible(mermaid_of(picture(plan), None)),
    )


async def _schema(_: RunAccess, asked: SchemaAsked, __: Identity) -> DocumentSchema:
    schema = await asyncio.to_thread(schema_of, asked.kind)
    return DocumentSchema(kind=asked.kind, json_schema=schema)


OPERATIONS: tuple[AnyOperation, ...] = (
    Operation(
        "teams",
        "Lists the teams that you may see or start.",
        "GET",
        "/teams",
        TEAM_READERS,
        "teams",
        TeamsAsked,
        TeamListing,
        _teams,
    ),
    Operation(
        "team",
        "Describes a team: its purpose, its inputs and outputs, its graph.",
        "GET",
        "/teams/{team}",
        TEAM_READERS,
        "team",
        TeamAsked,
        TeamDescription,
        _team,
    ),
    Operation(
        "schema",
        "Returns the JSON Schema of a kind of documents.",
        "GET",
        "/schemas/{kind}",
        tuple(Role),
        "project",
        SchemaAsked,
        DocumentSchema,
        _schema,
    ),
)
