"""What is read from the workspace is text that others wrote, unless the worker vouches for it."""

import pytest
from pydantic import JsonValue

from coterie.activities.tool_functions.function_registry import contracts
from coterie.dsl.egress.channel_labels import COMMAND_FUNCTIONS, call_labels
from coterie.dsl.egress.workspace_reads import (
    FILE_READERS,
    FILE_WRITERS,
    KEEPERS,
    STATE_WRITERS,
    WORKSPACE_READERS,
    is_trusted,
)
from coterie.dsl.model.capabilities import Reach

NO_FILES = {"Cache.get", "Memory.search"}
"""Tool functions with private results that show no file: these are always untrusted."""


def test_every_function_that_returns_private_data_reads_the_workspace_or_what_runs_stored() -> None:
    private = {name for name, one in contracts().items() if "private" in one.labels}
    assert private == {*WORKSPACE_READERS, *NO_FILES}


def test_every_function_with_an_effect_has_a_row_that_says_which_files_it_may_change() -> None:
    effects = {name for name, one in contracts().items() if one.effect != "read"}
    anywhere = {"AssetManager.apply_changes", "AssetManager.process_action", "Git.commit"}
    assert effects == {*FILE_WRITERS, *STATE_WRITERS, *COMMAND_FUNCTIONS, *anywhere}


def test_what_keeps_older_contents_is_read_by_functions_that_show_many_files() -> None:
    assert set(KEEPERS) <= set(WORKSPACE_READERS) - set(FILE_READERS)


@pytest.mark.parametrize("function", sorted({*WORKSPACE_READERS, *NO_FILES}))
@pytest.mark.parametrize(
    ("globs", "vouched"),
    [((), False), (("**",), True), (("*",), True), (("src/*", "**"), True), (("docs/*",), False)],
)
def test_a_read_is_untrusted_unless_the_worker_vouches_for_all_files(
    function: str, globs: tuple[str, ...], vouched: bool
) -> None:
    given: JsonValue = {"path": "src/a.py"}
    labels = call_labels(contracts()[function], given, Reach(trusted_paths=globs))
    assert "private" in labels
    assert ("untrusted" in labels) is (not vouched or function in NO_FILES)


@pytest.mark.parametrize("function", FILE_READERS)
@pytest.mark.parametrize(
    ("path", "untrusted"),
    [("src/a.py", False), ("src/a/b.py", False), ("mail/1.txt", True), ("src/../mail/1", True)],
)
def test_a_file_is_vouched_for_by_its_path(function: str, path: str, untrusted: bool) -> None:
    labels = call_labels(contracts()[function], {"path": path}, Reach(trusted_paths=("src/*",)))
    assert ("untrusted" in labels) is untrusted


def test_no_path_outside_the_workspace_is_vouched_for() -> None:
    assert not is_trusted("../a", ("*",))
