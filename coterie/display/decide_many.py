"""Implement `coterie approve --waiting` and `reject --waiting`: requests of many runs at once."""

from fnmatch import fnmatchcase

from coterie.control.bulk_runs import chosen_runs
from coterie.control.deciding_names import DecidingNames
from coterie.display.bulk_command import begin_bulk, is_confirmed, note_limit
from coterie.display.decide_command import DecidingPlace, refuse_terms_of_one, shown_decision
from coterie.dsl.errors import listed
from coterie.failures import ExitCode
from coterie.inspection.open_requests import requests_in_all
from coterie.logs import quietly
from coterie.runs.run_client import MessageSigner, Run
from coterie.runs.run_list import RunFilter, RunRow
from coterie.server.connection import open_connection
from coterie.settings import Settings
from coterie.terminal import note
from coterie.text.problems import counted
from coterie.workflows.core.bulk_messages import BulkInput, BulkItem
from coterie.workflows.core.messages import DecideInput


async def decide_many(
    settings: Settings,
    wanted: RunFilter,
    pattern: str,
    asked: DecideInput,
    names: DecidingNames,
    signer: MessageSigner | None,
    *,
    confirmed: bool,
) -> ExitCode:
    """Show the requests of every run that matches, ask once, and decide each for itself.

    Args:
        settings: Environment of the command.
        wanted: Which runs.
        pattern: Of the ids of their requests.
        asked: The decision, without request and digest.
        names: The names under which the person decides.
        signer: Signs the decisions.
        confirmed: Whether to begin without a question.

    Raises:
        CommandError: Nobody can confirm it, or the server does not answer.
    """
    refuse_terms_of_one(asked)
    quietly(settings)
    client = (await open_connection(settings)).client
    rows: list[RunRow] = []
    items: dict[str, BulkItem] = {}
    async for row, item in chosen_runs(client, wanted):
        rows.append(row)
        if row.waits_for:
            items[item.run] = item
    note_limit(rows)
    runs = {id: Run(client, id) for id in items}
    waiting, silent = await requests_in_all(settings, client, runs.values())
    if silent:
        note(f"no worker answers for {counted(len(silent), 'open run')}: {listed(silent)}")
    matching = [one for one in waiting if fnmatchcase(one.request.id, pattern)]
    if not matching:
        note("no request matches")
        return ExitCode.DONE
    decided: list[BulkItem] = []
    for one in matching:
        run, place = runs[one.run], DecidingPlace(settings, one.workspace)
        run.signer = signer
        decision = await shown_decision(run, one.request, asked, names, place, confirmed=confirmed)
        if decision is not None:
            proven = await run.with_proof(decision, decision.id)
            decided.append(items[run.id].model_copy(update={"decision": proven}))
    what = f"{asked.decision} {counted(len(decided), 'request')} as shown"
    if not decided or not await is_confirmed(what, confirmed=confirmed):
        return ExitCode.RUN_FAILED
    bulk = BulkInput(action="decide", items=tuple(decided), by=asked.by, why=asked.comment)
    code = await begin_bulk(settings, client, bulk)
    return code if len(decided) == len(matching) else ExitCode.RUN_FAILED
