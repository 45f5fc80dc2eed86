"""What tasks and variables hold, if a schema or a contract declares it.

The data of an agent by its `output_schema`, of a tool function or tool by its contract, of an agent
with an execution plan by the variables of that plan; of other steps by their kind; the item of a
loop by the list that it iterates on.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, assert_never

from coterie.dsl.checks.contracts.known_answers import inlined, resolved, schema_at
from coterie.dsl.hooks.hook_reads import matches_tool
from coterie.dsl.model.capabilities import FunctionContract
from coterie.dsl.model.context.declarations import (
    UNDECLARED,
    Declarations,
    declared_above,
    declared_below,
)
from coterie.dsl.model.decision_terms import CallApproval
from coterie.dsl.model.document import SystemDocument, TeamDocument
from coterie.dsl.model.merge import deep_merge
from coterie.dsl.model.step_kinds.agent_types import (
    ORCHESTRATING,
    SINGLE_SHOT,
    TOOL_CALLING,
    default_agent_type,
    offered_tools,
)
from coterie.dsl.model.steps import (
    BlockStep,
    FunctionStep,
    ParallelStep,
    PersonaDocument,
    PersonaStep,
    ReplyStep,
    ReturnStep,
    Step,
    TeamStep,
    ToolStep,
)
from coterie.dsl.model.tools.tool_section import (
    AgentToolSection,
    FunctionToolSection,
    ServerGroupSection,
    ServerToolSection,
    TeamToolSection,
    TemporalToolSection,
    ToolSection,
)
from coterie.dsl.model.traversal.step_walk import variables, walk
from coterie.dsl.paths import Path
from coterie.dsl.paths import parse as split
from coterie.dsl.templates.template import is_template, plain_path
from coterie.dsl.values import Json, JsonValue, closed_mapping

_MAX_PLANS = 5
"""Maximum depth of nested plans that are inspected."""

TaskSchemas = Mapping[str, Json]


class Declared(NamedTuple):
    """A declared form of data, and a path into it."""

    owner: Path
    """Whose form it is: `("tasks", "read_project", "data")`, a variable, or a context path."""
    schema: Json
    path: Path
    """The path below the owner."""


def _no_tasks(_: str) -> TaskSchemas:
    return {}


class Outputs(NamedTuple):
    """What is declared in one team or plan."""

    tasks: TaskSchemas
    """`{task: schema of its data}`."""
    variables: Mapping[str, Json]
    """`{variable: schema}` of the variables that a single step sets."""
    of_team: Callable[[str], TaskSchemas]
    """Returns `{task: schema of its data}` of another team."""
    context: Declarations = UNDECLARED

    def declared(self, named: Path) -> Declared | None:
        """Return what is declared for a path of the facts; None if nothing is."""
        match named:
            case ("tasks", task, "data", *rest):
                return _declared_field(named, self.tasks.get(task), rest)
            case ("teams", team, "tasks", task, "data", *rest):
                return _declared_field(named, self.of_team(team).get(task), rest)
            case ("context", *rest) if self.context:
                return self._of_context(tuple(rest))
            case (name, *rest) if name in self.variables:
                return _declared_field(named, self.variables[name], rest)
            case _:
                return None

    def _of_context(self, path: Path) -> Declared | None:
        owner = declared_above(path, self.context)
        if owner is None:
            return None
        rest = path[len(split(owner)) :]
        if declared_below(path[: len(path) - len(rest) + 1], self.context):
            return None  # a path below is declared, or begins there
        return Declared(("context", owner), self.context[owner].schema_, rest)


NO_OUTPUTS = Outputs({}, {}, _no_tasks)


def _declared_field(named: Path, schema: Json | None, rest: list[str]) -> Declared | None:
    owner = named[: len(named) - len(rest)]
    return None if schema is None else Declared(owner, schema, tuple(rest))


@dataclass(frozen=True)
class DeclaredOutputs:
    """The outputs of one document."""

    _document: SystemDocument
    _functions: Mapping[str, FunctionContract]
    context: Declarations = field(default_factory=lambda: UNDECLARED)
    _others: Mapping[str, FunctionContract] = field(default_factory=dict[str, FunctionContract])
    """The tools of servers, and what already runs on Temporal."""
    _known: dict[str, TaskSchemas] = field(default_factory=dict[str, TaskSchemas])

    def of(self, steps: Sequence[Step]) -> Outputs:
        """Return the outputs of one team or plan."""
        return self._of(steps, 0)

    def _of(self, steps: Sequence[Step], depth: int) -> Outputs:
        tasks = self._tasks(steps, depth)
        outputs = Outputs(tasks, {}, self._of_team, self.context)
        for _ in range(2):  # a loop may iterate on a variable
            outputs = outputs._replace(variables=_variables(steps, outputs))
        return outputs

    def _of_team(self, team: str) -> TaskSchemas:
        if team not in self._known:
            team_document = self._team_document(team)
            self._known[team] = {} if team_document is None else self._tasks(team_document.tasks, 0)
        return self._known[team]

    def _tasks(self, steps: Sequence[Step], depth: int) -> TaskSchemas:
        pairs = ((step.name, self._step(step, depth)) for step, _ in walk(steps, ()))
        return {name: schema for name, schema in pairs if schema}

    def _step(self, step: Step, depth: int) -> Json | None:
        if isinstance(step, PersonaStep | FunctionStep) and is_edited(step):
            return None
        match step:
            case PersonaStep():
                declared = [self._agent(choice, depth) for choice in step.choices]
                return declared[0] if all(schema == declared[0] for schema in declared) else None
            case FunctionStep(skill=name):
                return self._contract(name)
            case ToolStep(tool=name) if name in self._document.tools:
                return self._tool(name, self._document.tools[name], depth)
            case TeamStep(team=team):
                return self._team(team)
            case _:
                return step_data(step, partial(self._step_alone, depth=depth))

    def _step_alone(self, step: Step, depth: int) -> Json | None:
        """Return the schema of a step's data in a form that another schema can contain."""
        schema = self._step(step, depth)
        return None if schema is None else inlined(schema)

    def _team(self, name: str) -> Json | None:
        """Return the schema of what a team gives to the step that runs it."""
        team = self._team_document(name)
        if team is None:
            return None
        if team.output is None:
            return written_form({"output": "{{ }}", "context": "{{ }}"})
        return written_form(team.output)

    def _team_document(self, name: str) -> TeamDocument | None:
        orchestration = self._document.orchestration
        return None if orchestration is None else orchestration.teams.get(name)

    def _tool(self, name: str, section: ToolSection, depth: int) -> Json | None:
        """Return the schema of a tool's result; None if a person or a hook may replace it."""
        if is_edited(section) or is_modified(name, self._document):
            return None
        match section:
            case FunctionToolSection(skill=function):
                return self._contract(function)
            case ServerToolSection() | ServerGroupSection() | TemporalToolSection():
                offered = self._others.get(section.made_of)
                return None if offered is None else offered.output_schema or None
            case _ if section.output_schema is not None:
                return section.output_schema
            case TeamToolSection():
                team = self._team_document(section.team)
                return None if team is None else written_form(team.output)
            case AgentToolSection():
                step = agent_of_tool(name, section, self._document.llm_config.personas)
                return None if step is None else self._agent(step, depth)
            case _:
                assert_never(section)

    def _contract(self, name: str) -> Json | None:
        contract = self._functions.get(name)
        return None if contract is None else contract.output_schema

    def _agent(self, step: PersonaStep, depth: int) -> Json | None:
        persona = self._document.llm_config.personas.get(step.persona_key)
        if persona is None:
            return None
        if step.agent_type == SINGLE_SHOT or (
            step.agent_type == TOOL_CALLING and is_own_answer(step, persona)
        ):
            return answer_schema(step, persona)
        plan = persona.execution_plan
        if step.config is not None and "execution_plan" in step.config.model_fields_set:
            plan = step.config.execution_plan
        if step.agent_type != ORCHESTRATING or not plan or depth >= _MAX_PLANS:
            return None
        return self._plan(plan, depth + 1)

    def _plan(self, steps: Sequence[Step], depth: int) -> Json | None:
        """Return the schema of its variables, unless it returns a value or a caught failure."""
        if any(isinstance(step, ReturnStep) for step, _ in walk(steps, ())):
            return None
        typed = self._of(steps, depth).variables
        properties: Json = {name: inlined(typed.get(name, {})) for name in variables(steps)}
        return {"type": "object", "properties": properties, "additionalProperties": False}


