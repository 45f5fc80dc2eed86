"""Discovery does not enter what programs generate, unless a call asks for it."""

import pytest

from coterie.activities.workspace.globs import Globs


@pytest.mark.parametrize("folder", [".venv", "a/node_modules", "src/__pycache__", "build", "dist"])
def test_environments_caches_and_build_output_are_not_entered(folder: str) -> None:
    assert not Globs.of((), ()).enter(folder)
    assert not Globs.of(("*.py",), ()).enter(folder)


def test_a_folder_that_include_names_is_entered() -> None:
    globs = Globs.of(("build/*.html",), ())
    assert globs.enter("build")
    assert not globs.enter("dist")


def test_a_name_that_only_looks_like_one_is_entered() -> None:
    assert Globs.of((), ()).enter("src/builders")
