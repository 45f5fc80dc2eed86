"""Name the command that installs the packages of a skill, where they are missing."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Final

from coterie.activities.extra_packages import install_command
from coterie.activities.workspace.skill_failures import SkillFailure

SKILL_EXTRAS: Final[Mapping[str, str]] = {
    "Arxiv.search": "web",
    "Memory.search": "retrieval",
    "Memory.store": "retrieval",
    "Retriever.search": "retrieval",
    "Web.fetch": "web",
    "Web.search": "web",
}
"""`{skill: the extra of Coterie that has its packages}`; the others need none."""


@contextmanager
def needing_packages(skill: str) -> Generator[None]:
    """Import the packages of a skill in the block, as its row of `SKILL_EXTRAS` says.

    Raises:
        SkillFailure: One is not installed; the message has the command.
    """
    with needing(SKILL_EXTRAS[skill], skill):
        yield


@contextmanager
def needing(extra: str, skill: str) -> Generator[None]:
    """Import the packages of a skill in the block.

    Args:
        extra: The extra of Coterie that has them.
        skill: The name of the skill.

    Raises:
        SkillFailure: One is not installed; the message has the command.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise SkillFailure(
            f"{skill} needs the package {error.name!r}, which is not installed; install it with "
            f"`{install_command(extra)}`"
        ) from None
