"""`coterie schema`: print the JSON Schema of documents, for editors."""

import json
from argparse import ArgumentParser, Namespace
from typing import get_args

from coterie.evals.document_schemas import DocumentKind, schema_of
from coterie.evals.language_card import language_card
from coterie.failures import ExitCode
from coterie.output_files import write_output
from coterie.settings import Settings
from coterie.terminal import note, say

_CARD = "card"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "of",
        nargs="?",
        choices=(*get_args(DocumentKind), _CARD),
        default="document",
        metavar="WHAT",
        help="document (default), override (a file laid over others, like coterie.yml), "
        "persona (a file of config/personas), test (name.test.yml), suite (for coterie eval), "
        "card (the whole language on a few pages of Markdown, for models that write teams)",
    )
    parser.add_argument(
        "-o", dest="output", metavar="FILE", help="write to this file; default: standard output"
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Print the schema, or write it to a file."""
    is_card = args.of == _CARD
    text = (
        language_card().rstrip("\n")
        if is_card
        else json.dumps(schema_of(args.of), indent=1, ensure_ascii=False)
    )
    if args.output is None:
        say(text)
        return ExitCode.DONE
    write_output(settings.cwd, args.output, f"{text}\n")
    what = "the language card" if is_card else f"JSON Schema for {args.of} files"
    note(f"{args.output}: {what}")
    return ExitCode.DONE
