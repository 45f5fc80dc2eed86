"""Plans in which something wins or is over at second 2, and something else still waits then."""

from collections.abc import Iterator
from typing import NamedTuple

from pydantic import JsonValue

from tests.support.simulation.simulated_server import Message

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: { prompts: { user: "Say {{ input }}." } }
    backed: { fallback: [scripted/second, scripted/third], prompts: { user: "Say {{ input }}." } }
    slow: { batch: true, prompts: { user: "Say {{ input }}." } }
    finder: { prompts: { user: Find. }, tools: [look, helper] }
    asker: { prompts: { user: Find. }, tools: [sign] }
    planned:
      execution_plan:
        - { name: listed, type: skill, skill: Files.list }
        - { name: planned_long, type: wait, duration: 9h }
        - { name: out, type: return, value: 1 }
tools:
  look: { skill: Files.list, description: Lists files. }
  sign: { skill: Files.list, description: Lists files., requires_approval: before }
  helper: { agent: writer, description: Helps. }
orchestration:
  entry_team: work
  teams:
"""


def ask(name: str, persona: str = "writer", more: str = "") -> str:
    """Return an agent step; `_7` at the end of its name lets it take 7 seconds."""
    return (
        f"{{ name: {name}, agent_type: generic_single_shot, persona_key: {persona}, "
        f"input: {name}{more} }}"
    )


def wait(name: str, duration: str) -> str:
    """Return a step that waits."""
    return f"{{ name: {name}, type: wait, duration: {duration} }}"


LONG, LATE, TIDY = wait("long", "9h"), ask("late"), ask("tidy")
"""What a loser waits for; what it would do next; what it does in any case."""
TALK = ", conversation: talk"
AFTER = ask("after", more=TALK)

WAITS = {
    "duration": LONG,
    "durations": ", ".join((wait("soon", "2s"), wait("sooner", "0.5s"), LONG)),
    "time": "{ name: long, type: wait, time: 2026-01-01T09:00 }",
    "signal": "{ name: long, type: wait, signal: word, deadline: 9h }",
    "endless": "{ name: long, type: wait, signal: word }",
    "approval": "{ name: asked, type: approval, prompt: Go on? }",
    "deadline": "{ name: asked, type: approval, prompt: Go on?, deadline: 9h }",
    "reminders": "{ name: asked, type: approval, prompt: Go on?, deadline: 9h, approvers: [ann], "
    "remind_every: 0.9s, escalate: [{ after: 1.3s, to: [joan] }] }",
    "approval before": "{ name: asked, agent_type: generic_single_shot, persona_key: writer, "
    "input: a, requires_approval: { prompt: really, deadline: 9h } }",
    "failure": "{ name: asked, type: fail, message: no, on_failure: ask }",
    "retry": ask("fails_a", more=", retry: { retries: 3, interval: 1h }"),
    "retries": ask("fails_b", more=", retry: { retries: 9, interval: 0.3s, backoff: 1 }"),
    "fallback": ask("down", "backed", ", retry: { retries: 3, interval: 1h }"),
    "call": ask("call_9999"),
    "calls": ", ".join(ask(name) for name in ("one", "two", "three")),
    "batch": ask("hold", "slow"),
    "conversation": f"{ask('first', more=TALK)}, {ask('second_9999', more=TALK)}",
    "approval of a call": "{ name: asks, persona_key: asker }",
    "tool loop": "{ name: finds, persona_key: finder }",
    "tool": "{ name: listed, type: tool, tool: look }, { name: again, type: tool, tool: sign }",
    "plan": "{ name: own, agent_type: generic_orchestrating, persona_key: planned }",
    "time limit": f"{{ name: limited, type: block, timeout: 8h, steps: [{LONG}] }}",
    "time limit of a wait": "{ name: long, type: wait, duration: 9h, timeout: 8h }",
    "race": "{ name: inner, type: parallel, join: any, "
    f"branches: {{ one: [{wait('longer', '8h')}], two: [{LONG}] }} }}",
    "fallback branches": "{ name: inner, type: parallel, join: fallback, "
    "branches: { one: [{ name: bad, type: fail, message: no }], two: [LONG] } }".replace(
        "LONG", LONG
    ),
    "rounds": "{ name: inner, type: loop, iterate_on: [1, 2, 3], loop_variable: n, "
    f"concurrency: 2, body: [{wait('long', '1.1s')}] }}",
    "loop": "{ name: inner, type: loop, iterate_on: [1, 2, 3], loop_variable: n, body: ["
    f"{wait('long', '0.9s')}] }}",
    "graph": "{ name: inner, type: task_graph, tasks: [{ id: a }, { id: b, dependencies: [a] }], "
    f"task_variable: n, body: [{wait('long', '1.3s')}, "
    "{ name: kept, type: set, values: { x: 1 } }] }",
    "branch": "{ name: inner, type: branch, branches: [{ condition: '{{ true }}', "
    f"steps: [{LONG}] }}] }}",
    "team": "{ name: other_team, team: side }",
}
SIDE = f"    side: {{ tasks: [{wait('aside', '0.9s')}, {wait('asides', '1h')}] }}\n"
"""What a loser does at second 2."""

_BRANCHES = "{ waits: [LOSER], wins: [WIN], other: [OTHER] }"
_RACE = (
    "    work:\n      tasks:\n"
    f"        - {{ name: race, type: parallel, MORE, branches: {_BRANCHES} }}\n        - AFTER\n"
)
_LIMIT = (
    "    work: { tasks: [{ name: limited_2s, timeout: 2s, on_failure: continue, MORE }, AFTER] }\n"
)
_FAN_OUT = """    work:
      tasks: [{ name: begin, type: set, values: { begun: true } }]
      routing: { rules: [{ condition: all_success, next_team: [waits, other, wins] }] }
    waits: { tasks: [LOSER], routing: { default: join } }
    other: { tasks: [OTHER], routing: { default: join } }
    wins: { tasks: [WIN], routing: { default: join } }
    join: { type: concentrator, collect: { MORE }, tasks: [AFTER] }
