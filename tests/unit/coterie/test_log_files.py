"""A command that only reads works where nobody may write."""

import logging
from pathlib import Path

from coterie.logs import to_file_if_writable
from coterie.settings import load


def test_a_folder_that_cannot_be_written_costs_the_log_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / ".coterie").write_text("a file, where the folder would be")
    before = len(logging.getLogger().handlers)
    to_file_if_writable(load({}, tmp_path))
    *_, added = logging.getLogger().handlers
    assert isinstance(added, logging.NullHandler)
    logging.getLogger().removeHandler(added)
    assert len(logging.getLogger().handlers) == before
