"""The language on a few pages, for models that write teams: made from the schemas of documents."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, cast, get_args

from coterie.dsl.evaluate.operator_table import OPERATORS
from coterie.dsl.values import Json, JsonValue
from coterie.evals.document_schemas import DocumentKind, schema_of

_EXAMPLE: Final = """\
# config/teams/review.yml
llm_config:
  default_provider: anthropic
  default_model: claude-sonnet-5-5
  personas:
    author: { prompts: { user: "Write one sentence about {{ input.topic }}. {{ input.advice }}" } }
    critic:
      prompts: { user: "Is this sentence good? {{ input.text }}" }
      output_schema: # the model must answer so; then `data` has these fields, else only `text`
        type: object
        required: [verdict]
        properties: { verdict: { enum: [PASS, FAIL] }, advice: { type: string } }
orchestration:
  entry_team: write
  context: # the inputs and the shared state: JSON Schema; a path without `default` must be given
    topic: { type: string }
    advice: { type: string, default: "" }
  output: "{{ teams.write.tasks.draft.text }}"
  teams:
    write:
      tasks:
        - { name: draft, type: agent, persona_key: author,
            input: { topic: "{{ context.topic }}", advice: "{{ context.advice }}" } }
      routing: { default: check }
    check:
      max_recursion_depth: 3
      tasks:
        - { name: judge, type: agent, persona_key: critic,
            input: { text: "{{ teams.write.tasks.draft.text }}" } }
        - { name: sign, type: approval, prompt: "Publish?", deadline: 3d,
            show: "{{ tasks.judge.data }}",
            when: { task: judge, output_field: verdict, operator: equals, value: PASS } }
      routing: # the first rule that holds decides; `null` ends the run
        rules:
          - condition: { task: judge, output_field: verdict, operator: equals, value: FAIL }
            next_team: write
            context_updates: { advice: "{{ tasks.judge.data.advice }}" }
        default: null
"""
_TEST: Final = """\
# config/teams/review.test.yml: no model is called, and time is virtual
context: { topic: rain }
answers:
  - { task: draft, answer: Rain falls. }
  - { task: judge, answer: { verdict: FAIL, advice: Say why. } }
  - { task: judge, visit: 2, answer: { verdict: PASS } }
cases:
  - name: a sentence is written again until it is good, and a person signs
    decisions: [{ approval: check/sign*, decision: approve }]
    expect: { path: [write, check, write, check], model_calls: 4 }
"""
_TOOLS: Final = """\
tools:
  read: { skill: Files.read }
  ask: { skill: Person.ask, requires_approval: { approvers: [ann], deadline: 2d } }
