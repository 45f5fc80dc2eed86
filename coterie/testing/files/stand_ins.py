"""Stand-ins: skills that do not exist yet, declared by the test that needs them."""

import re
from collections.abc import Mapping

from pydantic import Field, JsonValue

from activities.answer_schema import SchemaFault, schema_errors
from activities.skills.skill_contracts import known_contracts
from dsl.json_schema.schema_problems import schema_fault
from dsl.model.capabilities import Effect, SkillContract
from dsl.source.yaml_reader import Node, Problems
from dsl.values import Frozen, Json

_NAME = re.compile(r"[A-Za-z]\w*\.[A-Za-z]\w*")
_PATH = "stand_ins"


class StandInDocument(Frozen):
    """A skill of the future: what it takes and returns, and the result of its calls here."""

    data: JsonValue = None
    """The result of every call without an entry under `skills`."""
    effect: Effect = "read"
    input_schema: Json = Field(default_factory=lambda: {"type": "object"})
    output_schema: Json = Field(default_factory=dict[str, JsonValue])
    description: str = ""

    @property
    def has_result(self) -> bool:
        """Whether calls without an entry under `skills` have a result."""
        return "data" in self.model_fields_set

    def contract(self, name: str) -> SkillContract:
        """Return the contract by which the team is compiled."""
        return SkillContract(
            name=name,
            description=self.description,
            effect=self.effect,
            input_schema=self.input_schema,
            output_schema=self.output_schema,
        )


def contracts_of(stand_ins: Mapping[str, StandInDocument]) -> dict[str, SkillContract]:
    """Return `{Name.method: contract}`."""
    return {name: stand_in.contract(name) for name, stand_in in stand_ins.items()}


def check_stand_ins(
    stand_ins: Mapping[str, StandInDocument], tree: Node, problems: Problems
) -> None:
    """Report stand-ins with a wrong name, with an unusable schema or with data against it."""
    written = tree.child(_PATH)
    for name, node in (written.entries() if written is not None else {}).items():
        place = (_PATH, name)
        if name in known_contracts():
            problems.add(
                "E208",
                node.at,
                place,
                f"the skill {name!r} exists, and a stand-in would hide it",
                fix="remove the stand-in, and write the results of its calls under `skills`",
            )
        elif not _NAME.fullmatch(name):
            problems.add(
                "E105",
                node.at,
                place,
                f"{name!r} is not the name of a skill",
                fix="write it like `Name.method`",
            )
        if name in stand_ins:
            _check_schemas(stand_ins[name], node, name, problems)


def _check_schemas(stand_in: StandInDocument, node: Node, name: str, problems: Problems) -> None:
    schemas = {"input_schema": stand_in.input_schema, "output_schema": stand_in.output_schema}
    faults = {key: fault for key, schema in schemas.items() if (fault := schema_fault(schema))}
    for key, fault in faults.items():
        place = (_PATH, name, key)
        problems.add("E505", node.find((key,)).at, place, f"`{key}` cannot be used: {fault}")
    if stand_in.has_result and "output_schema" not in faults:
        for error in _errors(stand_in):
            place = (_PATH, name, "data")
            problems.add(
                "E105",
                node.find(("data",)).mark,
                place,
                f"the data does not match its own output_schema: {error}",
                fix="correct one of the two",
            )


def _errors(stand_in: StandInDocument) -> list[str]:
    try:
        return schema_errors(stand_in.data, stand_in.output_schema)[:1]
    except SchemaFault as fault:
        return [str(fault)]
