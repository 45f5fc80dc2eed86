"""Install what these tests need, and run them; say "not run" where that cannot be."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.doors.browser import chromium
from tests.stand_in.install import install

HERE = Path(__file__).parent


def missing() -> str | None:
    """What these tests lack; None if they can run."""
    if chromium() is None:
        return "there is no Chromium; install it with `apt-get install chromium`"
    if find_spec("playwright") is None:
        return "the package playwright is not installed; `uv sync --group doors` failed"
    try:
        install(HERE)
    except RuntimeError as error:
        return f"npm could not install the OIDC provider: {str(error).strip()[-300:]}"
    return None


def main() -> int:
    """Run them; 0 also where they cannot run, which the last line says."""
    lacking = missing()
    if lacking is not None:
        sys.stderr.write(f"\ntest-doors: NOT RUN: {lacking}\n\n")
        return 0
    types = subprocess.run([Path(sys.executable).with_name("pyright"), "-p", HERE], check=False)
    if types.returncode != 0:  # `make check` leaves them out: it has no Playwright
        return types.returncode
    files = ["-n", "2", "--dist", "loadfile"]  # two files at once: they mostly wait
    return subprocess.run(
        [sys.executable, "-m", "pytest", str(HERE), *files, *sys.argv[1:]],
        env={**os.environ, "COTERIE_TEST_DOORS": "1"},
        check=False,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
