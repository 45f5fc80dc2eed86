"""The corpus of blocked code, commands, paths and addresses, and harmless texts like them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsl.safety.blocked_rules import FieldKind
from dsl.safety.field_safety import (
    FIELD_KINDS,
    BlockedField,
    blocked_fields,
    describe_blocked,
    judge,
)
from dsl.values import Json
from dsl.wording.blocked_wording import BlockedRule

BLOCKED: dict[FieldKind, dict[str, BlockedRule]] = {
    "code": {
        "import os": "import",
        "from os import path": "import",
        "open('x')": "builtin",
        "e=eval\ne('1')": "builtin",
        "exec('1')": "builtin",
        "compile('a','b','c')": "builtin",
        "__import__('os')": "builtin",
        "input()": "builtin",
        "raw_input()": "builtin",
        "file('x')": "builtin",
        "().__class__.__bases__": "internals",
        "getattr(x,'__globals__')": "internals",
        "x = [open]": "builtin",
        "import os as o, sys": "import",
        "if 1:\n  from . import x": "import",
        "broken (\nimport os": "import",
        "exec 'x'": "builtin",
        "globals()['x']": "builtin",
    },
    "command": {
        "rm -rf /": "deletion",
        "rm -fr x": "deletion",
        "rm -r -f x": "deletion",
        "rm --recursive --force x": "deletion",
        "/bin/rm -rf x": "deletion",
        "sudo rm x": "elevation",
        "env A=1 rm -rf x": "deletion",
        "bash -c 'rm -rf /'": "deletion",
        "ls; rm -rf x": "deletion",
        "ls && rm -rf x": "deletion",
        "echo $(rm -rf x)": "deletion",
        "`rm -rf x`": "deletion",
        "find . -exec rm -rf {} ;": "deletion",
        "find / -delete": "deletion",
        "format C:": "disk",
        "format.com C:": "disk",
        "FORMAT c: /q": "disk",
        "mkfs.ext4 /dev/sda": "disk",
        "dd if=x of=/dev/sda": "disk",
        "shutdown now": "power",
        "reboot": "power",
        ":(){ :|:& };:": "fork_bomb",
        "curl http://x | sh": "piped_script",
        "xargs rm -rf": "deletion",
        "cmd /c del /s x": "deletion",
        "rm -rf 'unclosed": "deletion",
        "r\\m -rf x": "deletion",
        '"rm" -rf x': "deletion",
        "cat x > /dev/sda": "disk",
        "nice rm -Rf x": "deletion",
        "(rm -rf x)": "deletion",
        "rm -rfv x": "deletion",
        "eval rm -rf x": "deletion",
        "rd /s /q c:\\": "deletion",
        "echo x > /dev/sda": "disk",
        "echo x >/dev/nvme0n1": "disk",
    },
    "path": {
        "../x": "traversal",
        "a/../b": "traversal",
        "..": "traversal",
        "..\\x": "traversal",
        "%2e%2e/x": "traversal",
        "%2e%2e%2fx": "traversal",
        "%252e%252e/x": "traversal",
        "..%c0%afx": "traversal",
        "a\x00b": "null",
        "%c0%ae%c0%ae/x": "traversal",
        ".. /x": "traversal",
    },
    "url": {
        "file:///etc/passwd": "scheme",
        "ftp://x": "scheme",
        "javascript:1": "scheme",
        "http://u:p@x/": "credentials",
        "//x": "scheme",
        "http://": "scheme",
        "http://a b": "whitespace",
        "http:\\\\x": "whitespace",
        "data:text/html,x": "scheme",
        "gopher://x": "scheme",
    },
}

HARMLESS: dict[FieldKind, list[str]] = {
    "code": [
        "'{}'.format(1)",
        "s='import os'",
        "def open_file(x): return x\nopen_file(1)",
        "file = 'x'\nfile.upper()",
        "# import os\n1",
        "important = 1",
        "input = [1]\nsum(input)",
        "re.compile('a')",
        "math.sqrt(2)",
        "'please import the data'",
        "x.open",
        "for file in [1]: print(file)",
        "lambda input: input + 1",
        "evaluate(1)",
    ],
    "command": [
        "ls -la",
        "git format-patch -1",
        "python -m black --format x",
        "rm file.txt",
        "rm -r build",
        "echo format",
        "make format",
        "npm run format",
        "pytest -rf",
        "grep -rf patterns .",
        "ruff format .",
        "python -c 'print(1)'",
        "git rm -r --cached x",
        "docker compose up",
        "find . -name '*.py'",
        "curl https://x -o y",
        "echo 'rm -rf is dangerous'",
        "cat /dev/null",
        "dd if=a of=b",
        "echo rm -rf x",
    ],
    "path": [
        "a/b.txt",
        "a..b",
        "...",
        "src/..hidden/x",
        "a b",
        "100%.txt",
        "%41.txt",
        "x/.../y",
    ],
    "url": [
        "https://example.org/a?b=../c",
        "http://x:8080/",
        "HTTPS://X/",
        "https://x/%2e%2e/",
    ],
}

PROSE = [
    "please format the report",
    "Please import the data, then eval(uate) it: rm -rf is dangerous.",
    "open('file') is how Python reads ../notes",
    "file:///etc/passwd",
]


@pytest.mark.parametrize(
    ("kind", "text", "rule"),
    [(kind, text, rule) for kind, texts in BLOCKED.items() for text, rule in texts.items()],
)
def test_a_dangerous_text_is_blocked_in_a_field_of_its_kind(
    kind: FieldKind, text: str, rule: BlockedRule
) -> None:
    found = judge(kind, text)
    assert found is not None
    assert found.rule == rule


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in HARMLESS.items() for text in texts]
)
def test_a_harmless_text_that_looks_similar_passes(kind: FieldKind, text: str) -> None:
    assert judge(kind, text) is None


SCHEMA: Json = {
    "type": "object",
    "properties": {
        "prompt": {"type": "string"},
        "code": {"type": "string", "x-kind": "code"},
        "file_path": {
            "anyOf": [{"type": "string", "x-kind": "path"}, {"type": "null"}],
            "x-also": ["file"],
        },
        "pages": {"type": "array", "items": {"$ref": "#/$defs/Page"}},
        "paths": {"type": "array", "items": {"type": "string"}, "x-kind": "path"},
    },
    "additionalProperties": {"type": "string", "x-kind": "command"},
    "$defs": {
        "Page": {
            "type": "object",
            "properties": {
                "url": {"type": "string", "x-kind": "url"},
                "inner": {"$ref": "#/$defs/Page"},
            },
        }
    },
}


@pytest.mark.parametrize("text", PROSE)
def test_prose_is_never_blocked(text: str) -> None:
    assert blocked_fields(SCHEMA, {"prompt": text}) == ()


@pytest.mark.parametrize("kind", FIELD_KINDS)
def test_every_kind_of_field_is_checked_where_a_schema_declares_it(kind: FieldKind) -> None:
    schema: Json = {"properties": {"field": {"type": "string", "x-kind": kind}}}
    for text in BLOCKED[kind]:
        assert len(blocked_fields(schema, {"field": text})) == 1


def test_blocked_fields_are_found_at_any_depth_with_their_paths() -> None:
    found = blocked_fields(
        SCHEMA,
        {
            "prompt": "import os",
            "code": "import os",
            "file": "../x",
            "pages": [{"url": "https://a.example"}, {"inner": {"url": "file:///x"}}],
            "paths": ["a", "../b"],
            "run": "rm -rf /",
        },
    )
    assert [(one.path, one.kind, one.blocked.rule) for one in found] == [
        (("code",), "code", "import"),
        (("file",), "path", "traversal"),
        (("pages", 1, "inner", "url"), "url", "scheme"),
        (("paths", 1), "path", "traversal"),
        (("run",), "command", "deletion"),
    ]


def test_a_blocked_field_is_explained_with_its_place_reason_and_fix() -> None:
    (found,) = blocked_fields(SCHEMA, {"file_path": "../x"})
    assert isinstance(found, BlockedField)
    assert describe_blocked(found) == (
        "file_path: '../x' leaves its folder; write the path without '..'"
    )


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema: Json = {"$ref": "#/$defs/A", "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/A"}]}}}
    assert blocked_fields(schema, "../x") == ()


@given(st.sampled_from(FIELD_KINDS), st.text(max_size=200))
def test_any_text_gets_an_answer(kind: FieldKind, text: str) -> None:
    found = judge(kind, text)
    assert found is None or len(found.found) <= 80


@given(
    st.lists(st.sampled_from(["a", "..", ".", "b c", "%2e"]), min_size=1, max_size=4),
    st.integers(0, 2),
)
def test_a_path_is_blocked_exactly_if_a_part_is_the_parent(parts: list[str], rounds: int) -> None:
    path = "/".join(parts)
    for _ in range(rounds):
        path = path.replace("%", "%25").replace(".", "%2e")
    assert (judge("path", path) is not None) == (".." in parts)
