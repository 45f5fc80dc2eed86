"""Which versions are at work; for `--version`, the worker's build id and reports of bugs."""

import platform

_TOLD = ("coterie", "temporalio", "pydantic")


def own_version() -> str:
    """The version of this product, as installed."""
    from importlib.metadata import PackageNotFoundError, version  # slow, and rarely needed

    try:
        return version("coterie")
    except PackageNotFoundError:
        return "0+unknown"


def versions() -> dict[str, str]:
    """`{what: version}` of everything that matters for a report."""
    from importlib.metadata import version

    return (
        {"coterie": own_version()}
        | {name: version(name) for name in _TOLD if name != "coterie"}
        | {"python": platform.python_version(), "platform": platform.platform()}
    )
