"""`coterie init`: create a project with a team, its test and a coterie.yml."""

from argparse import ArgumentParser, Namespace
from shlex import quote

from coterie.documents.new_project import TEAM, create_project, create_tool_project
from coterie.failures import ExitCode
from coterie.settings import Settings
from coterie.terminal import note, say


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "folder", nargs="?", default=".", metavar="DIR", help="the folder; default: this one"
    )
    parser.add_argument(
        "--tool",
        metavar="NAME",
        help="write a tool in Python with this name, a team that uses it, and its test",
    )


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Write the files, print their names, and suggest the next commands."""
    folder = settings.cwd / args.folder
    if args.tool is None:
        names = create_project(folder)
        commands = [f"coterie run {TEAM} --set changes='the search is faster'"]
    else:
        names = create_tool_project(folder, args.tool)
        function = f"{args.tool}_tools:{args.tool}"
        commands = [
            f"""coterie tools call {quote(function)} --arguments '{{"text": "a b a"}}'""",
            f"coterie run {quote(args.tool)} --set text='red red blue'",
        ]
    for name in names:
        say(str(name))
    into = [] if args.folder == "." else [f"cd {args.folder}"]
    note("\n  ".join(["next:", *into, "coterie test", *commands]))
    return ExitCode.DONE
