"""Labels: every call that may send out private data at the word of others is found.

`EXAMPLES=1000 pytest tests/unit/dsl/tools/test_labels.py` tries 1,000 generated plans.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import islice, product
from math import inf
from random import Random
from textwrap import dedent, indent
from typing import NamedTuple

import pytest

from coterie.dsl.analysis.findings import analysed
from coterie.dsl.analysis.worst_case import worst_case
from coterie.dsl.analysis.worst_case_of_models import Terms
from coterie.dsl.compile.compiler import Compiled, SourceText, compile_sources
from coterie.dsl.errors import Problem
from tests.unit.dsl.analysis.documents import CAPABILITIES

PLANS = int(os.environ.get("EXAMPLES", "250"))

HEAD = """\
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    reader: { description: Reads., prompts: { user: Read. }, tools: [read, web] }
    sender: { description: Sends., prompts: { user: Send. }, tools: [send] }
    all: { prompts: { user: Work. }, tools: [read, web, send] }
    careful: { prompts: { user: Work. }, tools: [read, web, asked] }
    private: { prompts: { user: Work. }, tools: [read, send] }
    public: { prompts: { user: Work. }, tools: [web, send] }
    searching: { prompts: { user: Work. }, tools: [read, search] }
    orchestrator: { prompts: { user: Work. }, subagents: [reader, sender] }
    waiting: { description: Waits., prompts: { user: Work. }, tools: [read, web, late] }
    deep: { description: Works., prompts: { user: Work. }, tools: [web, granted] }
    middle: { description: Works., prompts: { user: Work. }, tools: [plain, granting] }
    returning: { prompts: { user: Work. }, tools: [read, web, send], tool_calls: return }
    planned:
      execution_plan:
        - { name: look, tool: read }
        - { name: fetch, tool: web }
        - { name: tell, tool: send }
    looking:
      execution_plan: [{ name: look, tool: read }, { name: fetch, tool: web }]
tools:
  read: { skill: Files.read, labels: [private] }
  web: { skill: Files.read, labels: [untrusted] }
  send: { skill: Files.read, labels: [egress] }
  search: { skill: Files.read, labels: [untrusted, egress] }
  asked: { skill: Files.read, labels: [egress], requires_approval: before }
  sometimes:
    skill: Files.read
    labels: [egress]
    requires_approval: { at: before, when: "{{ arguments.much }}", deadline: 1h }
  afterwards: { skill: Files.read, labels: [egress], requires_approval: after }
  granted: { skill: Files.read, labels: [egress], grants: [private] }
  late:
    skill: Files.read
    requires_approval: { at: before, deadline: 1h, on_timeout: sending }
  plain: { agent: deep }
  patient: { agent: waiting }
  granting: { agent: deep, grants: [private] }
  other: { agent: deep, grants: [untrusted] }
  outer: { agent: middle, grants: [private, untrusted] }
  lacking: { agent: middle }
  errand: { team: errand, description: Sends. }
  trusted_errand: { team: errand, description: Sends., grants: [private] }
  shown:
    skill: Files.read
    labels: [egress]
    requires_approval: { at: before, show: A message., deadline: 1h }
  silent:
    skill: Files.read
    labels: [egress]
    requires_approval: { at: before, deadline: 1h, on_timeout: approve }
  reading: { team: reading, description: Reads. }
  inside: { team: inside, description: Reads. }
orchestration:
  entry_team: a
  teams:
    reading: { tasks: [{ name: r, tool: read }, { name: w, tool: web }] }
    sending: { tasks: [{ name: s, tool: send }] }
    inside:
      tasks:
        - { name: r, tool: read }
        - { name: w, tool: web }
        - name: spend
          persona_key: reader
          config:
            tools: [read]
            budgets: { model_calls: { limit: 1, on_exceeded: route, next_team: after } }
    after: { tasks: [{ name: g, tool: granted }] }
    errand: { tasks: [{ name: go, team: going }] }
    going:
      tasks:
        - { name: w2, tool: web }
        - { name: g, tool: granted, arguments: { path: "{{ context.query }}" } }