"""
_ROUNDS = """    work:
      tasks:
        - name: rounds
          on_failure: continue
          concurrency: 3
          MORE
          body:
            - { name: waits, type: block, when: "{{ ID == 'waits' }}", steps: [LOSER] }
            - { name: other, type: block, when: "{{ ID == 'other' }}", steps: [OTHER] }
            - name: wins
              type: block
              when: "{{ ID == 'wins' }}"
              steps: [WIN, { name: lost, type: fail, message: no }]
        - AFTER
"""


def _rounds(id: str, more: str) -> str:
    return _ROUNDS.replace("ID", id).replace("MORE", more.replace("\n", "\n          "))


ENDS = {
    "any": _RACE.replace("MORE", "join: any"),
    "number": _RACE.replace("MORE", "join: 1"),
    "best": _RACE.replace("MORE", "join: best, timeout: 2s, on_failure: continue"),
    "block": _LIMIT.replace("MORE", "type: block, steps: [LOSER]"),
    "loop": _LIMIT.replace(
        "MORE", "type: loop, iterate_on: [1, 2], loop_variable: k, body: [LOSER]"
    ),
    "try": _LIMIT.replace("MORE", f"type: try, steps: [LOSER], finally: [{ask('at_last')}]"),
    "team": _LIMIT.replace("MORE", "type: team, team: deep") + "    deep: { tasks: [LOSER] }\n",
    "fan-out": _FAN_OUT.replace("MORE", "count: 1"),
    "fan-out in time": _FAN_OUT.replace("MORE", "timeout: 2s"),
    "fan-out by signal": _FAN_OUT.replace("MORE", "signal: enough"),
    "rounds": _rounds(
        "round", "type: loop\niterate_on: [waits, other, wins]\nloop_variable: round"
    ),
    "graph": _rounds(
        "round.id",
        "type: task_graph\ntasks: [{ id: waits }, { id: other }, { id: wins }]\n"
        "task_variable: round\non_failed_task: stop",
    ),
}
"""What ends the wait of the loser at second 2, and how."""

WINNERS = {"a wait": wait("win", "2s"), "a call": ask("win_2")}
OTHERS = {
    "something": f"{wait('besides', '2s')}, {wait('others', '61s')}",
    "nothing": wait("besides", "3.1s"),
}
"""What the moment of the end brings besides."""


class Scenario(NamedTuple):
    """A plan whose run may be suggested to continue as new anywhere."""

    name: str
    text: str
    messages: tuple[Message, ...]


def scenarios() -> Iterator[Scenario]:
    """Yield every end with every wait, every winner, and with and without `finally` steps."""
    for end, team in ENDS.items():
        is_race = "WIN" in team
        for waiting, loser in WAITS.items():
            for winner, win in list(WINNERS.items())[: 2 if is_race else 1]:
                for beside, other in list(OTHERS.items())[: 2 if is_race else 1]:
                    for last in ("", " with finally"):
                        name = f"{end}: {waiting}{last} against {winner}, beside {beside}"
                        steps = f"{loser}, {LATE}"
                        if last:
                            steps = (
                                f"{{ name: tried, type: try, steps: [{steps}], finally: [{TIDY}] }}"
                            )
                        text = team.replace("LOSER", steps).replace("WIN", win)
                        text = text.replace("OTHER", other).replace("AFTER", AFTER)
                        side = SIDE if waiting == "team" else ""
                        sent = (Message(2.0, "signal", "enough", 1),) if "signal" in end else ()
                        yield Scenario(name, HEAD + text + side, sent)


SESSION = (
    HEAD.replace("teams:", "max_messages: 9\n  teams:")
    + """    work:
      tasks:
        - { name: next, type: wait, message: true, deadline: 1h, on_failure: continue }
        - { name: limited, type: wait, signal: word, timeout: 2s, on_failure: continue }
      routing:
        rules:
          - { condition: "{{ not tasks.next.success }}", next_team: end }
          - { next_team: say }
    say:
      tasks: [{ name: reply, type: reply, value: "{{ teams.work.tasks.next.data }}!" }]
      routing: { default: work }
    end: { tasks: [AFTER] }
