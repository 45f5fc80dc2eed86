"""Functions of the packages that `worker.tool_packages` names are tool functions of a document."""

import importlib.util
import re
from pathlib import Path

import pytest

from coterie.documents.compilation import compile_target
from coterie.documents.tool_packages import packages_in
from coterie.dsl.compile.compiler import SourceText
from coterie.dsl.errors import InvalidDocument
from coterie.dsl.model.tools.tool_contract import FunctionTool
from coterie.failures import CommandError
from coterie.settings import load
from tests.law.documents.pages import text

FILES = ("demo_tools.py", "coterie.yml", "team.yml")


def project(folder: Path) -> None:
    """Write the files of the page."""
    page = text("python-tools.md")
    blocks = re.findall(r"```(?:python|yaml)\n# (\S+)\n(.*?)```", page, re.DOTALL)
    assert tuple(name for name, _ in blocks) == FILES
    for name, content in blocks:
        (folder / name).write_text(content)


def test_the_page_makes_a_tool_that_a_team_uses(tmp_path: Path) -> None:
    project(tmp_path)
    plan = compile_target(load({}, tmp_path), "team.yml").compiled.plan
    tool = plan.tools["weather"]
    assert isinstance(tool, FunctionTool)
    terms = tool.terms
    assert (terms.effect, terms.timeout, terms.retries) == ("read", 5.0, 2)


def test_the_page_s_function_can_be_tested_without_coterie(tmp_path: Path) -> None:
    project(tmp_path)
    spec = importlib.util.spec_from_file_location("page_tools", tmp_path / "demo_tools.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.weather("Paris").degrees == 21


def test_a_wrong_argument_of_a_function_is_a_problem_with_its_line(tmp_path: Path) -> None:
    project(tmp_path)
    team = tmp_path / "team.yml"
    team.write_text(team.read_text().replace("city: ", "town: "))
    with pytest.raises(InvalidDocument) as caught:
        compile_target(load({}, tmp_path), "team.yml")
    problems = {(one.code, one.line, one.message) for one in caught.value.problems}
    assert ("E213", 8, "demo_tools:weather needs the input 'city', which is missing") in problems
    assert ("E213", 8, "demo_tools:weather takes no input 'town'") in problems


def test_a_package_that_cannot_be_imported_is_named(tmp_path: Path) -> None:
    project(tmp_path)
    (tmp_path / "demo_tools.py").write_text("import nowhere_at_all")
    with pytest.raises(CommandError, match="the module 'demo_tools' cannot be imported: Module"):
        compile_target(load({}, tmp_path), "team.yml")


def test_every_module_of_a_package_is_searched(tmp_path: Path) -> None:
    project(tmp_path)
    package = tmp_path / "demo_tools"
    package.mkdir()
    (tmp_path / "demo_tools.py").rename(package / "sky.py")
    (package / "__init__.py").write_text("from demo_tools.sky import weather\n")
    team = tmp_path / "team.yml"
    team.write_text(team.read_text().replace("demo_tools:weather", "demo_tools.sky:weather"))
    plan = compile_target(load({}, tmp_path), "team.yml").compiled.plan
    assert plan.tools["weather"].made_of == "demo_tools.sky:weather"


@pytest.mark.parametrize(
    ("written", "packages"),
    [
        ("worker: {tool_packages: [a, b.c]}", ("a", "b.c")),
        ("worker: {tool_packages: a}", ()),
        ("worker: {tool_packages: [a b, 1, '../x', c]}", ("c",)),
        ("worker: {tool_packages: [a", ()),
        ("worker: {}", ()),
    ],
)
def test_only_names_of_packages_are_read_from_a_document(
    written: str, packages: tuple[str, ...]
) -> None:
    assert packages_in([SourceText("coterie.yml", written)]) == packages
