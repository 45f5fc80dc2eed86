"""A set of changes is known by its digest, in every attempt and by every version of the worker."""

from pathlib import Path

from activities.changes.change import Change
from activities.skills.asset_manager import apply_set
from activities.workspace.skill_base import Workspace

DIGEST = "545fb89719309f1b44321ccaf0ce972f47bdd3af51f5642b87b7b7c83b46c1ef"


def test_a_set_of_changes_has_the_same_digest_in_a_later_version(tmp_path: Path) -> None:
    """An interrupted set is completed only if the journal has the digest of the same set."""
    changes = [
        Change(file_path="a.txt", type="create", content="é"),
        Change(file_path="b.txt", type="create", content="b"),
    ]
    assert apply_set(Workspace(tmp_path), changes, "call").digest == DIGEST
    assert apply_set(Workspace(tmp_path), changes, "again").digest == DIGEST
