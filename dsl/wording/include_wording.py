"""Problems of the files that a document includes."""

from collections.abc import Collection, Sequence

from coterie.dsl.errors import listed, nearest
from coterie.dsl.problem_details import ProblemText, rule


@rule("E006")
def include_leaves_folder(entry: str, *, links_to: str = "") -> ProblemText:
    reason = f" is a link to {links_to}, which" if links_to else ""
    return ProblemText(
        f"the include {entry!r}{reason} is outside the folder of this file",
        "a path or a glob below this file's folder: workflows/*.yml",
        "move the file below this folder",
    )


@rule("E006")
def include_missing(entry: str, known: Collection[str]) -> ProblemText:
    return ProblemText(
        f"the include {entry!r} does not exist", listed(known), nearest(entry, known)
    )


@rule("E006")
def include_wrong_file(entry: str, kind: str) -> ProblemText:
    fix = f"write {entry.rstrip('/') or '.'}/*.yml" if kind == "a folder" else "name a document"
    return ProblemText(
        f"the include {entry!r} is {kind}", "files that end in .yml or .yaml, but not tests", fix
    )


@rule("E006")
def include_unreadable(file: str, reason: str, fix: str) -> ProblemText:
    return ProblemText(f"the include {file} could not be read: {reason}", fix=fix)


@rule("E006")
def include_too_large(what: str) -> ProblemText:
    return ProblemText(what, fix="include fewer files")


@rule("W518")
def include_empty(entry: str) -> ProblemText:
    return ProblemText(
        f"no file matches the include {entry!r}", fix="remove it, or correct the glob"
    )


@rule("E007")
def include_cycle(files: Sequence[str]) -> ProblemText:
    return ProblemText(
        f"these files include each other: {' -> '.join(files)}",
        fix="remove one of these includes, or move what both need into a third file",
    )


@rule("E601")
def include_inline() -> ProblemText:
    return ProblemText(
        "an inline document cannot use `include`: the worker gets only its text, without the "
        "other files",
        fix="start the run by the name of a team that the worker has, or by its file with "
        "`coterie run FILE`",
    )


@rule("E110")
def key_of_including(key: str) -> ProblemText:
    return ProblemText(
        f"the key {key!r} has no effect in an included file: it belongs to the document that "
        "includes it",
        "llm_config.personas, orchestration.teams, orchestration.settings, tools, include",
        f"move {key!r} to the document that includes this file, or remove it",
    )


@rule("E208")
def defined_twice(what: str, name: str, at: str) -> ProblemText:
    return ProblemText(
        f"the {what} {name!r} is also defined at {at}",
        fix=f"rename one {what}, or remove one",
    )


@rule("E103")
def include_form() -> ProblemText:
    return ProblemText("'include' is not a list of strings", "[workflows/*.yml]")