""".replace("AFTER", AFTER)
)
"""A session that ends when no message comes for an hour."""
SENT = tuple(
    Message(at, "update", "send_message", {"message": f"at {at}", "by": "ann"})
    for at in (0.5, 5.0, 700.25)
)

STEERED = (
    HEAD
    + f"""    work:
      tasks:
        - name: both
          type: parallel
          branches:
            one: [{wait("first", "3s")}, {ask("next")}]
            two: [{wait("second", "9h")}]
            three: [{{ name: bad, type: fail, message: no, on_failure: ask }}]
        - {AFTER}
      routing: {{ default: other }}
    other: {{ tasks: [{wait("rest", "2s")}, {ask("last")}] }}
"""
)
"""A plan that people steer: each of the ways below ends it."""
_BY: dict[str, JsonValue] = {"by": "ann"}
_SKIPPED = Message(2.0, "update", "skip", {"task": "work/both/two/second", **_BY})
_FAILURE = "work/both/three/bad"
_ENDED = Message(7.0, "update", "skip", {"task": _FAILURE, **_BY})
STEERINGS = {
    "skip": (_SKIPPED, _ENDED),
    "retry": (Message(1.0, "update", "retry", {"task": _FAILURE, **_BY}), _SKIPPED, _ENDED),
    "redirect": (Message(1.0, "update", "redirect", {"team": "other", **_BY}), _SKIPPED, _ENDED),
    "amend": (Message(1.0, "update", "amend", {"updates": {"x": 1}, **_BY}), _SKIPPED, _ENDED),
    "pause": (
        Message(1.0, "signal", "pause", _BY),
        Message(5.5, "signal", "resume", _BY),
        _SKIPPED,
        _ENDED,
    ),
    "cancel": (Message(1.0, "cancel", "enough"),),
}
"""What people send to that plan."""