def _variables(steps: Sequence[Step], outputs: Outputs) -> dict[str, Json]:
    """Return `{variable: schema}` of the variables that a single step sets."""
    setters: dict[str, list[Json | None]] = {}
    for step, _ in walk(steps, ()):
        for name, schema in _sets(step, partial(_item, outputs=outputs)):
            setters.setdefault(name, []).append(
                outputs.tasks.get(step.name) if schema is None else schema
            )
    return {
        name: schemas[0] for name, schemas in setters.items() if len(schemas) == 1 and schemas[0]
    }


def _sets(step: Step, item: Callable[[JsonValue], Json]) -> list[tuple[str, Json | None]]:
    """Return `(variable, schema)` of each; empty if unknown, None for the schema of its data."""
    return [
        (variable.name, None if variable.path == ("output_variable",) else item(variable.item_of))
        for variable in step.variables()
    ]


def _item(over: JsonValue, outputs: Outputs) -> Json:
    """Return the schema of an item of a loop's list; empty if unknown."""
    path = plain_path(over) if isinstance(over, str) else None
    declared = None if path is None else outputs.declared(path)
    if declared is None:
        return {}
    here = schema_at(declared.schema, declared.path)
    if here is None or here.get("type") != "array" or "prefixItems" in here:
        return {}
    item = resolved(here.get("items"), declared.schema)
    if not isinstance(item, dict):
        return {}
    defs = declared.schema.get("$defs")
    return {**item, "$defs": defs} if defs is not None and "$defs" not in item else item


