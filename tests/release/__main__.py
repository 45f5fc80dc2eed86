"""Build what would be published, check it, install it, and run a first team from it without a key.

    make release

`dist` then has the wheel, the sdist, the bill of materials (CycloneDX) with all licences, the
versions of everything it depends on with their hashes, and the digests of these files. Nothing is
uploaded. What is built is the commit, never a file that only this checkout has.
"""

import shutil
import sys
import tempfile
from pathlib import Path

from tests.release.bill import bill_of
from tests.release.build import BuildFailed, built_alike, checksums, requirements
from tests.release.first_team import first_team
from tests.release.licences import AllowedLicences, problems_of

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"


def tell(line: str) -> None:
    """Show a line of progress at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def release(uv: str, work: Path) -> None:
    """Fill a fresh `dist`.

    Raises:
        BuildFailed: A check has failed; then there is no `dist`.
    """
    made = work / "dist"
    made.mkdir()
    wheel, sdist, commit = built_alike(ROOT, work, made)
    tell(f"ok    two builds of {commit} and the one from the sdist are equal byte for byte")
    tell(f"      {wheel.name}  {wheel.stat().st_size:,} bytes")
    tell(f"      {sdist.name}  {sdist.stat().st_size:,} bytes")
    pinned = made / f"{sdist.name.removesuffix('.tar.gz')}-requirements.txt"
    requirements(uv, ROOT, pinned)
    bill = bill_of(uv, ROOT, work, made, wheel, pinned)
    refused = problems_of(bill, AllowedLicences.read())
    if refused:
        raise BuildFailed("\n      ".join(("licences:", *refused)))
    tell(f"ok    the licences of {len(bill.components)} packages are on our list")
    for line in first_team(uv, ROOT, work, wheel):
        tell(f"ok    {line}")
    checksums(made)
    shutil.rmtree(DIST, ignore_errors=True)
    shutil.copytree(made, DIST)


def main() -> int:
    """Say what was made, or what is wrong."""
    (uv,) = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="coterie-release-") as folder:
        try:
            release(str(Path(uv).resolve()) if "/" in uv else uv, Path(folder))
        except BuildFailed as failed:
            sys.stderr.write(f"\nrelease: FAILED: {failed}\n")
            return 1
    tell(f"dist  {', '.join(sorted(file.name for file in DIST.iterdir()))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
