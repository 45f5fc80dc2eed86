"""Read `access` from the project's `coterie.yml`, and the files and variables that it names."""

from pathlib import Path

from coterie.documents.catalog import Catalog
from coterie.dsl.compile.shapes import parse_document
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.sections.access_document import AccessSection
from coterie.dsl.source.collected_problems import Problems
from coterie.dsl.source.yaml_reader import read
from coterie.failures import CommandError
from coterie.settings import Settings


def load_access(settings: Settings) -> AccessSection:
    """Return the section `access` of the project; without one, the defaults.

    Raises:
        InvalidDocument: It has problems, each with its position and fix.
    """
    access = AccessSection()
    for source in Catalog(settings).override():
        tree = read(source.text, source.file)
        section = tree.child("access")
        if section is None or source.included:
            continue
        problems = Problems()
        document, _ = parse_document(tree.with_value({"access": section}), problems)
        if document is None or problems.errors:
            raise InvalidDocument(problems.errors)
        access = document.access or access
    return access


def tokens_file(access: AccessSection, settings: Settings) -> Path:
    """Return the file with the digests of tokens."""
    return settings.project / access.tokens


def secret_of(settings: Settings, variable: str, key: str) -> str:
    """Return the value of an environment variable that `access` names.

    Raises:
        CommandError: It is not set.
    """
    value = settings.secret(variable)
    if value is None:
        raise CommandError(
            f"`access.{key}` names the environment variable {variable}, which is not set; "
            "set it where `coterie serve` starts"
        )
    return value
