"""A command cannot write a setting of the kernel, nor undo what keeps it from that."""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coterie.activities.processes.bubblewrap import Bubblewrap, SandboxView, find_bubblewrap

SANDBOX = find_bubblewrap(os.environ["PATH"])
pytestmark = pytest.mark.skipif(
    not isinstance(SANDBOX, Bubblewrap), reason=f"bubblewrap does not work here: {SANDBOX}"
)
NOBODY = 65534

# Opens every path for writing, closes it and writes nothing.
HOSTILE = """
sweep() {
    for top in /proc/sys /proc/sysrq-trigger /proc/irq /proc/fs /proc/bus /sys; do
        test -e "$top" && find "$top" 2>&-
    done | while read -r path; do
        test -d "$path" || echo "$1 seen $path"
        test -d "$path" || ! true 2>&- >> "$path" || echo "$1 OPEN $path"
    done
}
undo() {
    for flags in remount,rw remount,bind,rw; do
        for at in /proc /proc/sys /sys /; do
            mount -o "$flags" "$at" && echo "$1 UNDONE $flags $at"
        done
    done
    for at in /proc/sys /proc /sys; do umount -l "$at" && echo "$1 UNDONE umount $at"; done
    mount -t proc proc /tmp && echo "$1 UNDONE proc"
    mount --bind /tmp /proc && echo "$1 UNDONE bind"
}
{ type mount && type umount && type unshare; } >&2 || echo "no tools"
if test -z "$1"; then
    sweep first
    undo first
    for spaces in -Ur -Urm -Urmp -Urmpf -m -mpf; do
        unshare "$spaces" sh "$0" "after$spaces" && echo "UNDONE unshare $spaces"
    done
    sweep last
else
    undo "$1"
    sweep "$1"
fi 2>&-
"""


@pytest.fixture
def root() -> Iterator[Path]:
    """A workspace that any user may enter."""
    with tempfile.TemporaryDirectory(prefix="coterie-kernel-") as name:
        folder = Path(name).resolve()
        folder.chmod(0o755)
        (folder / "hostile.sh").write_text(HOSTILE)
        yield folder


KERNEL = (Path("/proc"), Path("/proc/sys"), Path("/sys"))
VIEWS: dict[str, Callable[[Path], SandboxView]] = {
    "as configured by default": lambda root: SandboxView(root, root),
    "with the network": lambda root: SandboxView(root, root, network=True),
    "that may read the kernel's files": lambda root: SandboxView(root, root, read=KERNEL),
    "that may read everything": lambda root: SandboxView(root, root, read=(Path("/"),)),
    "in the root folder": lambda root: SandboxView(Path("/"), root),
}


@pytest.mark.parametrize("user", ["root", "nobody"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_command_opens_no_setting_of_the_kernel_for_writing(
    root: Path, user: str, view: str
) -> None:
    assert isinstance(SANDBOX, Bubblewrap)
    own = os.geteuid()
    if user == "root" and own != 0:
        pytest.skip("the tests do not run as root")
    who = NOBODY if user == "nobody" and own == 0 else None
    argv = SANDBOX.wrapped(["/bin/sh", f"{root}/hostile.sh"], VIEWS[view](root))
    try:
        ended = subprocess.run(
            argv, user=who, group=who, capture_output=True, text=True, timeout=60, check=False
        )
    except PermissionError:
        pytest.skip(f"{user} may not execute {SANDBOX.program}")
    lines = ended.stdout.splitlines()
    assert ended.returncode in (0, 1), ended.stderr
    assert [line for line in lines if " seen " not in line] == []
    for sweep in ("first", "last"):
        assert len([line for line in lines if line.startswith(f"{sweep} seen /proc/sys/")]) > 100
