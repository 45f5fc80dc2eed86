"""`coterie export`: write the state of runs as JSON, or into a table of a database."""

import json
from argparse import SUPPRESS, ArgumentParser, Namespace

from coterie.executions.agent_execution import AgentExecution, read_execution
from coterie.executions.execution_repository import AgentExecutionRepository, open_table
from coterie.failures import CommandError, ExitCode
from coterie.interrupts import run_async
from coterie.logs import quietly
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import say

_FROM_ENVIRONMENT = "env:"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("runs", nargs="*", metavar="RUN", help="ids of runs")
    parser.add_argument(
        "--sql",
        metavar="URL",
        help="write to the table agent_executions of this database: sqlite:///FILE, "
        "postgresql+psycopg://..., or env:NAME for a URL in an environment variable",
    )
    parser.add_argument(
        "--remove-table", action="store_true", help="remove the table with all its rows"
    )

    parser.add_argument("--downgrade", action="store_true", help=SUPPRESS)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Write the states of the runs."""
    if args.downgrade:
        raise CommandError("`--downgrade` is `--remove-table` now")
    if args.remove_table:
        if args.sql is None or args.runs:
            raise CommandError("--remove-table takes --sql URL and no runs")
        table = open_table(_url(settings, args.sql))
        table.remove()
        say(f"{table.name}: removed the table agent_executions")
        return ExitCode.DONE
    if not args.runs:
        raise CommandError("name the runs: coterie export RUN --sql URL; `coterie runs` lists them")
    return run_async(_export_runs(settings, args.runs, args.sql))


async def _export_runs(settings: Settings, runs: list[str], sql: str | None) -> ExitCode:
    quietly(settings)
    if sql is None:
        client = (await open_connection(settings)).client
        rows = [await read_execution(client, id) for id in runs]
        data = [row.model_dump(mode="json") for row in rows]
        say(json.dumps(data[0] if len(data) == 1 else data, indent=2, ensure_ascii=False))
        return ExitCode.DONE
    repository = await AgentExecutionRepository.open(_url(settings, sql), settings)
    for id in runs:
        row = await repository.save_state(id)
        say(_line(row))
    return ExitCode.DONE


def _line(row: AgentExecution) -> str:
    return f"{row.id}: {row.status}, as of {row.updated_at.isoformat(timespec='seconds')}"


def _url(settings: Settings, sql: str) -> str:
    if not sql.startswith(_FROM_ENVIRONMENT):
        return sql
    name = sql.removeprefix(_FROM_ENVIRONMENT)
    url = settings.secret(name)
    if url is None:
        raise CommandError(f"the environment variable {name} is not set; set it to a URL")
    return url
