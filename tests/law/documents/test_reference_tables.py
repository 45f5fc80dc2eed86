"""The tables of the reference say what the code says: keys, defaults, values, routes."""

import json
import re
from argparse import ArgumentParser
from collections.abc import Iterator
from types import ModuleType
from typing import cast

import pytest
from pydantic import BaseModel

from coterie.activities.contracts import FailureType
from coterie.commands.documents import record, test
from coterie.documents.catalog import shipped_root
from coterie.dsl.errors import NoRoute, TeamFailed, TemplateFailed
from coterie.dsl.evaluate.routing import choose
from coterie.dsl.model import budgets, document, plan
from coterie.dsl.model.conditions import CONDITION_KEYS, AllOf, AnyOf, Condition, Not
from coterie.dsl.model.document import TeamDocument
from coterie.dsl.model.facts import Facts
from coterie.dsl.model.outcomes import Outcome
from coterie.dsl.model.plan import Routing, Rule, Team
from coterie.dsl.model.sections import (
    access_document,
    api_document,
    mcp_document,
    provider_document,
    schedule_trigger,
    temporal_document,
    triggers,
    webhook_trigger,
    worker_document,
)
from coterie.dsl.model.step_kinds.step_base import StepBase
from coterie.dsl.model.steps import STEP_KINDS, STEP_MODELS, PersonaDocument, ReturnStep
from coterie.dsl.model.tools.tool_section import (
    ActivityToolSection,
    AgentToolSection,
    ApiGroupSection,
    FunctionToolSection,
    McpGroupSection,
    NexusToolSection,
    TeamToolSection,
    WorkflowToolSection,
)
from coterie.dsl.normalise.replacements import REPLACED_OPERATORS, REPLACEMENTS
from coterie.dsl.normalise.written_steps import AGENT_TYPES, KIND_BY_KEY, STEP_TYPES
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.templates.jinja_engine import ENVIRONMENT, MAPPING_METHODS, TEXT_METHODS
from coterie.dsl.templates.template_filling import fill
from coterie.dsl.values import Json, JsonValue, seconds
from tests.law.documents.pages import (
    LANGUAGE_PAGES,
    STEP_PAGES,
    blocks,
    chapters,
    chapters_of,
    quoted,
    rows,
    text,
)
from tests.law.documents.test_documented_examples import compiled, placed
from tests.law.sources import ROOT


class AnyTool(
    FunctionToolSection,
    AgentToolSection,
    TeamToolSection,
    McpGroupSection,
    ApiGroupSection,
    ActivityToolSection,
    WorkflowToolSection,
    NexusToolSection,
):
    """The keys of all kinds of tools, which have one table."""


LANGUAGE = chapters_of(LANGUAGE_PAGES)
STEPS = chapters_of(STEP_PAGES)
TABLES: dict[str, type[BaseModel]] = {
    "A document": document.SystemDocument,
    "`llm_config`": document.LlmConfig,
    "Providers": provider_document.ProviderSection,
    "Personas": PersonaDocument,
    "`orchestration`": document.Orchestration,
    "Budgets": budgets.Budgets,
    "A budget": budgets.CountBudget,
    "Teams": TeamDocument,
    "`max_visits`": plan.MaxVisits,
    "`loop`": document.LoopSection,
    "`approval`": document.ApprovalSection,
    "`chat`": document.ChatSection,
    "`concentrator`": plan.Collect,
    "A tool": AnyTool,
    "The worker": document.WorkerSection,
    "An MCP server": mcp_document.McpServerSection,
    "An HTTP API": api_document.ApiSection,
    "A declared call": api_document.ApiCallSection,
    "An activity": temporal_document.ActivitySection,
    "A workflow": temporal_document.WorkflowSection,
    "A Nexus operation": temporal_document.NexusSection,
    "A command": worker_document.CommandSection,
    "Parameters of a command": worker_document.ParameterSection,
    "The web": worker_document.WebSection,
    "The sandbox": worker_document.SandboxSection,
    "A channel": worker_document.ChannelSection,
    "Access": access_document.AccessSection,
    "A grant": access_document.GrantSection,
    "The provider": access_document.OidcSection,
    "Slack": access_document.SlackSection,
    "A trigger": triggers.Trigger,
    "A webhook": webhook_trigger.WebhookSection,
    "Signal a waiting run": webhook_trigger.WebhookSignal,
    "Other senders": webhook_trigger.HmacTerms,
    "A schedule": schedule_trigger.ScheduleSection,
    "A calendar": schedule_trigger.CalendarSection,
}
"""Chapters with a table of all keys of one part of a document."""

DEFAULTS = TABLES | {"Personas": plan.Persona}
"""Where the defaults of these parts are."""


