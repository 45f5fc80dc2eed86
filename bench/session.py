"""Prove that a long session continues as new and loses no message: `python -m bench.session`.

It talks to one session on the real server with its own limits: 2,500 messages, or as many as given.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from uuid import uuid4

from temporalio.testing import WorkflowEnvironment

from coterie.replay.links import links
from coterie.runs.run_client import Run
from coterie.runs.sessions import send_message
from tests.support.engine import engine
from tests.workflow.histories.test_continue_as_new import suggesting_after
from workflows.core.messages import SessionInput

TEAM = """
orchestration:
  entry_team: talk
  max_messages: 100000
  teams:
    talk:
      tasks:
        - {name: next, type: wait, message: true}
        - {name: say, type: reply, value: "{{ tasks.next.data }}!"}
      routing:
        default: talk
        context_updates: {heard: "{{ (context.heard | default(0)) + 1 }}"}
"""
_SUGGESTED = 4096
"""Events after which a server suggests to continue as new."""


async def talk(env: WorkflowEnvironment, folder: Path, messages: int) -> None:
    """Send the messages one after the other, and print what became of them."""
    async with engine(env, folder, []) as running:
        handle = await running.start(TEAM)
        run, turns = Run(running.client, handle.id), asyncio.Semaphore(1)

        async def sent(number: int) -> bool:
            async with turns:
                asked = SessionInput(message=f"message {number}")
                return await send_message(run, asked, str(uuid4())) == f"message {number}!"

        answered = sum(await asyncio.gather(*map(sent, range(messages))))
        await handle.cancel()
        histories = [len(one.events) async for one in links(running.client, handle.id)]
        print(f"{answered} of {messages} messages answered, in histories of {histories} events")


async def main() -> None:
    """Run it on a server of its own."""
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 2_500
    with tempfile.TemporaryDirectory() as folder:
        async with suggesting_after(_SUGGESTED) as env:
            await talk(env, Path(folder), messages)


if __name__ == "__main__":
    asyncio.run(main())
