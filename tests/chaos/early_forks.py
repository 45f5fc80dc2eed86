"""A fork, and the retry of a failed run, go the same way wherever the runs continue as new."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from coterie.dsl.values import Json
from tests.support.engine import Engine, engine, trail
from tests.support.runs import asked, decide, failure
from tests.support.servers.temporal_server import suggesting_after

Handle = Any
NEVER = 10_000
LIMITS = range(4, 60, 3)
"""Events after which the server suggests to continue as new."""
VISITS = ("draft#1", "review#1", "draft#2", "review#2", "end#1", None)
"""Where forks start; None: where the run failed."""
PLAN = """
orchestration:
  entry_team: draft
  max_recursion_depth: 3
  teams:
    draft:
      tasks:
        - {name: write, agent_type: generic_single_shot, persona_key: writer}
        - name: each
          type: loop
          iterate_on: [a, b]
          loop_variable: part
          body: [{name: kept, type: set, values: {last: "{{ context.round }}"}}]
      routing: {default: review, context_updates: {round: "{{ run.visit }}"}}
    review:
      tasks:
        - name: race
          type: parallel
          join: any
          branches:
            wins: [{name: tick, type: wait, duration: 20ms}]
            waits: [{name: long, type: wait, duration: 9h}]
        - {name: sign, type: approval, prompt: "Well?", deadline: 3d, remember: true}
      routing:
        rules: [{condition: "{{ run.visit < 2 }}", next_team: draft}]
        default: end
    end:
      tasks:
        - {name: ready, type: set, values: {n: 1}}
        - {name: no, type: fail, message: "{{ context.who }}"}
"""
ANSWERS: list[Json] = [{"task": "write", "answer": "words"}]


async def signed(here: Engine, handle: Handle) -> None:
    """Approve the first request; the answer is remembered."""
    await decide(handle, (await asked(handle))["id"])


async def forks(events: int, folder: Path) -> dict[str, list[object]]:
    """Run to the failure, fork at each visit, and return what every run did."""
    async with suggesting_after(events) as env, engine(env, folder, ANSWERS) as here:
        first: Handle = await here.start(PLAN, {"who": "ann"})
        await signed(here, first)
        did = {"the run": await facts(first)}
        for visit in VISITS:
            where: Json = {} if visit is None else {"at": visit}
            start: Json = {"run": first.id, "updates": {"who": "ben"}, "by": "cleo", **where}
            handle = await here.start_raw({"fork": start})
            if visit not in ("end#1", None):
                await signed(here, handle)
            did[f"the fork at {visit}"] = [
                "forked" if first.id in str(fact) else fact for fact in await facts(handle)
            ]
        return did


async def facts(handle: Handle) -> list[object]:
    """Return how a run failed, what it counts, and its trail."""
    cause = await failure(handle)
    status = await handle.query("status")
    entries = [
        (entry.kind, entry.team, entry.visit, entry.step, entry.status, entry.because)
        for entry in await trail(handle)
    ]
    return [cause.type, cause.message, status["visits"], status["model_calls"], *entries]


async def fork_everywhere(folder: Path, tell: Callable[[str], None]) -> list[str]:
    """Fork a run at each visit, on servers with each limit; return what a limit changed."""
    alone = await forks(NEVER, folder)
    wrong: list[str] = []
    for events in LIMITS:
        moved = await forks(events, folder)
        wrong += [
            f"{name}, suggested after {events} events: {alone[name]} / {moved[name]}"
            for name in alone
            if alone[name] != moved[name]
        ]
    tell(f"{len(LIMITS) * len(VISITS)} forks of runs that continued as new early")
    return wrong
