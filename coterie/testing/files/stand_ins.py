"""Stand-ins: tool functions that do not exist yet, declared by the test that needs them."""

import re
from collections.abc import Collection, Mapping

from pydantic import Field, JsonValue

from coterie.activities.tool_functions.function_contracts import known_contracts
from coterie.dsl.errors import listed, nearest
from coterie.dsl.json_schema.schema_checker import UnusableSchema, answer_mismatches
from coterie.dsl.json_schema.schema_problems import schema_problem
from coterie.dsl.model.capabilities import Effect, FunctionContract
from coterie.dsl.model.plan import Plan
from coterie.dsl.model.steps import FunctionStep
from coterie.dsl.model.tools.tool_contract import FunctionTool
from coterie.dsl.model.traversal.step_walk import lists_of_plan, walk
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.values import Frozen, Json

_NAME = re.compile(r"[A-Za-z]\w*\.[A-Za-z]\w*")
_PATH = "stand_ins"


class StandInDocument(Frozen):
    """A function of the future: what it takes and returns, and the result of its calls here."""

    data: JsonValue = None
    """The result of every call without an entry under `functions`."""
    effect: Effect = "read"
    input_schema: Json = Field(default_factory=lambda: {"type": "object"})
    output_schema: Json = Field(default_factory=dict[str, JsonValue])
    description: str = ""

    @property
    def has_result(self) -> bool:
        """Whether calls without an entry under `functions` have a result."""
        return "data" in self.model_fields_set

    def contract(self, name: str) -> FunctionContract:
        """Return the contract by which the team is compiled."""
        return FunctionContract(
            name=name,
            description=self.description,
            effect=self.effect,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
        )


def contracts_of(stand_ins: Mapping[str, StandInDocument]) -> dict[str, FunctionContract]:
    """Return `{Name.method: contract}`."""
    return {name: stand_in.contract(name) for name, stand_in in stand_ins.items()}


@rule("W517")
def unused_stand_in(name: str, used: Collection[str]) -> ProblemText:
    return ProblemText(
        f"the team never calls the tool function {name!r}, so nothing uses its stand-in",
        listed(used),
        nearest(name, used) or "remove it",
    )


def check_use(tree: Node, plan: Plan, problems: Problems) -> None:
    """Warn about stand-ins that the team never calls."""
    functions = _functions_of(plan)
    stand_in_nodes = tree.child(_PATH)
    for name, node in (stand_in_nodes.entries() if stand_in_nodes is not None else {}).items():
        if name not in functions:
            problems.report(unused_stand_in(name, functions), Place(node.at, (_PATH, name)))


def _functions_of(plan: Plan) -> set[str]:
    """Return the tool functions that steps, tools and concentrators of a plan can call."""
    tools = plan.tools.values()
    names: set[str | None] = {tool.skill for tool in tools if isinstance(tool, FunctionTool)}
    names |= {team.collects.aggregate for team in plan.teams.values() if team.collects}
    for steps in lists_of_plan(plan):
        names |= {step.skill for step, _ in walk(steps, ()) if isinstance(step, FunctionStep)}
    return {name for name in names if name is not None and "." in name}


@rule("E208")
def stand_in_of_known_function(name: str) -> ProblemText:
    return ProblemText(
        f"the tool function {name!r} exists, and a stand-in would hide it",
        fix="remove the stand-in, and write the results of its calls under `functions`",
    )


@rule("E105")
def stand_in_name_refused(name: str) -> ProblemText:
    return ProblemText(
        f"{name!r} is not the name of a tool function", fix="write it like `Name.method`"
    )


@rule("E505")
def unusable_stand_in_schema(key: str, reason: str) -> ProblemText:
    return ProblemText(f"`{key}` cannot be used: {reason}")


@rule("E105")
def stand_in_data_mismatch(error: str) -> ProblemText:
    return ProblemText(
        f"the data does not match its own output_schema: {error}", fix="correct one of the two"
    )


def check_stand_ins(
    stand_ins: Mapping[str, StandInDocument], tree: Node, problems: Problems
) -> None:
    """Report stand-ins with an invalid name, an unusable schema, or data that violates it."""
    stand_in_nodes = tree.child(_PATH)
    for name, node in (stand_in_nodes.entries() if stand_in_nodes is not None else {}).items():
        place = Place(node.at, (_PATH, name))
        if name in known_contracts():
            problems.report(stand_in_of_known_function(name), place)
        elif not _NAME.fullmatch(name):
            problems.report(stand_in_name_refused(name), place)
        if name in stand_ins:
            _check_schemas(stand_ins[name], node, name, problems)


def _check_schemas(stand_in: StandInDocument, node: Node, name: str, problems: Problems) -> None:
    schemas = {"input_schema": stand_in.input_schema, "output_schema": stand_in.output_schema}
    unusable = {
        key: problem for key, schema in schemas.items() if (problem := schema_problem(schema))
    }
    for key, problem in unusable.items():
        place = Place(node.find((key,)).at, (_PATH, name, key))
        problems.report(unusable_stand_in_schema(key, problem), place)
    if stand_in.has_result and "output_schema" not in unusable:
        for error in _errors(stand_in)[:1]:  # the others follow from one wrong form, mostly
            place = Place(node.find(("data",)).mark, (_PATH, name, "data"))
            problems.report(stand_in_data_mismatch(error), place)


def _errors(stand_in: StandInDocument) -> list[str]:
    try:
        return answer_mismatches(stand_in.data, stand_in.output_schema)
    except UnusableSchema as problem:
        return [str(problem)]
