"""Report versions, for `--version`, the worker's build id and bug reports."""

import platform

_PACKAGES = ("coterie", "temporalio", "pydantic")


def own_version() -> str:
    """Return the installed version of Coterie."""
    from importlib.metadata import PackageNotFoundError, version  # slow, and rarely needed

    try:
        return version("coterie")
    except PackageNotFoundError:
        return "0+unknown"


def versions() -> dict[str, str]:
    """Return `{component: version}` of everything relevant to a bug report."""
    from importlib.metadata import version

    return (
        {"coterie": own_version()}
        | {name: version(name) for name in _PACKAGES if name != "coterie"}
        | {"python": platform.python_version(), "platform": platform.platform()}
    )
