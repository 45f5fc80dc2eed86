"""Name the command that installs the packages of a skill, where they are missing."""

from collections.abc import Generator
from contextlib import contextmanager

from activities.workspace.skill_failures import SkillFailure


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
            f"`pip install 'coterie[{extra}]'`"
        ) from None
