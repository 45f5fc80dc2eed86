"""Drive the terminal UI under tmux, and write what it shows to `docs/captures`.

    python -m tests.screen_captures

A real run of `coterie agent run ... --ui` in a copy of the example project, without a key. Its
calls wait for a person, who approves one, pauses, resumes, and turns on auto. Fails if the screen
does not show what it should. Later, `coterie watch --ui` shows how the run ended. Needs tmux.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
CAPTURES = ROOT / "docs" / "captures"
GOAL = "Make the failing tests pass; do not change them."
SECONDS = 180.0


class Tmux:
    """One window of a server of its own."""

    def __init__(self, socket: Path, folder: Path, command: str, columns: int, lines: int) -> None:
        self._tmux = ("tmux", "-S", str(socket), "-f", "/dev/null")
        size = ("-x", str(columns), "-y", str(lines))
        self._call("new-session", "-d", *size, "-c", str(folder), command)
        self._call("set-option", "-g", "remain-on-exit", "on")

    def press(self, *keys: str) -> None:
        """Press keys by their tmux names."""
        self._call("send-keys", *keys)

    def write(self, text: str) -> None:
        """Type a text."""
        self._call("send-keys", "-l", text)

    def screen(self) -> str:
        """Return what the window shows."""
        return self._call("capture-pane", "-p")

    def wait_for(self, *texts: str, absent: str | None = None) -> str:
        """Wait until the window shows all texts."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            shown = self.screen()
            if all(text in shown for text in texts) and (absent is None or absent not in shown):
                return shown
            time.sleep(0.2)
        sys.exit(f"the screen does not show {texts}:\n{self.screen()}")

    def close(self) -> None:
        """End the window and the server."""
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)

    def _call(self, *words: str) -> str:
        done = subprocess.run([*self._tmux, *words], check=True, capture_output=True, text=True)
        return done.stdout


def keep(name: str, shown: str) -> None:
    """Write a capture."""
    lines = [line.rstrip() for line in shown.rstrip().split("\n")]
    CAPTURES.mkdir(exist_ok=True)
    (CAPTURES / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"docs/captures/{name}.txt\n")


def main() -> None:
    """Play the session."""
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base) / "invoicing"
        shutil.copytree(ROOT / "examples" / "invoicing", folder)
        coterie = Path(sys.executable).parent / "coterie"
        command = (
            "env -u COTERIE_ADDRESS TERM=xterm-256color LOGNAME=ann "
            f"{coterie} agent run '{GOAL}' --id mend --ui"
        )
        window = Tmux(Path(base) / "tmux", folder, command, 110, 36)
        try:
            play(window)
        finally:
            window.close()
        again = f"env -u COTERIE_ADDRESS TERM=xterm-256color {coterie} watch mend --ui"
        window = Tmux(Path(base) / "tmux-again", folder, again, 110, 36)
        try:
            keep("ui-watched-later", window.wait_for("completed", "the run has ended"))
        finally:
            window.close()
            stop = [coterie, "server", "--stop"]
            subprocess.run(stop, cwd=folder, check=False)


def play(window: Tmux) -> None:
    """Steer the run to its end."""
    keep("ui-request", window.wait_for(f"Goal: {GOAL}", "Waits for you", "a Approve"))
    window.press("a")
    keep("ui-approve", window.wait_for("Approve", "why (optional)", "digest"))
    window.write("go on")
    window.press("Enter")
    window.wait_for("approved by", "Waits for you")
    window.press("p")
    window.wait_for("Nothing new starts")
    window.write("lunch")
    window.press("Enter")
    keep("ui-paused", window.wait_for("paused by", "lunch", "p Resume"))
    window.press("p")
    window.wait_for("The run continues")
    window.press("Enter")
    window.wait_for("p Pause")
    window.press("A")
    window.wait_for("From now on")
    window.press("Enter")
    window.wait_for("AUTO")
    keep("ui-ended", window.wait_for("the run has ended"))
    window.press("q")
    window.wait_for("mend: completed")


if __name__ == "__main__":
    main()
