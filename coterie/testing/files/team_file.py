"""What the readers of test files and of suites share: the file, its workspace, its team."""

from argparse import ArgumentTypeError
from dataclasses import replace
from pathlib import Path

from coterie.argument_values import read_text
from coterie.arguments import model_name
from coterie.documents.catalog import Catalog, shown
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.problem_details import ProblemText, rule
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.nodes import Node, Place
from coterie.dsl.source.unknown_names import unknown
from coterie.dsl.source.yaml_reader import read
from coterie.dsl.values import Json, NodePath
from coterie.settings import OVERRIDE_FILE, Settings


@rule("E405")
def case_cannot_start(case: str, reason: str, *, under: str = "", fix: str = "") -> ProblemText:
    return ProblemText(f"the case {case!r} cannot start{under}: {reason}", fix=fix)


@rule("E001")
def named_nothing(key: str, name: object, what: str) -> ProblemText:
    return ProblemText(
        f"`{key}` names {name}, which is not a {what}", fix=f"name a {what}, relative to this file"
    )


@rule("E103")
def model_name_refused(reason: str) -> ProblemText:
    return ProblemText(reason)


class TeamFileReader:
    """Reads a file that names a team and its workspace, and collects its problems."""

    def __init__(self, settings: Settings, file: Path) -> None:
        self.settings = settings
        self.file = file
        self.shown = shown(file, settings)
        self.problems = Problems()

    def tree(self) -> Node:
        """Return what is written.

        Raises:
            InvalidDocument: It is not YAML.
        """
        return read(read_text(self.file, self.shown), self.shown)

    def stop_on_errors(self) -> None:
        """Raise InvalidDocument, with every problem so far, if there is one."""
        if self.problems.errors:
            raise InvalidDocument(self.problems.errors)

    def workspace(self, tree: Node) -> tuple[Path | None, Settings]:
        """Return the folder of the cases, and the settings of the project that they are in."""
        node = tree.child("workspace")
        if node is None or not isinstance(node.value, str):
            return None, self.settings
        folder = self.file.parent / node.value
        if not folder.is_dir():
            self.not_there(tree, ("workspace",), "folder")
            return None, self.settings
        folder = folder.resolve()
        own = (folder / OVERRIDE_FILE).is_file()
        return folder, replace(self.settings, project=folder) if own else self.settings

    def target(self, tree: Node, settings: Settings) -> str | None:
        """Return the team, a file or a name; None after a problem."""
        node = tree.child("team")
        if node is None or not isinstance(node.value, str):
            return None  # reported with the shape
        path = self.file.parent / node.value
        if path.is_file():
            return str(path.resolve())
        catalog = Catalog(settings)
        if catalog.named(node.value) is None:
            unknown(self.problems, Place(node.mark, ("team",)), "team", node.value, catalog.names())
            return None
        return node.value

    def is_model(self, tree: Node, path: NodePath, model: str | None) -> bool:
        """Return whether there is no name of a model, or it can be one; report any other."""
        try:
            if model is not None:
                model_name(model)
        except ArgumentTypeError as error:
            self.problems.report(model_name_refused(str(error)), tree.value_at(path))
            return False
        return True

    def not_there(self, tree: Node, path: NodePath, what: str) -> None:
        """Report a path of the file system that names no file, or no folder."""
        node = tree.find(path)
        details = named_nothing(str(path[-1]), node.value, what)
        self.problems.report(details, Place(node.mark, path))


def merged_context(base: Json, override: Json) -> Json:
    """Merge a case's context over the file's: mappings recurse, and null is a value."""
    merged = dict(base)
    for key, value in override.items():
        below = merged.get(key)
        both = isinstance(below, dict) and isinstance(value, dict)
        merged[key] = merged_context(below, value) if both else value  # type: ignore[arg-type]
    return merged
