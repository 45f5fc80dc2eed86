"""A library as an MCP server, on its standard input and output: it searches and reads texts."""

from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

TEXTS = {
    file.stem: file.read_text(encoding="utf-8")
    for file in sorted((Path(__file__).parent / "library").glob("*.md"))
}
server = MCPServer("library")


class Hit(BaseModel):
    """A line of a text that has one of the words."""

    text: str
    line: str


@server.tool()
def search(words: str) -> list[Hit]:
    """Finds lines that contain any of the words, in all texts of the library."""
    wanted = words.lower().split()
    return [
        Hit(text=name, line=line)
        for name, text in TEXTS.items()
        for line in text.splitlines()
        if any(word in line.lower() for word in wanted)
    ][:20]


@server.tool()
def read(text: str) -> str:
    """Returns one text of the library as a whole, by the name that `search` gives."""
    if text not in TEXTS:
        raise ToolError(f"no text {text!r}; the library has {', '.join(TEXTS)}")
    return TEXTS[text]


if __name__ == "__main__":
    server.run()
