"""List the teams of the project, and describe one; the schemas of documents."""

import asyncio

from coterie.documents.catalog import Catalog, shown
from coterie.documents.compilation import compile_located
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.values import Documented, Json
from coterie.dsl.visible import shortened_text, visible
from coterie.evals.document_schemas import DocumentKind, schema_of
from coterie.gateway.identity.identity import Identity, Role
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
    is_own: bool
    """Whether it is a team of the project; otherwise it comes with Coterie."""


class TeamListing(Documented):
    """The teams that the project offers by name, its own first."""

    teams: tuple[ListedTeam, ...]


class TeamDescription(Documented):
    """What a team is for, needs and returns."""

    team: str
    file: str
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
    listed_teams = await asyncio.to_thread(_listed_teams, access.settings)
    visible_teams = (
        team for team in listed_teams if isinstance(may(identity, TEAM_READERS, team.team), Allowed)
    )
    return TeamListing(teams=tuple(visible_teams))


def _listed_teams(settings: Settings) -> list[ListedTeam]:
    catalog = Catalog(settings)
    own = {located.name for located in catalog.own()}
    found = [
        ListedTeam(
            team=located.name, file=shown(located.file, settings), is_own=located.name in own
        )
        for located in catalog.all()
    ]
    return sorted(found, key=lambda team: (not team.is_own, team.team))


async def _team(access: RunAccess, asked: TeamAsked, identity: Identity) -> TeamDescription:
    return await asyncio.to_thread(_described_team, access.settings, asked.team, identity)


def _described_team(settings: Settings, name: str, identity: Identity) -> TeamDescription:
    catalog = Catalog(settings)
    located = catalog.named(name)
    if located is None:
        raise unknown_team(catalog, name, identity)
    file = shown(located.file, settings)
    try:
        compiled = with_needs(compile_located(catalog, located, only_shown=True))
    except InvalidDocument as error:
        problem = error.problems[0]
        where = f"{problem.file}:{problem.line}:{problem.column}"
        text = shortened_text(visible(f"{where}: {problem.message}"), _MAX_PROBLEM_LENGTH)
        return TeamDescription(team=name, file=file, description="", problem=text)
    plan = compiled.plan
    return TeamDescription(
        team=name,
        file=file,
        description=team_description(compiled, name),
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
