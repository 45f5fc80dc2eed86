"""The checks of a release: licences by our list, and notices and hashes that are missing."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.release.build import BuildFailed, built_alike, check_hashes, check_notices, run
from tests.release.licences import AllowedLicences, Bill, Component, Statement, problems_of

LIST = AllowedLicences.read()


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 AND MIT", True),
        ("GPL-2.0-only OR MIT", True),
        ("(GPL-3.0-only OR MIT) AND BSD-3-Clause", True),
        ("MPL-1.1 OR GPL-2.0-only OR LGPL-2.1-or-later", True),
        ("GPL-3.0-only", False),
        ("AGPL-3.0-or-later", False),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR Apache-2.0) AND SSPL-1.0", False),
        ("GPL-2.0-only WITH Classpath-exception-2.0", False),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("LicenseRef-ours", False),
        ("Dual License", False),
        ("MIT AND", False),
        ("", False),
    ],
)
def test_an_expression_needs_all_of_and_and_one_of_or(expression: str, allowed: bool) -> None:
    assert LIST.allows(expression) is allowed


def of(*statements: dict[str, object]) -> Component:
    licences = tuple(map(Statement.model_validate, statements))
    return Component(name="thing", version="1.0", licenses=licences)


def classifier(name: str) -> dict[str, object]:
    return {"license": {"name": f"License :: OSI Approved :: {name}"}}


def words(text: str) -> dict[str, object]:
    return {"license": {"name": "declared license of 'thing'", "text": {"content": text}}}


def notice(text: str) -> dict[str, object]:
    return {"license": {"name": "declared license file: LICENSE", "text": {"content": text}}}


@pytest.mark.parametrize(
    ("component", "problem"),
    [
        (of({"expression": "MIT OR GPL-2.0-only"}), None),
        (of({"license": {"id": "ISC"}}), None),
        (of(classifier("BSD License"), words("Dual License")), None),
        (of(words("3-Clause BSD License")), None),
        (of({"license": {"id": "MIT"}}, classifier("GNU GPL v3")), "GNU GPL v3' is not on"),
        (of(words("Ask our lawyers")), "'Ask our lawyers' is not on the list"),
        (of(notice("MIT License")), "names no licence"),
        (of(), "names no licence"),
    ],
)
def test_a_package_is_judged_by_all_that_it_declares(
    component: Component, problem: str | None
) -> None:
    problems = problems_of(Bill(bomFormat="CycloneDX", components=(component,)), LIST)
    assert len(problems) == (problem is not None)
    assert all(text.startswith("thing 1.0") and problem in text for text in problems if problem)


def test_every_word_that_stands_for_a_licence_stands_for_one_of_the_list() -> None:
    named = {**LIST.classifiers, **LIST.words}
    assert [words for words, licence in named.items() if not LIST.allows(licence)] == []


def test_a_package_without_a_hash_is_named(tmp_path: Path) -> None:
    pinned = tmp_path / "requirements.txt"
    pinned.write_text("a==1 \\\n    --hash=sha256:00\nb==2 ; sys_platform == 'linux'\n")
    with pytest.raises(BuildFailed, match="without a hash: b==2"):
        check_hashes(pinned)


@pytest.mark.parametrize(
    ("notices", "message"),
    [
        ({}, "has the notices"),
        ({"LICENSE": "another text"}, "not that of the project"),
        ({"LICENSE": "ours", "COPYING": "theirs"}, "has the notices"),
    ],
)
def test_a_wheel_with_other_notices_is_refused(
    notices: dict[str, str], message: str, tmp_path: Path
) -> None:
    (tmp_path / "LICENSE").write_text("ours")
    with ZipFile(tmp_path / "a.whl", "w") as archive:
        for name, text in notices.items():
            archive.writestr(f"a-1.dist-info/licenses/{name}", text)
    with pytest.raises(BuildFailed, match=message):
        check_notices(tmp_path / "a.whl", tmp_path)


def project(folder: Path, hook: str) -> Path:
    """A commit of a small project whose build runs a hook."""
    files = {
        "LICENSE": "ours",
        "thing/__init__.py": "",
        "hatch_build.py": hook,
        "pyproject.toml": '[project]\nname = "thing"\nversion = "1"\nlicense-files = ["LICENSE"]\n'
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        "[tool.hatch.build.hooks.custom]\n",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    run(("git", "init", "--quiet"), folder)
    run(("git", "add", "."), folder)
    who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org")
    run(("git", *who, "commit", "--quiet", "-m", "begin"), folder)
    return folder


QUIET_HOOK = """
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
class Hook(BuildHookInterface):
    def initialize(self, version, build_data):
        pass
"""
CLOCK_HOOK = QUIET_HOOK.replace(
    "pass",
    'import time, pathlib; pathlib.Path(self.root, "thing", "when.txt")'
    ".write_text(str(time.time_ns()))",
)


@pytest.mark.parametrize(("hook", "alike"), [(QUIET_HOOK, True), (CLOCK_HOOK, False)])
def test_a_build_that_depends_on_the_clock_is_refused(
    hook: str, alike: bool, tmp_path: Path
) -> None:
    root, work, out = (tmp_path / name for name in ("root", "work", "out"))
    for folder in (root, work, out):
        folder.mkdir()
    project(root, hook)
    if alike:
        wheel, sdist, _ = built_alike(root, work, out)
        assert {wheel, sdist} == set(out.iterdir())
    else:
        with pytest.raises(BuildFailed, match="two builds of one commit differ"):
            built_alike(root, work, out)
