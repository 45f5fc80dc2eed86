"""What random documents ask and say: conditions in all forms, templates, values."""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import strategies as st
from pydantic import JsonValue

from coterie.dsl.evaluate.operator_table import OPERATORS
from coterie.dsl.values import Json

T = TypeVar("T")

_PATHS = ("n", "text", "list", "none", "deep.a.b", "deep", "items", "missing", "set.by.rule")
_EXPRESSIONS = (
    "context.n",
    "context.text",
    "context.list",
    "context.deep.a",
    "context.missing",
    "context.missing | default('none')",
    "context.n + 1",
    "context.n > 1",
    "context.list | length",
    "context.items | first",
    "1 / 0",
    "context.text.upper()",
    "context.list * 3",
    "run.visit",
    "run.teams_run < 4",
    "routing.reason",
    "routing.from",
    "not context.flag",
    "context.deep | tojson",
    "[context.n, context.text]",
    "{'a': context.n}",
    "context['text']",
    "range(context.n) | list",
    "context.text ~ '{{ not a template }}'",
    "context.list | map('string') | join(', ')",
)
_VALUES: tuple[JsonValue, ...] = (
    0,
    1,
    2.5,
    True,
    False,
    None,
    "PASS",
    "",
    "x",
    [],
    [1, "x"],
    {},
    {"k": 3},
    ["x"],
    [0, 3],
    "string",
)


class LimitQuestion:
    """Draws; remembers which steps and variables there are to ask about."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self.in_plan = False
        self.named: list[str] = []
        self.free: list[str] = []
        """Those of them whose data may have any form."""
        """The steps of this team or plan so far."""
        self.variables: list[str] = []

    def one(self, options: Sequence[T]) -> T:
        """One of them; the first is the simplest."""
        return options[self._draw(st.integers(0, len(options) - 1))]

    def chance(self, percent: int) -> bool:
        """Whether something rare happens; it does not in the simplest case."""
        return self._draw(st.integers(0, 99)) >= 100 - percent

    def count(self, least: int, most: int) -> int:
        """How many."""
        return self._draw(st.integers(least, most))

    def condition(self, depth: int) -> JsonValue:
        """A condition in one of its forms."""
        forms = ["context", "outcome", "expression", "plain", "simple"]
        forms += ["status"] if self.named else []
        forms += ["output"] if self.free else []
        forms += ["join", "not", "list", "or"] if depth > 0 else []
        match self.one(forms):
            case "context":
                return {"context_field": self.one(_PATHS), **self._test()}
            case "outcome":
                return self.one(("all_success", "any_success", "any_failure", "all_failure"))
            case "expression":
                return "{{ " + self.expression() + " }}"
            case "plain":
                return {self.one(("n", "text", "v0")): self.one(_VALUES)}
            case "simple":
                field = self.one(("n", "deep.a", "v0.k"))
                return {"type": "simple", "field": field, **self._test()}
            case "status":
                status = self.one(("success", "failure", "skipped"))
                return {"task": self.one(self.named), "status": status}
            case "output":
                field = self.one(("text", "n", ""))
                return {"task": self.one(self.free), "output_field": field, **self._test()}
            case joined:
                return self._joined(joined, depth - 1)

    def _joined(self, form: str, depth: int) -> JsonValue:
        one = self.condition(depth)
        match form:
            case "join":
                return {self.one(("and", "or")): [one, self.condition(depth)]}
            case "not":
                return {"not": one}
            case "or":
                return {"type": "or", "conditions": [one]}
            case _:
                return [one, self.condition(depth)]

    def _test(self) -> Json:
        operator = self.one(("equals", "eq", ">", *OPERATORS))
        fitting: dict[str, JsonValue] = {
            "in_range": [0, 3],
            "is_type": "string",
            "has_length": 2,
            "min_length": 1,
            "max_length": 9,
            "matches": "^P",
            "contains_any": ["x", 1],
            "contains_all": ["x"],
            "exists": True,
            "is_empty": True,
            "is_null": False,
            "starts_with": "P",
            "ends_with": "S",
            "in": [1, "PASS"],
            "greater_than": 1,
            "less_than": 3,
            "greater_or_equal": 2,
            "less_or_equal": "x",
            ">": 1,
        }
        value = self.one(_VALUES) if self.chance(4) else fitting.get(operator, self.one(_VALUES))
        return {"operator": operator, "value": value}

    def expression(self) -> str:
        """The inside of a template."""
        options = list(_EXPRESSIONS)
        if self.variables:
            name = self.one(self.variables)
            options += [name, f"{name} | default(0)", f"{name}.k", f"{name}[0]"] * 3
        if self.named:
            task = self.one(self.named)
            options += [
                f"tasks.{task}.data",
                f"tasks.{task}.success",
                f"tasks.{task}.error.type",
            ] * 2
        if self.free:
            options += [f"tasks.{self.one(self.free)}.data.text | default('-')"] * 2
        if self.in_plan:
            options += ["input", "input.x"]
        return self.one(options)

    def text(self) -> str:
        """A text, perhaps with a template in it."""
        return "so" if self.chance(40) else f"so {{{{ {self.expression()} }}}} it is"

    def value(self) -> JsonValue:
        """A value, perhaps made by a template."""
        match self.count(0, 3):
            case 0:
                return self.one(_VALUES)
            case 1:
                return "{{ " + self.expression() + " }}"
            case 2:
                return self.text()
            case _:
                return {"a": "{{ " + self.expression() + " }}", "b": [self.one(_VALUES)]}
