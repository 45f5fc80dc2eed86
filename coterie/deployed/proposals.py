"""Turn a document of the project into what can be deployed."""

import re
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from coterie.deployed.team_content import ContentFile, TeamContent
from coterie.documents.catalog import Catalog, Located
from coterie.documents.compilation import compile_located
from coterie.documents.schedule_warnings import schedule_problems
from coterie.dsl.analysis.findings import with_needs
from coterie.dsl.compile.compiler import Compiled, SourceText
from coterie.dsl.errors import InvalidDocument
from coterie.failures import CommandError
from coterie.settings import Settings

_TEAM = re.compile(r"[^\s@/\\]{1,100}")


class Proposal(NamedTuple):
    """A team of the project as it would be deployed."""

    team: str
    file: str
    content: TeamContent
    compiled: Compiled


def proposal_of(catalog: Catalog, target: str, now: datetime) -> Proposal:
    """Compile a document as a worker compiles its deployed version.

    Raises:
        InvalidDocument: With every problem.
        CommandError: It cannot be deployed.
    """
    located = catalog.locate(target)
    if _TEAM.fullmatch(located.name) is None:
        raise CommandError(
            f"{located.name!r} cannot name a deployed team: rename the file, without spaces, '/' "
            "and '@'"
        )
    kept = _own_sources(catalog, located)
    everything = (*sources_beneath(catalog, located), *kept, *catalog.override())
    compiled = with_needs(compile_located(catalog, located, instead=everything))
    used = compiled.plan.personas
    files = tuple(
        ContentFile(
            file=_path_in_project(source.file, catalog.settings),
            text=source.text,
            persona=source.persona,
            included=source.included,
            skills={entry: folder.skills for entry, folder in source.skills.items()},
        )
        for source in kept
        if source.persona is None or source.persona in used
    )
    wrong = [one for one in schedule_problems(compiled, now) if one.severity == "error"]
    if wrong:
        raise InvalidDocument(wrong)
    content = TeamContent(
        files=files,
        context=compiled.plan.context,
        needs=compiled.plan.needs,
        schedules={
            name: trigger.schedule
            for name, trigger in compiled.triggers.items()
            if trigger.schedule is not None
        },
    )
    return Proposal(located.name, catalog.shown(located.file), content, compiled)


def sources_beneath(catalog: Catalog, located: Located) -> tuple[SourceText, ...]:
    """Return what the worker has of its own: the system file of the project."""
    root = located.root or catalog.roots[0]
    return tuple(catalog.system_source(root, located.file))


def _own_sources(catalog: Catalog, located: Located) -> tuple[SourceText, ...]:
    """Return what travels: the personas of its folder, and the document with what it includes."""
    beneath = (*sources_beneath(catalog, located), *catalog.override())
    return tuple(
        source._replace(trusted=False, whole=True)
        for source in catalog.sources(located)
        if source not in beneath
    )


def _path_in_project(file: str, settings: Settings) -> str:
    path = settings.cwd / file
    for folder in (settings.project, path.parent):
        if path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return Path(file).name
