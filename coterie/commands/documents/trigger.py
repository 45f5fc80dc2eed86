"""`coterie trigger`: show what a delivery of a webhook would do, and start nothing."""

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from coterie.arguments import add_target
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import check_start, compile_located
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.errors import TemplateFailed, listed, nearest
from coterie.dsl.evaluate.webhook_events import Ignored, effect_of
from coterie.explaining.trigger_text import delivery_text, effect_json, sample_event
from coterie.failures import CommandError, ExitCode
from coterie.runs.new_runs import check_id
from coterie.settings import Settings
from coterie.terminal import note, say
from coterie.text.document_text import unreadable_text

_HOW = "give it in `context` of the trigger"
_MAX_BODY = 1024 * 1024


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_target(parser)
    parser.add_argument("trigger", metavar="TRIGGER", help="the name of the trigger")
    parser.add_argument(
        "--payload", required=True, metavar="FILE", help="the body of the delivery, as JSON"
    )
    parser.add_argument(
        "--header",
        action="append",
        type=_header,
        default=[],
        metavar="NAME:VALUE",
        dest="headers",
        help="a header of the delivery, such as X-GitHub-Event:pull_request",
    )
    parser.add_argument("--json", action="store_true", help="print the effect as JSON")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Compile the document, and evaluate the delivery as the gateway does."""
    catalog = Catalog(settings)
    located = catalog.locate(args.target)
    compiled = with_needs(compile_located(catalog, located, only_shown=True))
    found = compiled.triggers.get(args.trigger)
    section = None if found is None else found.webhook
    if section is None:
        names = [name for name, trigger in compiled.triggers.items() if trigger.webhook is not None]
        hint = nearest(args.trigger, names) or f"the webhooks are: {listed(names) or 'none'}"
        raise CommandError(f"{args.target} has no webhook {args.trigger!r}; {hint}")
    body = _body(settings.cwd / args.payload, args.payload)
    try:
        event = sample_event(section, dict(args.headers), body)
        effect = effect_of(section, located.name, args.trigger, event)
    except (ValueError, TemplateFailed) as error:
        raise CommandError(f"the gateway would refuse {args.payload}: {error}") from None
    if not isinstance(effect, Ignored):
        check_id(effect.run)
        if effect.context is not None:
            plan = compiled.plan
            check_start(effect.context, plan.context, plan.needs, how=_HOW)
    if args.json:
        say(json.dumps(effect_json(effect), indent=2, ensure_ascii=False))
    else:
        say(delivery_text(located.name, args.trigger, section, event, effect))
    missing = [name for name in section.secrets if settings.secret(name) is None]
    if missing:
        note(f"the gateway needs {listed(missing)}, which is not set here")
    return ExitCode.DONE


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise ArgumentTypeError(f"{text!r} is no header; write NAME:VALUE")
    return name.strip().lower(), value.strip()


def _body(file: Path, name: str) -> bytes:
    try:
        with file.open("rb") as stream:
            body = stream.read(_MAX_BODY + 1)
    except OSError as error:
        raise CommandError(f"could not read {name}: {unreadable_text(error).reason}") from None
    if len(body) > _MAX_BODY:
        raise CommandError(f"{name} has more than {_MAX_BODY:,} bytes, which the gateway refuses")
    return body
