"""The suite file as people write it; docs/evals.md is the reference."""

from pydantic import Field, JsonValue, model_validator

from coterie.display.written_decisions import WrittenDecision
from coterie.dsl.values import Frozen, Json, Seconds, form_mismatch
from coterie.evals.verdicts import DEFAULT_MARGIN

MAX_REPEATS = 1000
MAX_NAME = 60
NAME = r"^[A-Za-z0-9][A-Za-z0-9 _.,()=+-]*$"

DEFAULT_TIMEOUT = 1800.0
DEFAULT_MIN_SCORE = 7
MAX_VOTES = 9
GRADERS = ("exact", "schema", "expression", "command", "rubric")
"""The keys of which a grader has exactly one."""


class GraderDocument(Frozen):
    """One condition that a trial must meet."""

    name: str = Field(default="", max_length=MAX_NAME)
    """For reports. Default: the kind of the grader and its number."""
    of: JsonValue = "{{ output }}"
    """A template of the value that `exact`, `schema` and `rubric` look at."""
    exact: JsonValue = None
    """The value must equal this one; templates may use the case, such as `{{ expected }}`."""
    schema_: Json = Field(default_factory=dict[str, JsonValue], alias="schema")
    """The value must meet this JSON Schema."""
    expression: str = Field(default="", max_length=4000)
    """A template that must give `true`."""
    command: str = Field(default="", max_length=MAX_NAME)
    """A command of the worker's configuration that must succeed in the trial's workspace."""
    arguments: Json = Field(default_factory=dict[str, JsonValue])
    """Values of the command's parameters."""
    rubric: str = Field(default="", max_length=4000)
    """What a judge looks for; templates may use the case, such as `{{ expected }}`."""
    min_score: int = Field(default=DEFAULT_MIN_SCORE, ge=1, le=10)
    """The judge's score, from 0 to 10, from which on the rubric is met."""
    votes: int | None = Field(default=None, ge=1, le=MAX_VOTES)
    """How many votes the judge gives, instead of the suite's number."""

    @model_validator(mode="after")
    def _one_kind(self) -> "GraderDocument":
        kinds = [key for key in GRADERS if self.has(key)]
        if len(kinds) != 1:
            raise form_mismatch(
                "grader",
                "a grader has one of {keys}",
                keys=", ".join(f"`{key}`" for key in GRADERS),
            )
        if self.has("of") and kinds[0] in ("expression", "command"):
            raise form_mismatch("grader", "`of` goes with `exact`, `schema` and `rubric`")
        if self.has("arguments") and kinds[0] != "command":
            raise form_mismatch("grader", "`arguments` go with `command`")
        for key in ("min_score", "votes"):
            if self.has(key) and kinds[0] != "rubric":
                raise form_mismatch("grader", "`{key}` goes with `rubric`", key=key)
        return self

    def has(self, key: str) -> bool:
        """Return whether the file gives this key."""
        return {"schema": "schema_"}.get(key, key) in self.model_fields_set

    @property
    def plain(self) -> Json:
        """The grader as JSON, for digests; without the keys of rubrics if it has none."""
        without = None if self.has("rubric") else {"rubric", "min_score", "votes"}
        return self.model_dump(mode="json", by_alias=True, exclude=without)


class EvalCaseDocument(Frozen):
    """One task with a known way to tell success."""

    name: str = Field(min_length=1, max_length=MAX_NAME, pattern=NAME)
    context: Json = Field(default_factory=dict[str, JsonValue])
    """Merged over the suite's and the variant's; templates may use `{{ repeat }}`."""
    expected: JsonValue = None
    """What graders compare with, as `{{ expected }}`."""
    messages: tuple[JsonValue, ...] = Field(default=(), max_length=200)
    """Of a session: sent one after the other, each after the reply to the one before."""
    files: dict[str, str] = Field(default_factory=dict[str, str])
    """Files that this case adds to its workspace."""
    graders: tuple[GraderDocument, ...] = ()
    """In addition to the suite's."""


class VariantDocument(Frozen):
    """One way to run all cases: another model, profile or prompt."""

    name: str = Field(min_length=1, max_length=MAX_NAME, pattern=NAME)
    model: str | None = None
    """`provider/model` for every persona instead of its own."""
    override: str | None = None
    """A file laid over the team's, like `coterie.yml`: prompts, settings, providers."""
    context: Json = Field(default_factory=dict[str, JsonValue])
    """Merged over the suite's; a case's own context wins."""


class JudgeDocument(Frozen):
    """How the graders with a `rubric` judge: by runs of the team `judge`."""

    model: str | None = None
    """`provider/model` of the judge. Default: that of the project."""
    override: str | None = None
    """A file laid over the team `judge`, like `coterie.yml`: its prompt, providers, budgets."""
    votes: int = Field(default=1, ge=1, le=MAX_VOTES)
    """Votes of each judgement; their median is the score."""
    heuristics: bool = False
    """No model: the score is the share of the rubric's quoted texts that the value has."""


class SuiteDocument(Frozen):
    """Cases, repeats, variants and graders of one team."""

    name: str = Field(min_length=1, max_length=MAX_NAME, pattern=NAME)
    description: str = Field(default="", max_length=1000)
    team: str = Field(min_length=1)
    """A file beside the suite, or the name of a team."""
    repeats: int = Field(default=1, ge=1, le=MAX_REPEATS)
    """How often each case runs with each variant."""
    concurrency: int = Field(default=4, ge=1, le=32)
    """Runs at the same time."""
    timeout: Seconds = Field(default=DEFAULT_TIMEOUT, gt=0)
    """How long one trial may take, in real time; then it has failed."""
    margin: float = Field(default=DEFAULT_MARGIN, gt=0, lt=1)
    """The smallest change of a success rate that matters."""
    at_least: float | None = Field(default=None, gt=0, le=1)
    """The success rate that is wanted."""
    max_cost: float | None = Field(default=None, gt=0)
    """US dollars of all trials together; no trial starts above it."""
    workspace: str | None = None
    """A folder of which each trial gets a copy. Default: an empty folder."""
    index: tuple[str, ...] = ()
    """Folders or files that `Retriever.search` of each trial finds, relative to its workspace."""
    files: dict[str, str] = Field(default_factory=dict[str, str])
    context: Json = Field(default_factory=dict[str, JsonValue])
    decisions: tuple[WrittenDecision, ...] = ()
    """Decisions on what the runs ask people; a request without one ends the trial."""
    variants: tuple[VariantDocument, ...] = ()
    """Default: one, named `default`, which changes nothing."""
    judge: JudgeDocument = JudgeDocument()
    """Who judges the rubrics of the graders."""
    graders: tuple[GraderDocument, ...] = ()
    """A trial succeeds if its run completes and it meets all of them, and those of its case."""
    cases: tuple[EvalCaseDocument, ...] = Field(min_length=1)
