"""A text that is cut off says so: it is cut by a function that adds a mark."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.law.sources import ROOT

ROOMS = ("dsl", "activities", "workflows", "coterie", "gateway")
LENGTH = ("LENGTH", "LINE", "MESSAGE", "SAID", "WORDS", "CHARS", "HTML", "TEXT")
LEAST = 100
"""What is cut shorter is a name, a digest or an id."""
ALLOWED = {
    "dsl/tool_loop/tool_loop_decision.py": "the name of a tool that does not exist",
    "dsl/tool_loop/call_checks.py": "the name of a tool that does not exist",
    "dsl/source/yaml_reader.py": "leading zeros of a number",
    "dsl/task_graph/task_reading.py": "the id of a task",
    "activities/agents/tool_calling.py": "the name of a tool that does not exist",
    "activities/mcp_client/server_answers.py": "a name",
    "activities/mcp_client/server_requests.py": "a name",
    "activities/tool_functions/knowledge/chunks.py": "a heading, whose text follows",
    "activities/tool_functions/knowledge/retriever.py": "what an index reads",
    "activities/tool_functions/web/page_text.py": (
        "what is parsed; the page says that it is partial"
    ),
    "activities/tool_functions/repository/git_commit.py": (
        "files and the title of a commit in a summary"
    ),
    "workflows/steps/agent.py": "a name, and a template in a message",
    "workflows/temporal/durable_scope.py": "values that the server bounds; the summary of a timer",
    "workflows/core/causes/trail_causes.py": "facts for programs, beside a text for people",
    "workflows/handlers/query_handlers.py": "a request that says that it is cut",
    "workflows/core/decoding.py": "the name of an encoding",
    "coterie/ui/panes.py": "what a pane has room for",
    "coterie/mcp_server/served_teams.py": "the name of a tool",
    "coterie/mcp_server/client_questions.py": "the name of a client; a prompt that says so",
    "coterie/mcp_server/team_tools.py": "names that a client made up",
}


def _cuts(tree: ast.AST) -> Iterator[int]:
    """Yield the lines of slices from the beginning to a length of text, without a mark."""
    marked = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.JoinedStr) and any(_is_mark(part) for part in node.values)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in marked:
            continue
        if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice)):
            continue
        lower, upper = node.slice.lower, node.slice.upper
        if lower is not None or upper is None:
            continue
        match upper:
            case ast.Constant(value=int(value)) if value >= LEAST:
                yield node.lineno
            case ast.Name(id=name) if "MAX" in name and name.endswith(LENGTH):
                yield node.lineno
            case _:
                pass


def _is_mark(part: ast.expr) -> bool:
    """Return whether a literal part of an f-string follows a cut and says that more follows."""
    match part:
        case ast.Constant(value=str(text)):
            return text.startswith("...") or "cut off" in text or "\n...\n" in text
        case _:
            return False


def test_a_text_is_cut_off_with_a_mark() -> None:
    found = {
        f"{file.relative_to(ROOT)}:{line}"
        for room in ROOMS
        for file in Path(ROOT / room).rglob("*.py")
        if str(file.relative_to(ROOT)) not in ALLOWED
        for line in _cuts(ast.parse(file.read_text()))
    }
    assert found == set(), "cut it with `shortened_text` of dsl/visible.py"


def test_every_exception_still_cuts() -> None:
    idle = [name for name in ALLOWED if not list(_cuts(ast.parse((ROOT / name).read_text())))]
    assert idle == []
