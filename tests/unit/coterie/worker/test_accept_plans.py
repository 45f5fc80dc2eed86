"""Which workers accept plans that they did not compile."""

from pathlib import Path

import pytest

from coterie.documents.catalog import Catalog
from coterie.documents.trusted_catalog import trusted_catalog
from coterie.settings import load


@pytest.mark.parametrize(
    ("address", "written", "accepts"),
    [
        (None, "", True),
        ("temporal:7233", "", False),
        (None, "worker: {accept_plans: false}\n", False),
        ("temporal:7233", "worker: {accept_plans: true}\n", True),
    ],
)
def test_a_worker_accepts_plans_by_default_only_with_the_embedded_server(
    tmp_path: Path, address: str | None, written: str, accepts: bool
) -> None:
    (tmp_path / "coterie.yml").write_text(written)
    settings = load({} if address is None else {"COTERIE_ADDRESS": address}, tmp_path)
    assert trusted_catalog(settings, Catalog(settings), None).accept_plans is accepts