"""


def compiled(teams: str, head: str = HEAD) -> Compiled:
    text = head + indent(dedent(teams), " " * 4)
    return compile_sources([SourceText("t.yml", text)], CAPABILITIES, name="test")


def leaks(teams: str) -> list[Problem]:
    return [one for one in analysed(compiled(teams)).findings if one.code == "W521"]


def tasks(*steps: str) -> str:
    return f"a: {{ tasks: [{', '.join(steps)}] }}"


def call(tool: str, name: str = "", more: str = "") -> str:
    return f"{{ name: {name or tool}, tool: {tool}{more} }}"


def nested(tool: str, name: str = "") -> str:
    """A call of an agent or a team."""
    return call(tool, name, f", arguments: {{ query: {tool} }}")


def agent(persona: str, name: str = "work") -> str:
    return f"{{ name: {name}, persona_key: {persona} }}"


READ, WEB, SEND = call("read"), call("web"), call("send")
ASK = "{ name: ask, type: approval, prompt: Go on? }"
SILENT = "{ name: ask, type: approval, prompt: Go on?, deadline: 1h, on_timeout: approve }"
NEXT = "routing: { rules: [{ condition: all_success, next_team: b }], default: null }"
ANY = "routing: { default: b }"

SPENT = "budgets: { model_calls: { limit: 1, on_exceeded: route, next_team: b } }"
LATE = "{ name: late, type: approval, prompt: Go on?, deadline: 1h, on_timeout: b }"
SENDS = f"b: {{ tasks: [{SEND}] }}"


def spending(name: str = "work", more: str = "") -> str:
    """An agent that may use up a budget of its own."""
    config = f"config: {{ tools: [read], {SPENT} }}"
    return f"{{ name: {name}, persona_key: reader, {config}{more} }}"


UNSAFE = {
    "calls in order": tasks(READ, WEB, SEND),
    "the other order": tasks(WEB, READ, SEND),
    "one agent": tasks(agent("all")),
    "a search with what was read": tasks(agent("searching")),
    "an agent reads and another sends": tasks(agent("reader"), agent("sender", "then")),
    "an agent reads and a step sends": tasks(agent("reader"), SEND),
    "two steps read and an agent sends": tasks(READ, WEB, agent("sender")),
    "subagents": tasks(agent("orchestrator")),
    "an execution plan": tasks(agent("planned")),
    "the next team": f"a: {{ tasks: [{READ}, {WEB}], {NEXT} }}\nb: {{ tasks: [{SEND}] }}",
    "the next team after a failure": (
        f"a: {{ tasks: [{READ}, {WEB}], {ANY} }}\nb: {{ tasks: [{SEND}] }}"
    ),
    "a team that comes again": (
        f"a: {{ tasks: [{SEND}, {READ}, {WEB}], routing: {{ default: a }} }}"
    ),
    "a called team reads": tasks("{ name: r, team: reading }", SEND),
    "a called team sends": tasks(READ, WEB, "{ name: s, team: sending }"),
    "a team as a tool reads": tasks(
        "{ name: work, persona_key: sender, config: { tools: [reading, send] } }"
    ),
    "a loop": tasks(
        '{ name: l, type: loop, while: "{{ context.more }}", max_iterations: 3, '
        f"body: [{SEND}, {READ}, {WEB}] }}"
    ),
    "concurrent rounds": tasks(
        "{ name: l, type: loop, iterate_on: [1, 2], loop_variable: i, concurrency: 2, "
        f"body: [{SEND}, {READ}, {WEB}] }}"
    ),
    "one branch or another": tasks(
        f'{{ name: c, type: branch, branches: [{{ condition: "{{{{ context.x }}}}", '
        f"steps: [{READ}] }}], otherwise: [{call('read', 'read2')}] }}",
        WEB,
        SEND,
    ),
    "concurrent branches": tasks(
        f"{{ name: p, type: parallel, branches: {{ one: [{READ}, {SEND}], two: [{WEB}] }} }}"
    ),
    "a branch that was asked before others read": tasks(
        f"{{ name: p, type: parallel, branches: {{ one: [{READ}, {WEB}, {ASK}, {SEND}], "
        f"two: [{agent('reader')}] }} }}"
    ),
    "before concurrent branches": tasks(
        READ, f"{{ name: p, type: parallel, branches: {{ one: [{WEB}], two: [{SEND}] }} }}"
    ),
    "a fan-out": (
        f"a: {{ tasks: [{READ}], routing: {{ rules: [{{ condition: all_success, "
        "next_team: [b, c] }], default: null } }\n"
        f"b: {{ tasks: [{WEB}], routing: {{ default: d }} }}\n"
        f"c: {{ tasks: [{SEND}], routing: {{ default: d }} }}\n"
        "d: { type: concentrator }"
    ),
    "after a fan-out": (
        "a: { tasks: [{ name: s, values: { x: 1 } }], routing: { rules: [{ condition: all_success, "
        "next_team: [b, c] }], default: null } }\n"
        f"b: {{ tasks: [{WEB}], routing: {{ default: d }} }}\n"
        f"c: {{ tasks: [{READ}], routing: {{ default: d }} }}\n"
        f"d: {{ type: concentrator, tasks: [{SEND}] }}"
    ),
    "a fan-out to a team that has the name of its persona": (
        "a: { tasks: [{ name: s, values: { x: 1 } }], routing: { rules: [{ condition: all_success, "
        "next_team: [looking, b] }], default: null } }\n"
        f"looking: {{ tasks: [{agent('looking')}] }}\n{SENDS}"
    ),
    "a used-up budget of a team without routing": (
        f"a: {{ tasks: [{READ}, {WEB}, {agent('reader')}], {SPENT} }}\n{SENDS}"
    ),
    "a used-up budget of a task, in a team without routing": (
        f"a: {{ tasks: [{READ}, {WEB}, {spending()}] }}\n{SENDS}"
    ),
    "a used-up budget where every failure goes on": (
        f"a: {{ tasks: [{call('read', more=', on_failure: continue')}, "
        f"{call('web', more=', on_failure: continue')}, "
        f"{spending(more=', on_failure: continue')}], routing: {{ default: null }} }}\n{SENDS}"
    ),
    "a used-up budget in a team that a step runs": (
        f"a: {{ tasks: [{{ name: go, team: c }}, {ASK}] }}\n"
        f"c: {{ tasks: [{READ}, {WEB}, {spending()}, {ASK}] }}\n{SENDS}"
    ),
    "nobody decides in time, in a team without routing": (
        f"a: {{ tasks: [{READ}, {WEB}, {LATE}] }}\n{SENDS}"
    ),
    "nobody decides in time, in a block": (
        f"a: {{ tasks: [{{ name: t, type: try, steps: [{READ}, {WEB}, {LATE}], "
        f"catch: [{{ steps: [{{ name: s, values: {{ x: 1 }} }}] }}] }}] }}\n{SENDS}"
    ),
    "nobody decides in time about a call of a subagent": (
        f"a: {{ tasks: [{nested('patient')}], routing: {{ default: null }} }}"
    ),
    "a failure that is caught": tasks(
        f"{{ name: t, type: try, steps: [{READ}, {WEB}], catch: [{{ steps: [{SEND}] }}] }}"
    ),
    "a failure that no clause catches": (
        f"a: {{ tasks: [{{ name: t, type: try, steps: [{READ}, {WEB}], "
        "catch: [{ error: Timeout, steps: [] }] }], "
        f"routing: {{ rules: [{{ condition: any_failure, next_team: b }}], default: null }} }}\n"
        f"{SENDS}"
    ),
    "a failure that a team goes on from": (
        f"a: {{ tasks: [{READ}, {WEB}], "
        f"routing: {{ rules: [{{ condition: any_failure, next_team: b }}], default: null }} }}\n"
        f"{SENDS}"
    ),
    "what always runs": tasks(
        f"{{ name: t, type: try, steps: [{READ}, {WEB}], finally: [{SEND}] }}"
    ),
    "a step that goes on after failures": tasks(
        call("read", more=", on_failure: continue"), WEB, SEND
    ),
    "a retried block": tasks(
        f"{{ name: b, type: block, retry: {{ retries: 1 }}, steps: [{SEND}, {READ}, {WEB}] }}"
    ),
    "a task graph": tasks(
        "{ name: g, type: task_graph, tasks: [{ id: 1 }, { id: 2 }], task_variable: t, "
        f"body: [{SEND}, {READ}, {WEB}] }}"
    ),
    "an approval that a condition skips": tasks(
        READ, WEB, ASK.replace("ask,", 'ask, when: "{{ context.x }}",'), SEND
    ),
    "an approval that silence gives": tasks(READ, WEB, SILENT, SEND),
    "an approval before the data": tasks(ASK, READ, WEB, SEND),
    "an approval between the data": tasks(READ, ASK, WEB, call("read", "again"), SEND),
    "an approval of some calls": tasks(READ, WEB, call("sometimes")),
    "an approval after the call": tasks(READ, WEB, call("afterwards")),
    "an approval of the call that silence gives": tasks(READ, WEB, call("silent")),
    "an approval that does not show the call": tasks(READ, WEB, call("shown")),
    "an approval in each of several branches": tasks(
        READ,
        WEB,
        f"{{ name: p, type: parallel, branches: {{ one: [{ASK}], "
        f"two: [{ASK.replace('ask', 'ask2')}] }} }}",
        SEND,
    ),
    "an approval of the agent alone": tasks(
        "{ name: work, persona_key: all, requires_approval: true }"
    ),
    "a tool that a template names": tasks(READ, WEB, '{ name: any, tool: "{{ context.tool }}" }'),
    "a persona that a template names": tasks(
        '{ name: any, persona_key: "{{ context.who }}", personas: [careful, all] }'
    ),
    "a handoff": (
        f"a: {{ tasks: [{{ name: work, persona_key: reader, config: {{ handoffs: [b] }} }}] }}\n"
        f"b: {{ tasks: [{SEND}] }}"
    ),
    "a grant that the agent around it lacks": tasks(READ, WEB, nested("plain")),
    "another grant around it": tasks(READ, WEB, nested("other")),
    "a grant that an outer agent lacks": tasks(READ, WEB, nested("lacking")),
    "a grant that an inner agent lacks": tasks(READ, WEB, nested("outer")),
    "a grant that a team around it lacks": tasks(READ, nested("errand")),
    "a clean-up": (f"a: {{ tasks: [{READ}, {WEB}], on_cancel: b }}\nb: {{ tasks: [{SEND}] }}"),
}

SAFE = {
    "nothing private": tasks(WEB, SEND),
    "nothing from others": tasks(READ, SEND),
    "nothing sent": tasks(READ, WEB),
    "sent before": tasks(SEND, READ, WEB),
    "asked before each call": tasks(READ, WEB, call("asked")),
    "an agent that asks": tasks(agent("careful")),
    "an agent with private data alone": tasks(agent("private")),
    "an agent with public data alone": tasks(agent("public")),
    "calls that are only returned": tasks(agent("returning")),
    "one search with what was read": tasks(READ, call("search")),
    "a grant of the document": tasks(READ, WEB, call("granted")),
    "a grant of an agent that a step runs": tasks(READ, WEB, agent("deep")),
    "a grant that the agent around it grants": tasks(READ, WEB, nested("granting")),
    "a grant that a team around it grants": tasks(READ, nested("trusted_errand")),
    "a grant of a team that a step runs": tasks(READ, "{ name: t, team: errand }"),
    "a person between": tasks(READ, WEB, ASK, SEND),
    "all branches are needed, and the only one returns": tasks(
        f"{{ name: p, type: parallel, branches: {{ x: [{READ}, {WEB}, "
        "{ name: end, type: return }] } }",
        SEND,
    ),
    "nobody decides in time, before others read": (
        f"a: {{ tasks: [{LATE}, {READ}, {WEB}] }}\n{SENDS}"
    ),
    "a budget is used up before text of others comes": (
        f"a: {{ tasks: [{READ}, {spending()}] }}\n{SENDS}"
    ),
    "a used-up budget sends the run where a grant counts again": tasks(nested("inside", "go")),
    "a person between, in a called team": (
        f"a: {{ tasks: [{READ}, {WEB}, {{ name: t, team: b }}, {SEND}] }}\nb: {{ tasks: [{ASK}] }}"
    ),
    "a person refuses, and the run ends elsewhere": (
        f"a: {{ tasks: [{READ}, {WEB}, {ASK}], {NEXT} }}\nb: {{ tasks: [{SEND}] }}"
    ),
    "exclusive branches": tasks(
        READ,
        f'{{ name: c, type: branch, branches: [{{ condition: "{{{{ context.x }}}}", '
        f"steps: [{WEB}] }}], otherwise: [{SEND}] }}",
    ),
    "exclusive routes": (
        f"a: {{ tasks: [{READ}], routing: {{ rules: [{{ condition: all_success, next_team: b }}], "
        f"default: c }} }}\nb: {{ tasks: [{WEB}] }}\nc: {{ tasks: [{SEND}] }}"
    ),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_an_unsafe_plan_is_reported_with_its_path(name: str) -> None:
    found = leaks(UNSAFE[name])
    assert found
    for one in found:
        assert "'read' in " in one.message
        assert one.line > 0


@pytest.mark.parametrize("name", SAFE)
def test_a_safe_plan_raises_no_alarm(name: str) -> None:
    assert leaks(SAFE[name]) == []


def test_what_the_function_of_a_hook_brings_counts_at_every_call() -> None:
    functions = {
        **CAPABILITIES.functions,
        "Web.look": CAPABILITIES.functions["Files.read"].model_copy(
            update={"name": "Web.look", "labels": ("untrusted",)}
        ),
    }
    hooks = "{ on: before_turn, skill: Web.look, input: {}, decide: '{{ check.how }}' }"
    head = HEAD.replace("  teams:\n", f"  hooks: [{hooks}]\n  teams:\n")
    text = head + indent(tasks(agent("private")), " " * 4)
    capabilities = CAPABILITIES.model_copy(update={"functions": functions})
    done = compile_sources([SourceText("t.yml", text)], capabilities, name="test")
    (found,) = [one for one in analysed(done).findings if one.code == "W521"]
    assert "'Web.look' in the hook 'before_turn-1' returns text that others wrote" in found.message


def test_a_leak_is_reported_where_its_model_gets_the_tool() -> None:
    (found,) = leaks(tasks(agent("all")))
    assert found.path == "llm_config.personas.all.tools[2]"
    assert found.message == (
        "a/work can send private data out because of text that others wrote, so its run asks "
        "a person: 'read' in a/work returns private data, 'web' in a/work returns text that "
        "others wrote, and 'send' sends data out"
    )


class Event(NamedTuple):
    """What happens on a path."""

    step: str
    tool: str
    """What it calls; `ask` is a person."""
    counts: bool = True
    """Whether a grant of the tool counts."""


Events = tuple[Event, ...]
_TOOLS = ("read", "web", "send", "search", "asked", "granted")
_BROUGHT = {"read": {"private"}, "web": {"untrusted"}, "search": {"untrusted"}}
_AGENTS = {
    "plain": ("web", "granted"),
    "granting": ("web", "granted"),
    "other": ("web", "granted"),
    "outer": ("plain", "granting"),
    "lacking": ("plain", "granting"),
}
"""What the agents of these tools may call."""
_TEAMS = ("errand", "trusted_errand")
NESTING = (*_AGENTS, *_TEAMS)
_PRIVATE = ("granting", "outer", "trusted_errand")
"""The tools that pass on the grant of `granted`."""


def events_of(step: str, tool: str, *around: str) -> list[Events]:
    """What may happen in one call of a tool: of agents and teams nothing, or the most.

    An agent that does less meets less, and what it sends then is no news.
    """
    if tool in _TEAMS:
        counts = grant_counts((*around, tool))
        return [(), (Event("w2", "web"), Event("g", "granted", counts))]
    if tool not in _AGENTS:
        return [(Event(step, tool, grant_counts(around)),)]
    inner = [events_of(step, one, *around, tool)[-1] for one in _AGENTS[tool]]
    return [(), sum(inner, ())]


class Generated:
    """A team of random steps, with every path through it: the search that needs no analysis."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.number = 0
        self.cut = False
        """Whether the search leaves out paths, or the analysis may warn of too much: a person in
        one branch clears what concurrent ones bring at any time."""

    def steps(self, depth: int) -> tuple[str, list[Events]]:
        made = [self.step(depth) for _ in range(self.random.randint(1, 3))]
        paths = (sum(one, ()) for one in product(*(paths for _, paths in made)))
        return f"[{', '.join(text for text, _ in made)}]", self.first(paths, 20_000)

    def first(self, paths: Iterable[Events], most: int) -> list[Events]:
        found = list(islice(paths, most + 1))
        self.cut = self.cut or len(found) > most
        return found[:most]

    def step(self, depth: int) -> tuple[str, list[Events]]:
        self.number += 1
        name = f"s{self.number}"
        kinds = ["call"] * 6 + ["ask", "maybe", "agent", "nested"]
        kind = self.random.choice(kinds + ["branch", "loop", "parallel"] * depth)
        tool = self.random.choice(_TOOLS)
        match kind:
            case "call":
                return call(tool, name), events_of(name, tool)
            case "nested":
                tool = self.random.choice(NESTING)
                return nested(tool, name), events_of(name, tool)
            case "ask":
                return ASK.replace("name: ask", f"name: {name}"), [(Event(name, "ask"),)]
            case "maybe":
                text = call(tool, name, ', when: "{{ context.x }}"')
                return text, [(), *events_of(name, tool)]
            case "agent":
                some = (*_TOOLS[:5], self.random.choice(NESTING))
                offered = sorted(self.random.sample(some, self.random.randint(1, 3)))
                names = ", ".join(offered)
                text = f"{{ name: {name}, persona_key: all, config: {{ tools: [{names}] }} }}"
                once = [one for tool in offered for one in events_of(name, tool)]
                once = list(dict.fromkeys(once))
                several = [sum(one, ()) for n in range(4) for one in product(once, repeat=n)]
                return text, several
            case "loop":
                body, paths = self.steps(0)
                text = (
                    f'{{ name: {name}, type: loop, while: "{{{{ context.x }}}}", '
                    f"max_iterations: 3, body: {body} }}"
                )
                paths = self.first(paths, 12)
                rounds = (sum(one, ()) for n in range(4) for one in product(paths, repeat=n))
                return text, self.first(rounds, 2_000)
            case "branch":
                (one, first), (two, second) = self.steps(0), self.steps(0)
                text = (
                    f'{{ name: {name}, type: branch, branches: [{{ condition: "{{{{ context.x }}}}"'
                    f", steps: {one} }}], otherwise: {two} }}"
                )
                return text, [*first, *second]
            case _:
                (one, first), (two, second) = self.steps(0), self.steps(0)
                text = f"{{ name: {name}, type: parallel, branches: {{ x: {one}, y: {two} }} }}"
                self.cut = self.cut or "approval" in one + two
                mixed = (
                    m
                    for a in self.first(first, 8)
                    for b in self.first(second, 8)
                    for m in interleaved(a, b)
                )
                return text, self.first(mixed, 2_000)


