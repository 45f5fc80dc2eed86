"""What a deployed version holds: packed for the registry, and never more than was deployed."""

import zlib
from base64 import b64encode

import pytest

from coterie.deployed.team_content import ContentFile, TeamContent, packed, unpacked
from coterie.deployed.version_references import Reference, reference_of
from coterie.dsl.compile.compiler import compile_sources
from coterie.dsl.model.agent_skills import AgentSkill, SkillFile
from coterie.failures import CommandError
from coterie.gateway.identity.identity import Grant, Identity, Role
from coterie.gateway.operations.permissions import Allowed, may
from tests.support.compiling import CAPABILITIES

CONTENT = TeamContent(files=(ContentFile(file="a.yml", text="name: a\n" * 50),), needs={"x": "y"})


def test_a_content_comes_back_as_it_was_packed() -> None:
    assert unpacked(packed(CONTENT), CONTENT.digest) == CONTENT
    assert len(packed(CONTENT)) < 200


def test_a_version_has_the_skills_of_its_personas() -> None:
    skill = AgentSkill(
        name="poems", description="x", files={"SKILL.md": SkillFile(size=6, text="Rhyme.")}
    )
    text = """
llm_config:
  personas: {poet: {provider: scripted, model: m, agent_skills: skills, prompts: {user: Sing.}}}
orchestration: {entry_team: t, teams: {t: {tasks: [{name: sing, persona_key: poet}]}}}
"""
    content = TeamContent(
        files=(ContentFile(file="a.yml", text=text, skills={"skills": (skill,)}),)
    )
    kept = unpacked(packed(content), content.digest)
    plan = compile_sources(kept.sources, CAPABILITIES, name="t").plan
    assert plan.skills["poems"].files == skill.files


def zipped(text: bytes) -> str:
    return b64encode(zlib.compress(text)).decode()


@pytest.mark.parametrize(
    "data",
    [
        "",
        "no base64!",
        b64encode(b"not zipped").decode(),
        zipped(b"{}"),
        zipped(b" " * 50_000_000),
        packed(CONTENT.model_copy(update={"needs": {}})),
    ],
    ids=["empty", "text", "bytes", "other", "bomb", "changed"],
)
def test_anything_else_is_refused(data: str) -> None:
    with pytest.raises(CommandError, match="is damaged; deploy the team again"):
        unpacked(data, CONTENT.digest)


def test_a_team_that_is_too_large_is_refused_with_its_size() -> None:
    noise = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(200_000))
    with pytest.raises(CommandError, match="a version may have 200,000 packed"):
        packed(TeamContent(files=(ContentFile(file="a.yml", text=noise),)))


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("review", Reference("review")),
        ("review@3", Reference("review", 3)),
        ("review@", Reference("review@")),
        ("@3", Reference("@3")),
        ("a@b@12", Reference("a@b", 12)),
        ("review@3x", Reference("review@3x")),
        ("review@1234567", Reference("review@1234567")),
        ("review@३", Reference("review@३")),
    ],
)
def test_a_start_names_a_team_or_one_version_of_it(text: str, reference: Reference) -> None:
    assert reference_of(text) == reference


@pytest.mark.parametrize(("grant", "is_allowed"), [("review", True), ("*3", False)])
def test_who_may_start_a_team_may_start_its_versions(grant: str, is_allowed: bool) -> None:
    identity = Identity(
        subject="ann", method="token", grants=(Grant(role=Role.STARTER, teams=grant),)
    )
    assert isinstance(may(identity, (Role.STARTER,), "review@3"), Allowed) is is_allowed