SchemaOf = Callable[[Step], Json | None]
"""Returns the schema of a step's data; None if unknown."""

_ERROR: Json = {
    "anyOf": [
        closed_mapping({"type": {"type": "string"}, "message": {"type": "string"}}),
        {"type": "null"},
    ]
}


def step_data(step: Step, schema_of: SchemaOf) -> Json | None:
    """Return the schema of the data of a step that succeeds; None if its kind has none.

    Args:
        step: of a team or plan.
        schema_of: for the steps within it.
    """
    match step:
        case BlockStep(steps=steps):
            return last_data(steps, schema_of)
        case ParallelStep():
            return _parallel(step, schema_of)
        case ReplyStep(value=value) | ReturnStep(value=value):
            return written_form(value)
        case _:
            return step.data_form


def written_form(value: JsonValue) -> Json | None:
    """Return the schema of a mapping that a document writes, with templates for its values."""
    if not isinstance(value, dict) or not value or any(map(is_template, value)):
        return None
    return closed_mapping({key: written_form(below) or {} for key, below in value.items()})


def last_data(steps: Sequence[Step], schema_of: SchemaOf) -> Json | None:
    """Return the schema of the data of the last step, if it always runs."""
    match steps:
        case (*_, last) if last.when is None and last.on_failure is None:
            return schema_of(last)
        case _:
            return None


def _parallel(step: ParallelStep, schema_of: SchemaOf) -> Json:
    forms = {
        name: last_data(branch.steps, schema_of) for name, branch in step.ranked_branches.items()
    }
    properties: Json = {name: _branch(form) for name, form in forms.items()}
    if step.join != "all":
        known_forms: list[JsonValue] = [form for form in forms.values() if form is not None]
        properties["winner"] = {"enum": [*forms, None]}
        properties["result"] = _or_null(*known_forms) if len(known_forms) == len(forms) else {}
    return closed_mapping(properties)


def _branch(data: Json | None) -> Json:
    return closed_mapping(
        {
            "status": {"enum": ["success", "failure", "skipped", "cancelled"]},
            "success": {"type": "boolean"},
            "data": {} if data is None else _or_null(data),
            "error": _ERROR,
            "score": {"type": ["number", "null"]},
            "seconds": {"type": "number", "minimum": 0},
        }
    )


def _or_null(*forms: JsonValue) -> Json:
    return {"anyOf": [*forms, {"type": "null"}]}


def is_edited(called: PersonaStep | FunctionStep | ToolSection) -> bool:
    """Return whether a person may replace its output."""
    approval = called.requires_approval
    return isinstance(approval, CallApproval) and approval.at == "after" and approval.editable


def is_modified(tool: str, document: SystemDocument) -> bool:
    """Return whether a hook of the run may change the result of a tool that a step calls."""
    orchestration = document.orchestration
    return any(
        hook.on == "after_tool_call"
        and (hook.decide == "modify" or is_template(hook.decide))
        and (hook.tool is None or matches_tool(hook.tool, tool))
        for hook in (() if orchestration is None else orchestration.hooks)
    )


def agent_of_tool(
    name: str, section: AgentToolSection, personas: Mapping[str, PersonaDocument]
) -> PersonaStep | None:
    """Return the step that a tool made of an agent is like; None if a handoff may replace it."""
    persona = personas.get(section.agent)
    if persona is None or persona.handoffs:
        return None
    tools, subagents, excluded = persona.tools, persona.subagents, persona.exclude_tools
    agent_type = default_agent_type(
        has_plan=persona.execution_plan is not None,
        offers_tools=bool(offered_tools(tools or (), subagents or (), excluded or ())),
    )
    return PersonaStep(name=name, agent_type=agent_type, persona_key=section.agent)


def answer_schema(step: PersonaStep, persona: PersonaDocument) -> Json | None:
    """Return the schema of the persona's answers, with the step's `config`."""
    schema = persona.output_schema
    if step.config is not None and "output_schema" in step.config.model_fields_set:
        over = step.config.output_schema
        return deep_merge(schema or {}, over) if over is not None else None
    return schema


def is_own_answer(step: PersonaStep, persona: PersonaDocument) -> bool:
    """Return whether the data of a tool-calling agent is always its own answer."""
    over = step.config
    policies = persona.tool_policy if over is None or over.tool_policy is None else over.tool_policy
    calls = persona.tool_calls if over is None or over.tool_calls is None else over.tool_calls
    return calls != "return" and not any(policy.exit_on_success for policy in policies or ())
