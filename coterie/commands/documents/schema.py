"""`coterie schema`: print the JSON Schema of documents, for editors."""

import json
from argparse import ArgumentParser, Namespace
from typing import get_args

from coterie.evals.document_schemas import DocumentKind, schema_of
from coterie.failures import ExitCode
from coterie.output_files import write_output
from coterie.settings import Settings
from coterie.terminal import note, say


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "of",
        nargs="?",
        choices=get_args(DocumentKind),
        default="document",
        metavar="WHAT",
        help="document (default), override (a file laid over others, like coterie.yml), "
        "persona (a file of config/personas), test (name.test.yml), suite (for coterie eval)",
    )
    parser.add_argument(
        "-o", dest="output", metavar="FILE", help="write to this file; default: standard output"
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Print the schema, or write it to a file."""
    text = json.dumps(schema_of(args.of), indent=1, ensure_ascii=False)
    if args.output is None:
        say(text)
        return ExitCode.DONE
    write_output(settings.cwd, args.output, f"{text}\n")
    note(f"{args.output}: JSON Schema for {args.of} files")
    return ExitCode.DONE
