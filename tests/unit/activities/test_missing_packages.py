"""A package that is not installed is named with the command that installs it."""

import pytest

from activities.skills.missing_packages import needing
from activities.workspace.skill_failures import SkillFailure


def test_a_missing_package_names_the_command_that_installs_it() -> None:
    with pytest.raises(SkillFailure) as caught, needing("web", "Web.fetch"):
        raise ModuleNotFoundError("No module named 'lxml'", name="lxml")
    assert str(caught.value) == (
        "Web.fetch needs the package 'lxml', which is not installed; install it with "
        "`pip install 'coterie[web]'`"
    )
    assert not caught.value.may_pass
