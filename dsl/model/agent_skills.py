"""Agent skills: folders with a SKILL.md, as they are read, in a plan, and in a call.

A plan has the whole text of its skills, so a run never sees another version of them.
"""

from hashlib import sha256
from typing import Annotated, NamedTuple

from pydantic import Discriminator, Field, Tag

from coterie.dsl.errors import Problem
from coterie.dsl.sizes import json_size
from coterie.dsl.values import Frozen

USE_SKILL = "use_skill"
"""The tool by which a model reads a skill."""

SKILL_FUNCTION = "AgentSkills.use"
"""The tool function that it is."""

MAIN_FILE = "SKILL.md"

MAX_SKILLS = 100
"""Of one document; each name and description stands in every first request."""

MAX_SKILL_FILES = 200
"""Of one skill."""

MAX_SKILL_TEXT = 200_000
"""Bytes of a file that the model can read."""

MAX_SKILLS_TEXT = 1_000_000
"""Bytes of JSON of the texts of all skills of a plan, which travel with it."""

SCRIPTS = "scripts/"
"""Where a skill has its scripts."""


def _folders(value: object) -> str:
    return "literal[text]" if isinstance(value, str) else "literal[list]"


SkillFolders = Annotated[
    Annotated[tuple[str, ...], Tag("literal[list]")] | Annotated[str, Tag("literal[text]")],
    Discriminator(_folders),
]
"""Accept one folder, or several."""


class SkillFile(Frozen):
    """A file of an agent skill."""

    size: int = Field(ge=0)
    """Bytes."""
    text: str | None = None
    """Of a text that is not too large; of SKILL.md, what comes after its front matter."""


class AgentSkill(Frozen):
    """An agent skill as its folder has it."""

    name: str
    description: str
    compatibility: str = ""
    """What it needs, in its author's words."""
    allowed_tools: tuple[str, ...] = ()
    """The tools that its author had in mind."""
    files: dict[str, SkillFile] = Field(default_factory=dict[str, SkillFile])
    """`{path within its folder: the file}`, with SKILL.md."""
    file: str = ""
    """Its SKILL.md, as problems name it."""

    @property
    def scripts(self) -> tuple[str, ...]:
        """The paths of its scripts."""
        return tuple(path for path in self.files if path.startswith(SCRIPTS))

    @property
    def text_size(self) -> int:
        """Bytes of the JSON of its texts."""
        return sum(map(json_size, (file.text for file in self.files.values() if file.text)))

    @property
    def digest(self) -> str:
        """Digest of everything that a model sees of it."""
        text = self.model_dump_json(exclude={"file"}, exclude_defaults=True)
        return sha256(text.encode()).hexdigest()[:16]


class SkillFolder(NamedTuple):
    """The skills of one entry of `agent_skills`."""

    skills: tuple[AgentSkill, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Of its SKILL.md files."""
    unusable: str = ""
    """Why the folder itself gives no skills."""
    fix: str = ""


class PlannedSkill(Frozen):
    """An agent skill of a plan: its whole text, and what may run of it."""

    digest: str
    """Of the skill as it was compiled."""
    compatibility: str = ""
    files: dict[str, SkillFile]
    """`{path within its folder: the file}`, with SKILL.md."""
    commands: dict[str, str] = Field(default_factory=dict[str, str])
    """`{script: the worker's command that runs it}`."""


class SkillExcerpt(Frozen):
    """What the plan has for one call of `use_skill`."""

    text: str = ""
    refusal: str = ""
    """Why there is nothing to read; the model gets it."""