def interleaved(one: Events, other: Events) -> Iterator[Events]:
    if not one or not other:
        yield one + other
        return
    yield from ((one[0], *rest) for rest in interleaved(one[1:], other))
    yield from ((other[0], *rest) for rest in interleaved(one, other[1:]))


def leaking(path: Events) -> set[tuple[str, str]]:
    """The steps of one path that send what they must not, each with what it calls."""
    met: set[str] = set()
    found: set[tuple[str, str]] = set()
    for step, tool, counts in path:
        if tool == "ask":
            met = set()
        sends = tool in ("send", "search") or (tool == "granted" and not counts)
        if sends and met == {"private", "untrusted"}:
            found.add((step, tool))
        met |= _BROUGHT.get(tool, set())
    return found


def grant_counts(around: Iterable[str]) -> bool:
    """Whether the grant of `granted` counts within these tools."""
    return all(one in _PRIVATE for one in around)


def reported(found: list[Problem]) -> set[tuple[str, str]]:
    """The steps that these problems are about, each with what it calls."""
    shown: set[tuple[str, str]] = set()
    for one in found:
        place, _, rest = one.message.partition(" can ")
        step = next(part for part in reversed(place.split("/")) if part not in NESTING)
        shown.add((step, rest.rpartition(" sends data out")[0].rpartition(" and ")[2].strip("'")))
    return shown


