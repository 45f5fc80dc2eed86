"""Random documents: teams and plans of steps of every kind, with routes, limits and templates.

Most of them make sense; some name what is not there or ask what cannot be.
"""

from collections.abc import Callable, Iterator
from typing import cast

import yaml
from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.values import Json
from tests.support.documents.generated_asking import LimitQuestion

CONTEXT: Json = {
    "n": 2,
    "text": "PASS",
    "list": [1, "two", {"k": 3}],
    "none": None,
    "deep": {"a": {"b": 1}},
    "items": ["x", "y"],
    "flag": True,
}
"""What every generated run begins with."""
TOOL_FUNCTIONS = ("Discovery.collect", "CommandRunner.run", "AssetManager.process_action")
SIGNALS = ("go", "stop")


def _set_in(part: JsonValue) -> Iterator[str]:
    """The variables that steps set, anywhere in a part of a document."""
    match part:
        case list():
            for one in part:
                yield from _set_in(one)
        case dict():
            yield from (
                str(part[key]) for key in ("output_variable", "loop_variable") if key in part
            )
            if part.get("catch"):
                yield "error"
            values = part.get("values")
            if isinstance(values, dict):
                yield from values
            for one in part.values():
                yield from _set_in(one)
        case _:
            pass


class Pen(LimitQuestion):
    """Writes one document; remembers what there is to name."""

    def __init__(self, draw: st.DrawFn, *, attended: bool) -> None:
        super().__init__(draw)
        self._attended = attended
        self._numbers = 0
        self.teams: list[str] = []
        self.texts: list[str] = []
        """Personas that are asked."""
        self.plans: list[str] = []
        """Personas that follow a plan."""

    def document(self) -> Json:
        """The whole of it."""
        self.teams = [f"t{number}" for number in range(self.count(1, 4))]
        personas: Json = {}
        for number in range(self.count(1, 2)):
            self.texts.append(f"p{number}")
            personas[f"p{number}"] = self._persona()
        for number in range(self.count(0, 2)):
            personas[f"q{number}"] = {"execution_plan": self._plan()}
            self.plans.append(f"q{number}")  # a plan may follow the plans before it
        orchestration: Json = {
            "entry_team": self.teams[0],
            "teams": {name: self._team() for name in self.teams},
            "max_total_teams": self.count(1, 6),
            "max_recursion_depth": self.count(1, 3),
        }
        if self.chance(30):
            ways = ("ignore", "fail", "ask") if self._attended else ("ignore", "fail")
            orchestration["no_progress"] = self.one(ways)
        tools: Json = {"look": {"skill": TOOL_FUNCTIONS[0], "fixed": {"path": "."}}}
        llm: Json = {"default_provider": "scripted", "default_model": "demo", "personas": personas}
        return {"llm_config": llm, "orchestration": orchestration, "tools": tools}

    def _persona(self) -> Json:
        persona: Json = {"prompts": {"user": f"Say {self.text()}"}}
        if self.chance(40):
            persona["output_schema"] = {
                "type": "object",
                "properties": {"status": {"type": "string"}, "n": {}},
            }
        if self.chance(15):
            persona["prompts"] = {
                "one": "Say it.",
                "two": "{% for i in range(3) %}{{ i }}{% endfor %}",
            }
        if self.chance(10):
            persona["prompt_syntax"] = "braces"
        return persona

    def _plan(self) -> list[JsonValue]:
        self.in_plan, self.named, self.free, self.variables = True, [], [], []
        try:
            return self.steps(2)
        finally:
            self.in_plan = False

    def _team(self) -> Json:
        self.named, self.free, self.variables = [], [], []
        kind = self.one(("standard",) * 5 + ("loop", "approval", "concentrator"))
        team: Json = {"tasks": self.steps(2)}
        if self.chance(5):
            kind = self._with_conversation(kind, team)
        if kind != "standard":
            team["type"] = kind
        match kind:
            case "loop":
                team["loop"] = self._loop()
            case "approval":
                team["approval"] = self._approval()
            case "concentrator" if self.chance(70):
                team["collect"] = self._collect()
            case _:
                pass
        if self.chance(75):
            team["routing"] = self._routing()
        if self.chance(15):
            team["stop_on_failure"] = False
        if self.chance(15):
            team["max_recursion_depth"] = self.count(1, 3)
        return team

    def _with_conversation(self, kind: str, team: Json) -> str:
        """Let the team talk: as its type, or by its first steps. Return the type."""
        if kind == "standard" and self.chance(50):
            team["chat"] = self._chat()
            return "chat"
        team["tasks"] = [*self._conversation(), *cast("list[JsonValue]", team["tasks"])]
        return kind

    def _chat(self) -> Json:
        made: Json = {"persona_key": self.one(self.texts)} if self.chance(60) else {}
        if not made or self.chance(30):
            made["reply"] = self.value()
        if "persona_key" in made and self.chance(30):
            made |= {"conversation_turns": self.count(1, 5), "conversation_characters": 500}
        if self.chance(40):
            made["schema"] = {"type": "string"}
        if self.chance(40):
            made["deadline"] = "8h"
        if self.chance(40):
            made["until"] = self.condition(1)
        return made

    def _collect(self) -> Json:
        made: Json = {"aggregate": self.one(("list", "merge_dict", TOOL_FUNCTIONS[0]))}
        if self.chance(40):
            made["count"] = self.count(1, 3)
        if self.chance(30):
            made["timeout"] = self.one((60, "90s"))
        if self.chance(20):
            made["signal"] = self.one(SIGNALS)
        return made

    def _routing(self) -> Json:
        routing: Json = {"rules": [self._rule() for _ in range(self.count(0, 3))]}
        if self.chance(60):
            routing["default"] = self.one((None, *self.teams))
        if self.chance(15):
            routing["context_updates"] = self._updates()
        return routing

    def _rule(self) -> Json:
        rule: Json = {"next_team": self.one((None, *self.teams, "none"))}
        if self.chance(85):
            rule["condition"] = self.condition(2)
        if self.chance(20) and len(self.teams) > 1:
            rule["next_team"] = cast("JsonValue", self.teams[-self.count(1, len(self.teams)) :])
            if self.chance(60):
                rule["merge"] = {
                    path: self.one(("extend", "merge", "replace"))
                    for path in ("set", "n", "set.by")
                }
            if self.chance(10):
                rule["concentrator"] = self.one(self.teams)
        if self.chance(50):
            rule["context_updates"] = self._updates()
        return rule

    def _updates(self) -> Json:
        places = ("set.by.rule", "n", "text", "set", "list", "fresh")
        return {self.one(places): self.value() for _ in range(self.count(1, 2))}

    def steps(self, depth: int) -> list[JsonValue]:
        """A list of steps, with as many blocks in blocks as the depth allows."""
        return [self._step(depth) for _ in range(self.count(1, 3 if depth == 2 else 2))]

    def _step(self, depth: int) -> Json:
        makers: list[Callable[[int], Json]] = [
            self._set,
            self._agent,
            self._set,
            self._agent,
            self._return,
            self._fail,
            self._wait,
            self._approval_step,
            self._team_step,
        ]
        if self.in_plan:
            makers += [self._function, self._tool]
        if depth > 0:
            makers += [self._loop_step, self._branch, self._parallel, self._try, self._block] * 2
            makers += [self._graph]
        made = self.one(makers)(depth - 1)
        self._numbers += 1
        step: Json = {"name": f"s{self._numbers}", **made}
        if self.chance(20):
            step["when"] = self.condition(1)
        kind = made.get("type")
        has_result = kind not in ("return", "fail")
        takes_time = has_result and kind not in ("set", "reply")
        if self.chance(20) and has_result:
            step["output_variable"] = self._variable()
        if self.chance(15):
            step["on_failure"] = self.one(("continue", "stop"))
        # A call of a tool ends within ten minutes.
        if "tool" not in made and takes_time and self.chance(15):
            step["timeout"] = self._length(30, "1h", 0.5)
        if has_result and kind != "reply" and self.chance(15):
            step["retry"] = {"retries": self._bound(0, 2), "interval": self.one((0, "10s"))}
        if has_result and self.chance(10):
            own = ("{{ seconds > 30 }}", "{{ data is none }}", self.condition(1))
            step["fail_when"] = self.one(own)
        self.named.append(f"s{self._numbers}")
        if "agent_type" in made or made.get("type") in ("set", "try"):
            self.free.append(f"s{self._numbers}")
        return step

    def _bound(self, low: int, high: int) -> JsonValue:
        """A number, or a template for one, which may be above its maximum, or none."""
        number = self.count(low, high)
        if not self.chance(15):
            return number
        text = self.one((f"{{{{ {number} }}}}", "{{ context.n }}", "{{ context.text }}"))
        return {"value": text, "maximum": max(high, 1)}

    def _length(self, *lengths: str | float) -> JsonValue:
        """A duration, or a template for one."""
        if not self.chance(15):
            return self.one(lengths)
        text = self.one(("{{ context.n }}m", "{{ context.n }}", "{{ context.text }}"))
        return {"value": text, "maximum": "1d"}

    def _variable(self) -> str:
        name = self.one(("v0", "v1", "v2"))
        self.variables.append(name)
        return name

    def _set(self, _: int) -> Json:
        return {"type": "set", "values": {self._variable(): self.value()}}

    def _agent(self, _: int) -> Json:
        step: Json = {"agent_type": "generic_single_shot", "persona_key": self.one(self.texts)}
        if self.plans and self.chance(40):
            step = {"agent_type": "generic_orchestrating", "persona_key": self.one(self.plans)}
        if self.chance(5):
            known = self.plans if step["agent_type"] == "generic_orchestrating" else self.texts
            listed = known if self.chance(50) else [step["persona_key"]]
            step |= {"persona_key": f"{{{{ '{self.one(known)}' }}}}", "personas": [*listed]}
        if self.chance(50):
            step["input"] = {"x": self.value()}
        if self._attended and self.chance(10):
            step["requires_approval"] = self.one((True, "before", "after"))
        if self.chance(10):
            step["config"] = {"temperature": 0}
        return step

    def _function(self, _: int) -> Json:
        given = self.value() if self.chance(25) else "{{ context.n }}"
        return {"skill": self.one(TOOL_FUNCTIONS), "input": given}

    def _tool(self, _: int) -> Json:
        if self.chance(50):
            return {"tool": "look"}
        return {"tool": "{{ context.text }}", "arguments": {"x": self.value()}}

    def _return(self, _: int) -> Json:
        return {"type": "return", "value": self.value()}

    def _fail(self, _: int) -> Json:
        return {"type": "fail", "message": self.text(), "error": self.one(("Failed", "Unsure"))}

    def _team_step(self, _: int) -> Json:
        step: Json = {"type": "team", "team": self.one(self.teams)}
        if self.chance(40):
            step["input"] = {"x": self.value()}
        return step

    def _wait(self, _: int) -> Json:
        match self.one(("duration", "signal", "time")):
            case "duration":
                length = self.one((1, "2d", "{{ context.n }}", "{{ context.text }}", 0))
                return {"type": "wait", "duration": length}
            case "time":
                return {"type": "wait", "time": self.one(("2030-01-31", "{{ context.text }}"))}
            case _:
                wait: Json = {"type": "wait", "signal": self.one(SIGNALS)}
                if not self._attended or self.chance(50):
                    wait["deadline"] = self._length("1h")
                return wait

    def _conversation(self) -> Iterator[Json]:
        """A wait for a message, and its reply."""
        wait: Json = {"name": "next", "type": "wait", "message": True, "deadline": "1h"}
        if self.chance(50):
            wait["schema"] = {"type": "string"}
        yield wait
        yield {"name": "say", "type": "reply", "value": self.value()}

    def _approval(self) -> Json:
        approval: Json = {"prompt": self.text()}
        if self.chance(50):
            approval["show"] = self.value()
        if not self._attended or self.chance(50):
            approval["deadline"] = self._length("3d")
            approval["on_timeout"] = self.one(("reject", "approve", "fail"))
        return approval

    def _approval_step(self, _: int) -> Json:
        return {"type": "approval", **self._approval()}

    def _loop(self) -> Json:
        loop: Json = {}
        match self.one(("over", "while", "until", "both")):
            case "while":
                loop |= {"while": self.condition(1), "max_iterations": self._bound(1, 3)}
            case "until":
                loop |= {"until": self.condition(1), "max_iterations": self._bound(1, 3)}
            case over:
                lists: list[JsonValue] = ["{{ context.list }}", [1, 2], "{{ context.items }}", []]
                lists.append("{{ context.text }}")
                loop |= {"iterate_on": self.one(lists), "loop_variable": "v0"}
                self.variables.append("v0")
                if over == "both":
                    loop["while"] = self.condition(1)
                elif self.chance(25):
                    loop["concurrency"] = self._bound(2, 2)
                if self.chance(25):
                    loop["max_iterations"] = self._bound(1, 3)
        if "concurrency" not in loop and self.chance(20):
            loop["break_when"] = self.condition(1)
        return loop

    def _loop_step(self, depth: int) -> Json:
        return {"type": "loop", **self._loop(), "body": self.steps(depth)}

    def _branch(self, depth: int) -> Json:
        ways: list[JsonValue] = [
            {"condition": self.condition(1), "steps": self.steps(depth)}
            for _ in range(self.count(1, 2))
        ]
        step: Json = {"type": "branch", "branches": ways}
        if self.chance(50):
            step["otherwise"] = self.steps(depth)
        return step

    def _parallel(self, depth: int) -> Json:
        ways: Json = {f"w{number}": self.steps(depth) for number in range(self.count(1, 3))}
        join = self.one(("all", "any", 1, "fallback", "best", "{{ context.text }}"))
        step: Json = {"type": "parallel", "branches": ways, "join": join}
        if self.chance(20):
            step["only"] = self.one((["w0"], "{{ context.list }}"))
        if join == "best" and self.chance(50):
            step["branches"] = {
                name: {"steps": steps, "score": self.one((1, "{{ seconds }}", "{{ data }}"))}
                for name, steps in ways.items()
            }
        has_losers = join not in ("fallback", "best")
        if has_losers and self.chance(30):
            step["losers"] = "finish"
        if has_losers and self.chance(60):
            names = sorted(set(_set_in(ways)))
            if self.chance(5):  # one that no way sets
                names.append("nobody_sets_this")
            step["merge"] = {name: self.one(("replace", "extend", "merge")) for name in names}
        return step

    def _graph(self, depth: int) -> Json:
        self._numbers += 1
        written: list[JsonValue] = [{"id": "a", "dependencies": ["b"]}, {"id": "b"}, {"id": "c"}]
        step: Json = {
            "type": "task_graph",
            "tasks": self.one((written, "{{ context.list }}", "{{ context.text }}")),
            "task_variable": f"g{self._numbers}",
            "max_iterations": self._bound(1, 4),
            "concurrency": self._bound(1, 2),
            "task_retries": self._bound(0, 1),
            "order": self.one(("written", "critical_path")),
        }
        if self.chance(30):
            step |= {"select": self.steps(depth), "chosen": "{{ context.text }}"}
        step["body"] = self.steps(depth)
        if self.chance(30):
            step["add"] = "{{ context.list }}"
        ways = ("block", "skip", "stop", "ask") if self._attended else ("block", "skip", "stop")
        if self.chance(70):
            step["on_failed_task"] = self.one(ways) if self.chance(70) else self.steps(depth)
        return step

    def _try(self, depth: int) -> Json:
        step: Json = {"type": "try", "steps": self.steps(depth)}
        if self.chance(70):
            step["catch"] = [
                {
                    "error": self.one(("*", "Unsure", ["Failed", "FunctionFailed"])),
                    "steps": self.steps(depth),
                }
            ]
        if "catch" not in step or self.chance(30):
            step["finally"] = self.steps(depth)
        return step

    def _block(self, depth: int) -> Json:
        return {"type": "block", "steps": self.steps(depth)}


def written(document: Json) -> str:
    """The document as YAML."""
    return yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True)


@st.composite
def documents(draw: st.DrawFn, *, attended: bool = True) -> Json:
    """A document; where nobody attends to it, every wait for somebody has a deadline."""
    return Pen(draw, attended=attended).document()
