"""`coterie agent`: let the team `agent_loop` reach a goal, freely or by a workflow."""

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from shlex import quote
from typing import Literal, assert_never, get_args

from coterie.argument_values import read_context
from coterie.arguments import add_key, add_model, name_given, run_id
from coterie.commands.runs.run import run as run_team
from coterie.commands.screen_option import add_screen
from coterie.documents.compilation import compile_target
from coterie.dsl.values import Json
from coterie.failures import CommandError, ExitCode
from coterie.runs.workflow_templates import (
    AGENT_TEAM,
    WorkflowTemplate,
    named_template,
    template_text,
    templates_of,
    with_files,
    workflow_context,
)
from coterie.settings import Settings
from coterie.terminal import say
from coterie.text.columns import aligned

_Action = Literal["run", "debug", "implement", "workflow"]


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "action",
        choices=get_args(_Action),
        help="run a goal, debug an error, implement a feature, or follow a workflow",
    )
    parser.add_argument(
        "text", nargs="?", metavar="GOAL_OR_WORKFLOW", help="the goal; for `workflow`, its name"
    )
    parser.add_argument(
        "--workflow", type=name_given, metavar="NAME", help="the workflow that a goal follows"
    )
    parser.add_argument("--files", nargs="+", default=[], metavar="FILE", help="files to look at")
    parser.add_argument(
        "--context", metavar="JSON|@FILE", help="known details: a JSON object, or a YAML file"
    )
    parser.add_argument("--list", action="store_true", help="list the workflows")
    parser.add_argument("--info", action="store_true", help="show a workflow and what it needs")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="set a value of the run's context, such as planning=false or max_iterations=20",
    )
    parser.add_argument("--id", type=run_id, help="the run's id; default: a generated one")
    add_model(parser)
    add_key(parser)
    parser.add_argument(
        "--decisions", metavar="FILE", help="a YAML file with decisions on approvals"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="print every event of the run with its reason"
    )
    parser.add_argument(
        "--workspace", metavar="DIR", help="the folder that tool functions may touch"
    )
    add_screen(parser)


def run(args: Namespace, settings: Settings) -> ExitCode:
    """List or show workflows, or start a run and stay with it to its end."""
    plan = compile_target(settings, AGENT_TEAM).compiled.plan
    templates = templates_of(plan.settings)
    if args.list:
        say(
            "\n".join(aligned([(key, template.description) for key, template in templates.items()]))
        )
        return ExitCode.DONE
    if args.info:
        name = args.text if args.action == "workflow" else args.workflow
        say(template_text(*named_template(templates, name)))
        return ExitCode.DONE
    context = _context(args.action, args, read_context(settings, args.context, ()), templates)
    options = {**vars(args), "target": AGENT_TEAM, "resume": None, "context": json.dumps(context)}
    return run_team(Namespace(**options), settings)


def _context(
    action: _Action, args: Namespace, details: Json, templates: Mapping[str, WorkflowTemplate]
) -> Json:
    """Return the context of the run that a person asks for."""
    match action:
        case "workflow":
            name, text = args.text, None
        case "debug":
            name, text = args.workflow or "debug_bug", _goal(args)
        case "implement":
            name, text = args.workflow or "implement_feature", _goal(args)
        case "run":
            name, text = args.workflow, _goal(args)
            if name is None:
                return {"goal": text, "details": with_files(details, args.files)}
        case _:
            assert_never(action)
    return workflow_context(*named_template(templates, name), text, details, args.files)


def _goal(args: Namespace) -> str:
    if args.text is None:
        raise CommandError(f'say what to do: coterie agent {quote(args.action)} "..."')
    return str(args.text)