def keys(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def said_of(kind: str) -> set[str]:
    """The keys of a step that a person writes; the kind is written as `type`."""
    return {key for model in STEP_MODELS[kind] for key in keys(model)} - {"kind", "terms"}


def named(chapter: str) -> set[str]:
    return {key for row in rows(chapter) if "Key" in row for key in quoted(row["Key"])}


@pytest.mark.parametrize("title", TABLES)
def test_a_table_of_keys_has_every_key_and_no_other(title: str) -> None:
    assert named(LANGUAGE[title]) == keys(TABLES[title])


def test_the_tables_of_routing_have_every_key_and_no_other() -> None:
    both = keys(document.RoutingDocument) | keys(document.RuleDocument)
    assert named(LANGUAGE["Routing"]) == both


@pytest.mark.parametrize("kind", STEP_KINDS)
def test_the_table_of_a_kind_has_every_key_of_its_own(kind: str) -> None:
    own = said_of(kind) - keys(StepBase)
    assert own <= named(STEPS[f"`{kind}`"]) <= said_of(kind)


def test_common_keys_of_steps_are_listed_once() -> None:
    (general,) = [body for title, body in STEPS.items() if title == "Steps"]
    common = [row["Key"] for row in rows(general) if "Meaning" in row]
    assert sorted(quoted(" ".join(common))) == sorted(keys(StepBase))


def test_the_keys_that_tell_a_kind_are_those_that_are_read() -> None:
    (general,) = [body for title, body in STEPS.items() if title == "Steps"]
    table = re.sub(r"\| \| key \| kind \|", "| | key2 | kind2 |", general)
    cells = [
        (row[f"key{n}"], row[f"kind{n}"]) for row in rows(table) if "kind" in row for n in ("", "2")
    ]
    said = {key: kind for cell, kind in cells for key in quoted(cell)}
    assert said.keys() == KIND_BY_KEY.keys() | {"join"}
    shapes = {"branches": "branch"}  # a list; as a mapping it is parallel, which is said too
    assert {**said, **shapes} == KIND_BY_KEY
    assert ("`branches` as a mapping, `join`", "parallel") in cells


def test_the_example_of_conditions_has_every_form() -> None:
    (block,) = blocks(LANGUAGE["Conditions"])
    routing = compiled(placed(block)).plan.teams["draft"].routing
    assert routing is not None
    seen = {type(leaf).__name__ for rule in routing.rules for leaf in every(rule.condition)}
    assert {f"condition:{name}" for name in seen} == set(CONDITION_KEYS.values())


def every(condition: Condition | None) -> Iterator[Condition]:
    """A condition and all that it joins."""
    match condition:
        case None:
            return
        case AllOf(all_of=parts) | AnyOf(any_of=parts):
            for part in parts:
                yield from every(part)
        case Not(negated=part):
            yield from every(part)
        case _:
            pass
    yield condition


@pytest.mark.parametrize("command", [test, record], ids=["test", "record"])
def test_the_page_of_tests_names_every_option(command: ModuleType) -> None:
    parser = ArgumentParser(prog="coterie", add_help=False)
    command.add_arguments(parser)
    options = set(re.findall(r"(?<![\w-])(--?[a-z]+)", parser.format_help())) - {"--output"}
    assert options
    assert [
        option
        for option in sorted(options)
        if f"{option} " not in text("testing.md") and f"{option}`" not in text("testing.md")
    ] == []


def written_defaults() -> Iterator[tuple[str, str, str]]:
    for title in TABLES:
        for row in rows(LANGUAGE[title]):
            for key in quoted(row["Key"]) if "Default" in row else ():
                yield title, key, row["Default"]


@pytest.mark.parametrize(("title", "key", "cell"), list(written_defaults()))
def test_default_in_a_table_is_the_default_in_the_code(title: str, key: str, cell: str) -> None:
    models = TABLES[title].model_fields | DEFAULTS[title].model_fields
    fields = {field.alias or name: field for name, field in models.items()}
    field = fields[key]
    default = field.get_default(call_default_factory=True)
    if cell == "required":
        assert field.is_required()
    elif re.fullmatch(r"`[^`]+`", cell) and default is not None and not field.is_required():
        value = read(f"k: {cell[1:-1]}", "cell").plain()
        assert isinstance(value, dict)
        written = seconds(value["k"]) if isinstance(default, float) else value["k"]
        plain = list(cast("tuple[object, ...]", default)) if isinstance(default, tuple) else default
        assert written == plain
    else:
        assert field.is_required() or not default or default == "." or key == "llm_config"


def values_of_yaml() -> Iterator[tuple[str, str]]:
    for row in rows(re.sub(r"\| \| written \| is \|", "| | written2 | is2 |", LANGUAGE["YAML"])):
        for written, read_as in (("written", "is"), ("written2", "is2")):
            for cell in quoted(row[written]):
                yield cell, row[read_as]


@pytest.mark.parametrize(("cell", "read_as"), list(values_of_yaml()))
def test_plain_values_are_read_as_the_table_says(cell: str, read_as: str) -> None:
    found = read(f"k: {cell}", "cell").plain()
    assert isinstance(found, dict)
    if read_as == "a string":
        assert found["k"] == cell.strip("'\"")
    else:
        assert found["k"] == json.loads(read_as.strip("`"))


def templates() -> Iterator[tuple[str, str, Json]]:
    for row in rows(LANGUAGE["Templates"]):
        if "template" in row:
            (given,) = [column for column in row if column.startswith("with ")]
            context = json.loads(quoted(given)[0])
            yield json.loads(quoted(row["template"])[0]), row[given], {"context": context}


@pytest.mark.parametrize(("template", "gives", "facts"), list(templates()))
def test_templates_give_what_the_table_says(template: str, gives: str, facts: Json) -> None:
    if gives == "fails":
        with pytest.raises(TemplateFailed):
            fill(template, facts)
    else:
        assert fill(template, facts) == json.loads(quoted(gives)[0])


def test_jinja_table_lists_everything_that_is_supported() -> None:
    said = {
        row["of Jinja2"]: set(quoted(row["supported"]))
        for row in rows(LANGUAGE["Templates"])
        if "of Jinja2" in row
    }
    assert said == {
        "filters": {name for name in ENVIRONMENT.filters if name.isidentifier()},
        "tests": {name for name in ENVIRONMENT.tests if name.isidentifier()},
        "functions": set(ENVIRONMENT.globals),
        "methods of strings": set(TEXT_METHODS),
        "methods of mappings": set(MAPPING_METHODS),
    }


ROUTINGS = {
    "a rule holds": Routing(rules=(Rule(next_team="next"),)),
    "none, `default: TEAM`": Routing(default="next"),
    "none, `default: null`": Routing(ends_by_default=True),
    "none, no `default`": Routing(
        rules=(Rule.model_validate({"condition": {"or": []}, "next_team": "next"}),)
    ),
    "no rules, no `default`": Routing(),
    "no `routing`": None,
}
ENDINGS = {"its `next_team`": "next", "that team": "next", "ends with success": None}


def went(routing: Routing | None, *, failed: bool) -> JsonValue:
    """Where a team goes from a routing, or the name of the error."""
    step = ReturnStep(kind="return", name="only")
    team = Team(id="a", name="a", steps=(step,), routing=routing)
    outcome = Outcome.failed("Failed", "no") if failed else Outcome.succeeded()
    try:
        following = choose(team, Facts(context={}, tasks={"only": outcome})).next_team
    except (NoRoute, TeamFailed) as error:
        return f"fails: {type(error).__name__}"
    assert not isinstance(following, tuple)
    return following


@pytest.mark.parametrize("case", ROUTINGS)
def test_routes_are_those_of_the_table(case: str) -> None:
    table = {row[""]: row for row in rows(LANGUAGE["Routing"]) if "" in row}
    for ended, failed in (("the team succeeded", False), ("the team failed", True)):
        cell = table[ended][case]
        assert went(ROUTINGS[case], failed=failed) == ENDINGS.get(cell, cell)


def test_every_failure_type_of_the_activities_is_listed() -> None:
    known = {value for name, value in vars(FailureType).items() if name.isupper()}
    found = {type for row in rows(STEPS["Types of failure"]) for type in quoted(row["type"])}
    # no step ever sees these: the call is made elsewhere, or as an activity
    assert known - {"OwnQueue", "NotLocal"} <= found


def test_every_older_form_is_listed_with_its_replacement() -> None:
    page = chapters("older-forms.md")
    read_forms = [name for row in rows(page["Read"]) for name in quoted(row["older"])]
    forms = " ".join(read_forms)
    for name in (*AGENT_TYPES, *STEP_TYPES):
        assert re.search(rf"\b{name}\b", forms), name
    refused = {quoted(row["older"])[0]: row["instead"] for row in rows(page["Refused"])}
    assert refused == REPLACEMENTS | {
        f"operator: {name}": fix for name, fix in REPLACED_OPERATORS.items()
    }


@pytest.mark.parametrize(
    ("chapter", "file"),
    [
        *((STEPS[f"`{kind}`"], kind) for kind in STEP_KINDS),
        *((LANGUAGE[f"`{type}`"], f"{type}_team") for type in ("standard", "loop", "approval")),
        (LANGUAGE["`concentrator`"], "concentrator"),
    ],
    ids=[*STEP_KINDS, "standard_team", "loop_team", "approval_team", "concentrator"],
)
def test_every_kind_and_type_names_an_example_that_runs(chapter: str, file: str) -> None:
    links = re.findall(r"\]\(\.\./(examples/language/[\w.]+)\)", chapter)
    assert links == [f"examples/language/{file}.yml", f"examples/language/{file}.test.yml"]
    assert all((ROOT / link).is_file() for link in links)


def test_the_files_of_a_document_are_those_of_the_shipped_root() -> None:
    files = {quoted(row["file"])[0] for row in rows(LANGUAGE["Files"]) if row["order"] in "12"}
    assert files == {"system_config.yml", "personas/*.yml"}
    assert all(any(shipped_root().glob(pattern)) for pattern in files)
