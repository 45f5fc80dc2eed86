"""Build the wheel and the sdist of a commit, more than once, and compare the bytes."""

import hashlib
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from zipfile import ZipFile


class BuildFailed(Exception):
    """What would be published is not as it should be."""


def run(command: Sequence[str | Path], cwd: Path, *, more: Mapping[str, str] | None = None) -> str:
    """Run a program and return its output.

    Raises:
        BuildFailed: It failed, with its last words.
    """
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **(more or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        words = (done.stdout + done.stderr).strip()[-2000:]
        raise BuildFailed(f"{' '.join(map(str, command[:4]))} ... failed:\n{words}")
    return done.stdout


def built_alike(root: Path, work: Path, out: Path) -> tuple[Path, Path, str]:
    """Build the commit twice, under different rights and dates, and once more from the sdist.

    Returns:
        The wheel, the sdist and the commit.

    Raises:
        BuildFailed: The bytes differ, or the wheel lacks our licence.
    """
    commit = run(("git", "rev-parse", "--short", "HEAD"), root).strip()
    date = run(("git", "log", "-1", "--format=%ct"), root).strip()
    archive = work / "commit.tar"
    run(("git", "archive", "--output", archive, "HEAD"), root)
    for number, umask in enumerate((0o022, 0o077)):
        source = work / f"source-{number}"
        run(
            (sys.executable, "-c", _UNPACK, str(umask), str(archive), str(source), str(number)),
            work,
        )
        _build(source, work / f"built-{number}", date)
    first, second = (_files(work / f"built-{number}") for number in range(2))
    if first != second:
        raise BuildFailed("two builds of one commit differ; compare them by `diffoscope`")
    (wheel,) = (work / "built-0").glob("*.whl")
    (sdist,) = (work / "built-0").glob("*.tar.gz")
    _check_sdist(sdist, wheel, work, date)
    check_notices(wheel, root)
    return wheel.rename(out / wheel.name), sdist.rename(out / sdist.name), commit


_UNPACK = """
import os, sys, tarfile, time
umask, archive, source, aged = sys.argv[1:]
os.umask(int(umask))
with tarfile.open(archive) as packed:
    packed.extractall(source, filter="data")
for folder, _, files in os.walk(source):
    for name in files:
        file = os.path.join(folder, name)
        if os.path.islink(file):
            continue
        os.chmod(file, 0o666 & ~int(umask) | os.stat(file).st_mode & 0o100)
        os.utime(file, (1e9 + int(aged), 1e9 + int(aged)))
"""


def _build(source: Path, out: Path, date: str, *options: str) -> None:
    hatchling = Path(sys.executable).with_name("hatchling")
    run((hatchling, "build", "-d", out, *options), source, more={"SOURCE_DATE_EPOCH": date})


def _files(folder: Path) -> dict[str, str]:
    return {file.name: digest(file) for file in folder.iterdir()}


def digest(file: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _check_sdist(sdist: Path, wheel: Path, work: Path, date: str) -> None:
    """Whoever builds from the sdist gets the same wheel."""
    with tarfile.open(sdist) as packed:
        packed.extractall(work / "unpacked", filter="data")
    (source,) = (work / "unpacked").iterdir()
    _build(source, work / "rebuilt", date, "-t", "wheel")
    if digest(work / "rebuilt" / wheel.name) != digest(wheel):
        raise BuildFailed("the wheel from the sdist differs from the one of the commit")


def check_notices(wheel: Path, root: Path) -> None:
    """The wheel has no file of others (tests/law/test_third_party.py): it owes our notice alone."""
    with ZipFile(wheel) as archive:
        notices = [name for name in archive.namelist() if ".dist-info/licenses/" in name]
        if [name.rpartition("/")[2] for name in notices] != ["LICENSE"]:
            raise BuildFailed(f"the wheel has the notices {notices}")
        if archive.read(notices[0]) != (root / "LICENSE").read_bytes():
            raise BuildFailed("the licence in the wheel is not that of the project")


def requirements(uv: str, root: Path, file: Path) -> None:
    """Write the version and the hashes of every package that the lock has for users."""
    options = ("--frozen", "--quiet", "--no-dev", "--all-extras", "--no-emit-project")
    plain = ("--no-header", "--no-annotate", "--format", "requirements.txt")
    run((uv, "export", *options, *plain, "--output-file", file), root)
    check_hashes(file)


def check_hashes(file: Path) -> None:
    """Raise BuildFailed if a package of the list could have any bytes."""
    lines = file.read_text(encoding="utf-8").splitlines()
    bare = [line for line in lines if "==" in line and not line.rstrip().endswith("\\")]
    if bare:
        raise BuildFailed(f"packages without a hash: {', '.join(bare)}")


def checksums(folder: Path) -> None:
    """Write SHA256SUMS, which `sha256sum --check` reads."""
    lines = [f"{digest(file)}  {file.name}\n" for file in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