"""
EXAMPLES: Final[Mapping[str, str]] = {"team": _EXAMPLE, "test": _TEST, "tools": _TOOLS}

_RULES: Final = (
    "Write, then `validate`; repair what it names (each problem has line, column, code, allowed "
    "values, fix); then write a test with stub answers and run it; then `check` bounds the cost.",
    "`{{ ... }}` is a Jinja2 expression without clocks, randomness and `**`. Alone in a text it "
    "keeps its type. Roots: `context`, `tasks.NAME` and `teams.TEAM.tasks.NAME` (`status`, `data`, "
    "`text`, `error`), `input` (prompts), `run`, `settings`, variables, `error` (in a `catch`). A "
    "missing value fails; `default(x)` and `is defined` accept it. Only prompts take `{% %}`.",
    "A condition is a mapping (`task` with `status` or `output_field`, or `context_field`, each "
    "with `operator` and `value`), a list (all hold), `and`, `or`, `not`, an outcome "
    "(`all_success`, `any_success`, `any_failure`, `all_failure`), or one template.",
    "Names and not values: secrets are names of environment variables, and only the worker's "
    "`coterie.yml` configures commands, servers, addresses and keys. A document names them.",
    "Steps of a team run in order; a failure ends the run unless `on_failure` or routing says "
    "otherwise. A model's or person's text is data, and never becomes a template.",
    "`yes` and `on` are texts. Durations: seconds, or `90s`, `5m`, `2d`.",
)

_COMMON: Final = (
    *("name", "type", "description", "when", "fail_when", "output_variable", "on_failure"),
    *("timeout", "retry", "context_updates"),
)
_SECTIONS: Final[Mapping[str, str]] = {
    "SystemDocument": "the document",
    "LlmConfig": "llm_config",
    "PersonaDocument": "llm_config.personas.NAME",
    "Orchestration": "orchestration",
    "TeamDocument": "orchestration.teams.NAME",
    "RoutingDocument": "routing",
    "RuleDocument": "routing.rules[]",
    "Collect": "collect",
    "LoopSection": "loop",
    "ChatSection": "chat",
    "Retry": "retry",
    "Budgets": "budgets",
}
_TOOL_KINDS: Final = (
    *("FunctionToolSection", "McpToolSection", "ApiToolSection", "AgentToolSection"),
    "TeamToolSection",
)
_OLDER: Final = ("Older", "Legacy", "NameAlone")
_TERMS: Final = "ApprovalSection"
_TEST_SECTIONS: Final[Mapping[str, str]] = {
    "TestDocument": "the file",
    "CaseDocument": "cases[]",
    "ScriptedAnswer": "answers[]",
    "FunctionResultDocument": "tool functions[]",
    "DecisionDocument": "decisions[]",
    "ExpectDocument": "expect",
}
MAX_CHARACTERS: Final = 18_400
"""Below 6,000 tokens: a token has more than three characters of it."""
_MAX_WORDS: Final = 10
"""Of a description; as many as fit."""
_MAX_VALUES: Final = 8
_REFERENCE: Final = "#/$defs/"
_EXAMPLE_TITLES: Final = {
    "team": "A team",
    "test": "Its test",
    "tools": "Tools, which personas name in `tools: [read]` and steps in `tool: read`",
}


def language_card() -> str:
    """Return the card, as Markdown: with as many words for each key as fit."""
    document, test = schema_of("document"), schema_of("test")
    for words in range(_MAX_WORDS, 0, -1):
        card = "\n".join(_Card(document, test, words).lines()) + "\n"
        if len(card) <= MAX_CHARACTERS:
            return card
    raise AssertionError(f"no card has at most {MAX_CHARACTERS} characters")


class _Card:
    """A card with at most so many words for a key."""

    def __init__(self, document: Json, test: Json, words: int) -> None:
        self._document = document
        self._test = test
        self._words = words

    def lines(self) -> Iterator[str]:
        """Yield its lines."""
        yield "# Coterie: the language card"
        yield ""
        yield "Teams of LLM agents in YAML, compiled, then run as durable workflows."
        yield ""
        yield from (f"- {rule}" for rule in _RULES)
        for name, example in EXAMPLES.items():
            yield from ("", f"## {_EXAMPLE_TITLES[name]}", "", "```yaml", example.rstrip(), "```")
        document = self._document
        yield from ("", "## Keys", "", "`*` is required; `=x` is the default.", "")
        for name, place in _SECTIONS.items():
            yield from self._section(_definition(document, name), place)
        terms = _properties(_definition(document, _TERMS))
        yield from ("", "## Kinds of steps", "")
        yield f"Each has: {self._keys(_definition(document, 'SetStep'), only=_COMMON)}"
        yield ""
        approval = [name for name in terms if name not in ("prompt", "show")]
        for name in _step_names(document):
            skipped = (*_COMMON, *(approval if name != "ApprovalStep" else ()))
            yield from self._section(_definition(document, name), without=skipped)
        yield from ("", "## Kinds of tools", "")
        shared = _shared_keys(document)
        yield f"Each has: {self._keys(_definition(document, _TOOL_KINDS[0]), only=shared)}"
        yield ""
        for name in _TOOL_KINDS:
            yield from self._section(_definition(document, name), without=shared)
        yield from ("", "## Operators", "")
        yield ", ".join(f"`{name}`" for name in OPERATORS)
        yield from ("", "## Test files", "")
        for name, place in _TEST_SECTIONS.items():
            yield from self._section(_definition(self._test, name), place)
        kinds = ", ".join(f"`{kind}`" for kind in get_args(DocumentKind))
        yield from (
            "",
            f"More: the JSON Schema of {kinds}; `coterie explain E202` explains a code.",
        )

    def _section(
        self, definition: Json, place: str = "", without: Sequence[str] = ()
    ) -> Iterator[str]:
        kind = _properties(definition).get("type", {}).get("const")
        title = f"type: {kind}: " if isinstance(kind, str) else f"{place}: " if place else ""
        words = str(definition.get("description", "")).split("\n\n")[0].replace("\n", " ").strip()
        yield f"- **{title}{words.rstrip('.')}.** {self._keys(definition, without=without)}"

    def _keys(self, definition: Json, only: Sequence[str] = (), without: Sequence[str] = ()) -> str:
        required = cast("list[str]", definition.get("required", []))
        shown = [
            self._key(key, its, is_required=key in required)
            for key, its in _properties(definition).items()
            if key not in without and (not only or key in only)
        ]
        return "; ".join(shown)

    def _key(self, key: str, its: Json, *, is_required: bool) -> str:
        default = its.get("default")
        mark = "*" if is_required else ""
        if isinstance(default, bool | int | float | str) and default not in ("", False):
            mark += f"={str(default).lower() if isinstance(default, bool) else default}"
        values = _values(its)
        text = "" if values else self._brief(str(its.get("description", "")))
        more = f" {values or text}" if values or text else ""
        return f"`{key}`{mark}{more}"

    def _brief(self, text: str) -> str:
        """Return the beginning of a description: its first clause, or some words of it."""
        first = re.split(r"(?<=[a-z`)])[.;] ", text.replace("\n", " "), maxsplit=1)[0].rstrip(".")
        words = first.split(" ")
        if len(words) <= self._words:
            return first
        cut = " ".join(words[: self._words]).rstrip(",")
        return f"{cut}…" if cut.count("`") % 2 == 0 else f"{cut}`…"


def _definition(schema: Json, name: str) -> Json:
    definitions = cast("dict[str, Json]", schema["$defs"])
    return definitions[name]


def _properties(definition: Json) -> dict[str, Json]:
    properties = cast("dict[str, Json]", definition.get("properties", {}))
    return {key: its for key, its in properties.items() if not its.get("deprecated")}


def _step_names(document: Json) -> list[str]:
    kinds = cast("list[Json]", _definition(document, "Step")["anyOf"])
    names = [str(kind["$ref"]).removeprefix(_REFERENCE) for kind in kinds]
    return [name for name in names if not name.startswith(_OLDER)]


def _shared_keys(document: Json) -> Sequence[str]:
    first, *others = (_properties(_definition(document, name)) for name in _TOOL_KINDS)
    return [key for key in first if all(key in other for other in others)]


def _values(its: Mapping[str, JsonValue]) -> str:
    values = its.get("enum")
    if not isinstance(values, list):
        return ""
    texts = [str(value) for value in values if value is not None]
    return "|".join(texts) if len(texts) <= _MAX_VALUES else ""
