"""The tools, providers and agent types that installed packages name by their entry points.

Nothing is imported here: an entry point is a line of text in the package's metadata. A worker uses
those whose package its configuration allows.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.metadata import EntryPoints, entry_points
from typing import Literal, cast

from coterie.dsl.checks.agents.agent_classes import is_allowed
from coterie.failures import CommandError

Group = Literal["coterie.tools", "coterie.providers", "coterie.agents"]


@cache
def every_point() -> EntryPoints:
    """Return the entry points of all installed packages; read once, whatever groups are asked."""
    return cast("EntryPoints", entry_points())  # Python 3.11 has another type, which selects too


def installed_points(group: Group) -> EntryPoints:
    """Return the entry points of a group, which all installed packages name."""
    return every_point().select(group=group)


def installed_modules(group: Group) -> tuple[str, ...]:
    """Return the modules that the entry points of a group name."""
    return tuple(sorted({point.module for point in installed_points(group)}))


def searched_packages(packages: Sequence[str]) -> tuple[str, ...]:
    """Return where to search for tools: in the modules of entry points, or in all of a package."""
    modules = installed_modules("coterie.tools")
    names: list[str] = []
    for package in packages:
        names += [module for module in modules if is_allowed(module, (package,))] or [package]
    return tuple(dict.fromkeys(names))


def installed_paths(group: Group) -> Mapping[str, str]:
    """Return `{name: package.module:object}` of every entry point of a group."""
    return {point.name: point.value for point in sorted(installed_points(group))}


def allowed_paths(
    group: Group, packages: Collection[str], own: Collection[str]
) -> Mapping[str, str]:
    """Return `{name: package.module:object}` of the entry points that a worker uses.

    Args:
        group: The group.
        packages: The packages that its configuration allows.
        own: The names that Coterie uses itself.

    Raises:
        CommandError: Two packages use the same name, or one uses a name that Coterie reserves.
    """
    paths: dict[str, str] = {}
    for point in installed_points(group) if packages else ():
        if not is_allowed(point.module, packages):
            continue
        if point.name in own:
            raise CommandError(
                f"{point.module} names {point.name!r} in {group}, and Coterie has its own; ask its "
                "author for another name, or do not allow the package"
            )
        earlier = paths.setdefault(point.name, point.value)
        if earlier != point.value:
            raise CommandError(
                f"{earlier} and {point.value} are both named {point.name!r} in {group}; allow only "
                f"one of their packages, or write the path itself instead of {point.name!r}"
            )
    return paths
