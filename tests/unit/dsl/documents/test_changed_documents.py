"""What is reported of a document with one change stays what it was: problems, plan, worst case."""

from pathlib import Path

import pytest

from tests.support.documents.changed_documents import RECORDS, read, records, report, sources

AGAIN = "meant? then: python -m tests.support.documents.record_changes"
FILES = [file for file in sources() if records(file)]


def test_every_record_belongs_to_a_document() -> None:
    assert {f"{file.parent.name}.{file.stem}" for file in FILES} == {
        file.stem for file in RECORDS.iterdir()
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_change_of_a_document_is_reported_as_before(file: Path) -> None:
    document = read(file)
    for change, known in records(file):
        assert report(change.applied(document)) == known, f"{change}; {AGAIN}"
