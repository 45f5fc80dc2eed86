"""`coterie init`: create a project with a team, its test and a coterie.yml."""

from argparse import ArgumentParser, Namespace

from coterie.documents.new_project import TEAM, create_project
from coterie.failures import ExitCode
from coterie.settings import Settings
from coterie.terminal import note, say


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "folder", nargs="?", default=".", metavar="DIR", help="the folder; default: this one"
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Write the files, print their names, and suggest the next commands."""
    for name in create_project(settings.cwd / args.folder):
        say(str(name))
    into = "" if args.folder == "." else f"  cd {args.folder}\n"
    note(f"next:\n{into}  coterie test\n  coterie run {TEAM} --set changes='the search is faster'")
    return ExitCode.DONE
