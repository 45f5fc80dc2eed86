"""Any id that Temporal takes works in every command; others are refused before the run."""

import argparse
from pathlib import Path

import pytest

from coterie.activities.workspace.project_files import write_private
from coterie.arguments import run_id
from coterie.runs.run_workspaces import record_file
from coterie.server.connection import ui_address


@pytest.mark.parametrize("id", ["a", "é" * 500, "x" * 1000, "order 7/b#2?", "a%2Fb"])
def test_an_id_that_temporal_takes_is_accepted(id: str) -> None:
    assert run_id(id) == id


@pytest.mark.parametrize(
    ("id", "problem"),
    [
        ("", "it is empty"),
        ("a\nb", "line break"),
        ("a\tb", "a tab"),
        ("a\x1b[1A", "invisible character"),
        ("x" * 1001, "it has 1,001 bytes; Temporal takes at most 1,000"),
        ("é" * 501, "it has 1,002 bytes"),
        ("coterie-registry-coterie", "ids that begin with 'coterie-registry-' are reserved"),
        ("coterie-audit-coterie", "ids that begin with 'coterie-audit-' are reserved"),
        ("coterie-bulk-retry-1", "ids that begin with 'coterie-bulk-' are reserved"),
    ],
)
def test_another_id_is_refused_with_the_reason(id: str, problem: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=problem):
        run_id(id)


@pytest.mark.parametrize("length", [150, 151, 246, 255, 1000])
def test_the_records_of_long_ids_have_different_files(tmp_path: Path, length: int) -> None:
    ids = ("x" * length, "x" * (length - 1) + "/", "x" * (length - 1) + "y")
    for id in ids:
        write_private(record_file(tmp_path, id), id)
    assert [record_file(tmp_path, id).read_text() for id in ids] == [*ids]


def test_the_ui_address_of_a_run_is_percent_encoded() -> None:
    assert ui_address("http://127.0.0.1:1", "a/b", "order 7/b#2?") == (
        "http://127.0.0.1:1/namespaces/a%2Fb/workflows/order%207%2Fb%232%3F"
    )