def test_the_analysis_agrees_with_a_search_of_every_path() -> None:
    leaky = searched = narrowed = 0
    for seed in range(PLANS):
        generated = Generated(seed)
        steps, paths = generated.steps(1)
        wanted = {one for path in paths for one in leaking(path)}
        shown = reported(leaks(f"a: {{ tasks: {steps} }}"))
        assert wanted <= shown, steps
        if not generated.cut:
            assert shown == wanted, steps
            searched += 1
        leaky += bool(wanted)
        narrowed += "granted" in {tool for _, tool in wanted}
    assert leaky > PLANS / 10
    assert narrowed > 0.03 * PLANS
    assert searched > PLANS / 2


def test_an_agent_that_a_template_may_call_again_is_analysed() -> None:
    steps = [f'{{ name: {name}, tool: "{{{{ context.{name} }}}}" }}' for name in ("one", "two")]
    own = ", ".join(steps)
    head = HEAD.replace(
        "    planned:\n", f"    circling: {{ execution_plan: [{own}] }}\n    planned:\n"
    )
    head = head.replace("  plain:", "  circle: { agent: circling, description: Works. }\n  plain:")
    done = compiled(tasks(nested("circle")), head)
    found = analysed(done)
    tools = {tool for _, tool in reported([one for one in found.findings if one.code == "W521"])}
    assert {"send", "search", "granted"} <= tools
    total = worst_case(done, found, Terms({}, 0)).total
    assert total.function_calls == inf
