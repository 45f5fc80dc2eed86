"""A project with a worker, whose own folders lack the teams that these tests deploy."""

from collections.abc import Iterator

import pytest

from coterie.failures import ExitCode
from tests.support.cli import DESK
from tests.support.project import Project, project


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The project: a worker on the desk of all tests would serve what others leave waiting."""
    with project(tmp_path_factory.mktemp("deploys") / "desk", sample=DESK) as made:
        assert made.coterie("server").returncode == 0
        made.begin("worker")
        yield made


def done(project: Project, *words: str) -> str:
    """What a command prints that ends well."""
    ended = project.coterie(*words)
    assert ended.returncode == ExitCode.DONE, ended.stderr
    return ended.stdout
