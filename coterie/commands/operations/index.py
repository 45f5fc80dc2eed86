"""`coterie index PATH`: index texts for `Retriever.search`; reindex only what changed."""

import time
from argparse import ArgumentParser, Namespace

from coterie.activities.tool_functions.knowledge.knowledge_index import Indexed, update_index
from coterie.activities.tool_functions.knowledge.stores import INDEX_FILE, opened
from coterie.activities.workspace.function_failures import FunctionFailure, FunctionRefusal
from coterie.activities.workspace.globs import Globs
from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.failures import CommandError, ExitCode
from coterie.settings import Settings, state_folder
from coterie.terminal import note, say
from coterie.worker.surroundings import workspace_of


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("path", metavar="PATH", help="a folder or file, anywhere")
    parser.add_argument(
        "--source", metavar="NAME", help="the name of these texts in results (default: PATH's own)"
    )
    parser.add_argument(
        "--include",
        metavar="GLOB",
        action="append",
        default=[],
        help="index only files that match, as in a .gitignore; repeatable",
    )
    parser.add_argument(
        "--exclude", metavar="GLOB", action="append", default=[], help="leave files out; repeatable"
    )
    parser.add_argument("--workspace", metavar="DIR", help="the workspace of the index")


def run(args: Namespace, settings: Settings) -> ExitCode:
    """Index the folder, and drop files that no longer exist."""
    path = settings.cwd / args.path
    if not path.exists():
        raise CommandError(f"nothing exists at {args.path}; name a folder or a file")
    trusted = trusted_catalog(settings, Catalog(settings), args.workspace)
    workspace = workspace_of(trusted, settings)
    if workspace.state_dir == settings.state:
        state_folder(settings)  # with its .gitignore
    source = args.source or path.resolve().name
    try:
        globs = Globs.of(tuple(args.include), tuple(args.exclude))
        with opened(workspace.state_dir / INDEX_FILE, "coterie index") as store:
            counts = update_index(
                store, path, source, globs, workspace.state_dir, time.time(), _announce
            )
            documents, passages = store.count()
    except (FunctionFailure, FunctionRefusal) as error:
        raise CommandError(str(error)) from None
    say(f"{source}: {_words(counts)}")
    say(f"the index has {passages} passages of {documents} files")
    return ExitCode.DONE


def _announce(path: str, number: int, files: int) -> None:
    note(f"indexing {number} of {files}: {path}")


def _words(counts: Indexed) -> str:
    return (
        f"{counts.added} indexed, {counts.unchanged} unchanged, {counts.removed} removed, "
        f"{counts.skipped} without readable text"
    )
