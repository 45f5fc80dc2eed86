"""A package that is not installed is named with the command that installs it."""

import inspect
import re
from importlib import import_module

import pytest

from coterie.activities.extra_packages import install_command
from coterie.activities.skills.missing_packages import SKILL_EXTRAS, needing, needing_packages
from coterie.activities.skills.skill_registry import SKILLS
from coterie.activities.workspace.skill_base import Skill
from coterie.activities.workspace.skill_failures import SkillFailure
from coterie.doctor.checkup import EXTRAS


def test_a_missing_package_names_the_command_that_installs_it() -> None:
    with pytest.raises(SkillFailure) as caught, needing("web", "Web.fetch"):
        raise ModuleNotFoundError("No module named 'lxml'", name="lxml")
    assert str(caught.value) == (
        "Web.fetch needs the package 'lxml', which is not installed; install it with "
        f"`{install_command('web')}`"
    )
    assert not caught.value.may_pass


def test_the_table_of_extras_has_each_skill_that_needs_packages() -> None:
    """Such a skill opens a store, or imports its packages where it runs."""
    needs: set[str] = set()
    for name, skill in SKILLS.items():
        assert isinstance(skill, Skill)
        text = inspect.getsource(inspect.getmodule(skill.run) or inspect)
        if re.search(r"needing_packages\(|stores import", text):
            needs.add(name)
    assert needs == SKILL_EXTRAS.keys()
    assert set(SKILL_EXTRAS.values()) <= EXTRAS.keys()
    for skill, extra in SKILL_EXTRAS.items():
        noun = skill if extra == "web" else skill.replace(".store", ".search")
        assert noun in EXTRAS[extra], skill


@pytest.mark.parametrize("skill", SKILL_EXTRAS)
def test_a_skill_without_its_packages_names_the_command(skill: str) -> None:
    command = re.escape(f"`{install_command(SKILL_EXTRAS[skill])}`")
    with (
        pytest.raises(SkillFailure, match=f"{skill} needs the package 'nowhere'.*{command}"),
        needing_packages(skill),
    ):
        import_module("nowhere")
