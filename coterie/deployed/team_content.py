"""What a deployed version of a team contains: its files, what a start must give, its schedules.

The worker compiles the files as it compiles a document that comes with a start: it trusts their
text no more, and its own configuration stays its own.
"""

import zlib
from base64 import b64decode, b64encode

from pydantic import Field, ValidationError

from coterie.dsl.compile.compiler import SourceText
from coterie.dsl.json_values import json_digest
from coterie.dsl.model.agent_skills import AgentSkill, SkillFolder
from coterie.dsl.model.plan import DeclaredPath
from coterie.dsl.model.sections.schedule_trigger import ScheduleSection
from coterie.dsl.values import Frozen
from coterie.failures import CommandError
from coterie.workflows.core.registry_messages import MAX_PACKED

_MAX_UNPACKED = 4_000_000
"""Bytes of the JSON of a content: strangers may have packed it."""


class ContentFile(Frozen):
    """One file of a team, or a persona that it uses."""

    file: str
    """Its path in the project, for messages."""
    text: str
    persona: str | None = None
    """The key of the persona, if it is one."""
    included: bool = False
    skills: dict[str, tuple[AgentSkill, ...]] = Field(
        default_factory=dict[str, tuple[AgentSkill, ...]]
    )
    """`{entry of agent_skills: the skills of that folder}`."""

    @property
    def source(self) -> SourceText:
        """The file for the compiler, which trusts it as little as a document of a start."""
        return SourceText(
            self.file,
            self.text,
            trusted=False,
            persona=self.persona,
            included=self.included,
            whole=True,
            skills={entry: SkillFolder(skills) for entry, skills in self.skills.items()},
        )


class TeamContent(Frozen):
    """A version of a team."""

    files: tuple[ContentFile, ...]
    """In merge order."""
    context: dict[str, DeclaredPath] = Field(default_factory=dict[str, DeclaredPath])
    """What it declares of its context, so that a start is checked without compiling."""
    needs: dict[str, str] = Field(default_factory=dict[str, str])
    """`{path of the context: the step that reads it first}`: a start must give these."""
    schedules: dict[str, ScheduleSection] = Field(default_factory=dict[str, ScheduleSection])
    """When its runs start by themselves, by the name of the trigger."""

    @property
    def digest(self) -> str:
        """SHA-256 of everything in it."""
        return json_digest(self.model_dump(mode="json", by_alias=True))

    @property
    def sources(self) -> tuple[SourceText, ...]:
        """Its files for the compiler."""
        return tuple(file.source for file in self.files)


def packed(content: TeamContent) -> str:
    """Return a content for the registry.

    Raises:
        CommandError: It is too large.
    """
    text = content.model_dump_json(exclude_defaults=True, by_alias=True).encode()
    data = b64encode(zlib.compress(text, 9)).decode()
    if len(data) > MAX_PACKED or len(text) > _MAX_UNPACKED:
        raise CommandError(
            f"the team has {len(text):,} bytes, packed {len(data):,}; a version may have "
            f"{MAX_PACKED:,} packed: move large texts into files of the workspace"
        )
    return data


def unpacked(data: str, digest: str) -> TeamContent:
    """Return a content from the registry.

    Raises:
        CommandError: It is not what was deployed.
    """
    problem = CommandError(
        f"the content {digest[:12]} in the registry is damaged; deploy the team again"
    )
    try:
        opened = zlib.decompressobj()
        text = opened.decompress(b64decode(data, validate=True), _MAX_UNPACKED)
        content = TeamContent.model_validate_json(text)
    except (ValueError, zlib.error, ValidationError):
        raise problem from None
    if not opened.eof or content.digest != digest:
        raise problem
    return content
