"""The environment of a measured peer: its packages are not among those of the project."""

import os
import shutil
import subprocess
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_PROJECT = _ROOT / "bench" / "openai_agents"
_ENVIRONMENT = _ROOT / ".uv" / "openai-agents"


def python_of_peer() -> str:
    """Return the Python that has the plugin; the first call installs the locked packages.

    Raises:
        RuntimeError: there is no `uv`.
    """
    own = sorted(_ROOT.glob(".uv/*/bin/uv"))
    uv = str(own[-1]) if own else shutil.which("uv")
    if uv is None:
        raise RuntimeError("no uv: run `make setup`, or install it")
    subprocess.run(
        [uv, "sync", "--quiet", "--frozen", "--compile-bytecode", "--project", str(_PROJECT)],
        env={**os.environ, "UV_PROJECT_ENVIRONMENT": str(_ENVIRONMENT)},
        check=True,
    )
    return str(_ENVIRONMENT / "bin" / "python")
