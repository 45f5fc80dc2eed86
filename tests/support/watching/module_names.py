"""Files that a process has loaded under two names, so that each class of theirs exists twice."""

import os
import sys
from collections.abc import Mapping
from types import ModuleType


def doubled(checkout: str, modules: Mapping[str, ModuleType] = sys.modules) -> dict[str, list[str]]:
    """Return `{file: its names}` of the files of a checkout that have more than one name."""
    root = os.path.join(os.path.realpath(checkout), "")
    names: dict[str, list[str]] = {}
    for name, module in list(modules.items()):
        file = os.path.realpath(getattr(module, "__file__", None) or "/")
        own = file.startswith(root) and not file.startswith(f"{root}.venv")
        if own and name != "__mp_main__":  # which `multiprocessing` gives to a main module
            names.setdefault(file, []).append(name)
    return {file: found for file, found in names.items() if len(found) > 1}
