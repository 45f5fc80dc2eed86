"""What a YAML file is for: found from its folder and its top keys."""

from pathlib import Path

import pytest

from coterie.documents.file_kinds import is_persona
from coterie.dsl.source.yaml_events import top_keys
from coterie.dsl.source.yaml_reader import read
from tests.support.documents.large_document import large_document


@pytest.mark.parametrize(
    ("folder", "text", "expected"),
    [
        ("teams", "prompts: {user: hello}", True),
        ("teams", "model: m\nexecution_plan: []", True),
        ("teams", "model: m", False),
        ("teams", "orchestration: {}\nprompts: {}", False),
        ("teams", "prompts: {}\norchestration: {}", False),
        ("teams", "orchestration: {}\nprompts: [", False),
        ("teams", "- prompts", False),
        ("personas", "model: m", True),
        ("personas", "orchestration: {}", False),
        ("personas", "orchestration: [", True),
        ("personas", "text", True),
    ],
)
def test_persona_files_are_known_by_folder_and_keys(
    folder: str, text: str, expected: bool, tmp_path: Path
) -> None:
    file = tmp_path / folder / "file.yml"
    file.parent.mkdir()
    file.write_text(text)
    assert is_persona(file) is expected


@pytest.mark.parametrize(
    "text", ["a: 1\n'b': [c, d]\ne: {f: {g: h}}\n", "\ufeffa: &x 1\nb: *x\n", large_document()]
)
def test_top_keys_are_the_keys_of_the_tree(text: str) -> None:
    assert list(top_keys(text)) == list(read(text, "file").entries())


@pytest.mark.parametrize(
    ("text", "keys"), [("- a", []), ("a", []), ("", []), ("a: 1\nb: [", ["a"])]
)
def test_top_keys_end_where_the_text_is_unreadable(text: str, keys: list[str]) -> None:
    assert list(top_keys(text))[: len(keys)] == keys
    assert text.startswith("a: ") or list(top_keys(text)) == []
