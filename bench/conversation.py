"""Conversations that grow: kept once and passed by name, or sent whole with each request."""

import asyncio
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from temporalio.client import Client

from bench import loop
from bench.measuring import histories
from bench.report import write_rows
from bench.stage import stage
from bench.systems import COTERIE
from bench.team import CAPABILITIES
from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.model.plan import Plan
from coterie.dsl.values import Json
from coterie.workflows.core.messages import TeamInput

_DOCUMENT = f"""
llm_config:
  default_provider: {loop.PROVIDER}
  default_model: {loop.MODEL}
  personas:
    talker: {{prompts: {{user: "Turn {{{{ input.turn }}}}. {{{{ input.said }}}}"}}}}
orchestration:
  entry_team: talk
  teams:
    talk:
      tasks:
        - {{name: begin, type: set, values: {{said: ""}}}}
        - name: turns
          type: loop
          iterate_on: "{{{{ range(TURNS) }}}}"
          loop_variable: turn
          body: BODY
        - {{name: told, type: return, value: done}}
"""
_ASK = "name: talk, agent_type: generic_single_shot, persona_key: talker"
BODIES = {
    "conversation": f"""[{{{_ASK}, conversation: talk,
              input: {{turn: "{{{{ turn }}}}", said: ""}}}},
             {{name: end, type: set, values: {{turned: true}}}}]""",
    "inline": f"""[{{{_ASK},
              input: {{turn: "{{{{ turn }}}}", said: "{{{{ said }}}}"}}}},
             {{name: more, type: set, values: {{said: "{{{{ said ~ tasks.talk.data.text }}}}"}}}},
             {{name: end, type: set, values: {{turned: true}}}}]""",
}
"""The one keeps its conversation by `conversation:`; the other in a variable that it sends."""


def plan(kind: str, turns: int) -> Plan:
    """A conversation of so many turns, each of five kilobytes."""
    text = _DOCUMENT.replace("TURNS", str(turns)).replace("BODY", BODIES[kind])
    compiled = compile_sources([SourceText("talk.yml", text)], CAPABILITIES, name="talk")
    return compiled.plan


def measured(lengths: Sequence[int], database: str | None, out: Path) -> str:
    """Measure, write the rows, and print them."""
    rows = asyncio.run(_rows(lengths, database))
    write_rows(out, rows)
    lines = ["Bytes of history of a conversation whose every turn adds 5 KB"]
    lines.append(f"{'turns':>6}{'kind':>14}{'histories':>11}{'bytes':>13}{'bytes per turn':>16}")
    lines += [
        f"{row['n']:>6}{row['kind']:>14}{row['histories']:>11}{row['bytes']:>13}"
        f"{row['bytes_per_step']:>16}"
        for row in rows
    ]
    return "\n".join(lines)


async def _rows(lengths: Sequence[int], database: str | None) -> list[Json]:
    rows: list[Json] = []
    async with stage(["coterie", "inline"], database) as (address, workers):
        client = await Client.connect(address, identity="bench", data_converter=COTERIE.converter)
        for kind, worker in (("conversation", workers["coterie"]), ("inline", workers["inline"])):
            for turns in lengths:
                handle = await client.start_workflow(
                    COTERIE.workflow,
                    TeamInput(plan=plan(kind, turns)),
                    id=f"talk-{uuid.uuid4()}",
                    task_queue=worker.queue,
                )
                await worker.alive_for(handle.result())
                parts = [part async for part in histories(client, handle.id)]
                size = sum(size for _, size in parts)
                print(f"{kind}: {turns} turns, {size} bytes", file=sys.stderr)
                rows.append(
                    {
                        "system": COTERIE.name,
                        "case": "conversation",
                        "kind": kind,
                        "n": turns,
                        "histories": len(parts),
                        "bytes": size,
                        "bytes_per_step": round(size / turns, 1),
                    }
                )
    return rows
