"""A package that is not installed is named with the command that installs it."""

import inspect
import re
from importlib import import_module

import pytest

from coterie.activities.extra_packages import install_command
from coterie.activities.tool_functions.function_registry import TOOL_FUNCTIONS
from coterie.activities.tool_functions.missing_packages import (
    FUNCTION_EXTRAS,
    needing,
    needing_packages,
)
from coterie.activities.workspace.function_base import ToolFunction
from coterie.activities.workspace.function_failures import FunctionFailure
from coterie.doctor.checkup import EXTRAS


def test_a_missing_package_names_the_command_that_installs_it() -> None:
    with pytest.raises(FunctionFailure) as caught, needing("web", "Web.fetch"):
        raise ModuleNotFoundError("No module named 'lxml'", name="lxml")
    assert str(caught.value) == (
        "Web.fetch needs the package 'lxml', which is not installed; install it with "
        f"`{install_command('web')}`"
    )
    assert not caught.value.may_pass


def test_the_table_of_extras_has_each_function_that_needs_packages() -> None:
    """Such a tool function opens a store, or imports its packages where it runs."""
    needs: set[str] = set()
    for name, function in TOOL_FUNCTIONS.items():
        assert isinstance(function, ToolFunction)
        text = inspect.getsource(inspect.getmodule(function.run) or inspect)
        if re.search(r"needing_packages\(|(stores|opened_memory) import", text):
            needs.add(name)
    assert needs == FUNCTION_EXTRAS.keys()
    assert set(FUNCTION_EXTRAS.values()) <= EXTRAS.keys()
    for function, extra in FUNCTION_EXTRAS.items():
        noun = function if extra == "web" else function.replace(".store", ".search")
        assert noun in EXTRAS[extra], function


@pytest.mark.parametrize("function", FUNCTION_EXTRAS)
def test_a_function_without_its_packages_names_the_command(function: str) -> None:
    command = re.escape(f"`{install_command(FUNCTION_EXTRAS[function])}`")
    with (
        pytest.raises(FunctionFailure, match=f"{function} needs the package 'nowhere'.*{command}"),
        needing_packages(function),
    ):
        import_module("nowhere")
