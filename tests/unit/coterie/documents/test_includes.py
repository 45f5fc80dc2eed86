"""Included files: what they bring, where their mistakes stand, and where no include leads."""

from pathlib import Path

import pytest

from coterie.cli import main
from coterie.documents import includes
from coterie.documents.catalog import Catalog
from coterie.documents.compilation import compile_located
from coterie.documents.includes import TooManyEntries, matching_files
from coterie.dsl.compile.compiler import Compiled
from coterie.dsl.errors import InvalidDocument, Problem
from coterie.settings import load

_MAIN = """
include: INCLUDE
llm_config: {default_provider: anthropic, default_model: claude-sonnet-5-5}
orchestration:
  entry_team: main
  teams:
    main:
      tasks:
        - {name: call, team: helper}
        - {name: ask, persona_key: writer, agent_type: generic_single_shot}
"""
_HELPER = """
orchestration:
  teams:
    helper:
      tasks: [{name: note, type: set, values: {words: "{{ settings.words }}"}}]
"""
_PEOPLE = """
llm_config: {personas: {writer: {prompts: {user: Write.}}}}
orchestration: {settings: {words: 3}}
tools: {find: {skill: Discovery.collect}}
"""


class Folder:
    """A project whose `main.yml` includes other files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / "coterie.yml").touch()
        self.write("parts/helper.yml", _HELPER)
        self.write("people.yml", _PEOPLE)

    def write(self, name: str, text: str) -> Path:
        """Write a file, with its folders."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def main(self, include: str = "[parts/*.yml, people.yml]") -> None:
        """Write the document."""
        self.write("main.yml", _MAIN.replace("INCLUDE", include))

    def compiled(self) -> Compiled:
        """Compile the document."""
        catalog = Catalog(load({}, self.path))
        return compile_located(catalog, catalog.locate("main.yml"))

    def problems(self) -> list[Problem]:
        """Return all problems of the document."""
        with pytest.raises(InvalidDocument) as caught:
            self.compiled()
        return list(caught.value.problems)

    def only(self) -> Problem:
        """Return the only problem of the document."""
        (problem,) = self.problems()
        return problem


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_included_files_bring_teams_personas_tools_and_settings(folder: Folder) -> None:
    folder.main()
    plan = folder.compiled().plan
    assert set(plan.teams) == {"main", "helper"}
    assert set(plan.personas) == {"writer"}
    assert set(plan.tools) == {"find"}
    assert plan.settings == {"words": 3}


def test_a_persona_file_is_the_persona_of_its_name(folder: Folder) -> None:
    folder.write("people.yml", "orchestration: {settings: {words: 3}}")
    folder.write("people/writer.yml", "prompts: {user: Write.}")
    folder.main("[parts/*.yml, people.yml, people/*.yml]")
    assert set(folder.compiled().plan.personas) == {"writer"}


def test_the_same_plan_comes_of_one_file_and_of_several(folder: Folder) -> None:
    folder.main()
    several = folder.compiled().plan.model_copy(update={"digest": ""})
    text = _MAIN.replace("include: INCLUDE\n", "") + _HELPER.partition("teams:\n")[2]
    text = text.replace("entry_team: main", "entry_team: main\n  settings: {words: 3}")
    text = text.replace(
        "model: claude-sonnet-5-5}",
        "model: claude-sonnet-5-5, personas: {writer: {prompts: {user: Write.}}}}",
    )
    folder.write("main.yml", text + _PEOPLE.splitlines()[-1])
    assert folder.compiled().plan.model_copy(update={"digest": ""}) == several


def test_a_mistake_stands_at_the_line_of_the_included_file(folder: Folder) -> None:
    folder.write("parts/helper.yml", _HELPER.replace("settings.words", "settings.wrds"))
    folder.main()
    problem = folder.only()
    assert (problem.file, problem.line, problem.code) == ("parts/helper.yml", 5, "E207")
    assert "words" in problem.fix


def test_a_name_that_two_files_define_is_a_problem_with_both_places(folder: Folder) -> None:
    folder.write("parts/other.yml", _HELPER + _PEOPLE.partition("\n")[2].partition("\n")[0])
    folder.main()
    found = {(p.code, p.file, p.line, p.message) for p in folder.problems()}
    assert found == {
        ("E208", "parts/other.yml", 4, "the team 'helper' is also defined at parts/helper.yml:4"),
        ("E208", "people.yml", 2, "the persona 'writer' is also defined at parts/other.yml:6"),
    }


def test_the_document_and_an_included_file_cannot_define_the_same_team(folder: Folder) -> None:
    folder.write(
        "parts/helper.yml", _HELPER + _HELPER.partition("teams:\n")[2].replace("helper", "main")
    )
    folder.main()
    problem = folder.only()
    assert (problem.code, problem.file, problem.line) == ("E208", "main.yml", 7)
    assert problem.message == "the team 'main' is also defined at parts/helper.yml:6"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("worker: {workspace: .}", "worker"),
        ("llm_config: {default_model: other}", "default_model"),
        ("llm_config: {providers: {scripted: {kind: scripted}}}", "providers"),
        ("orchestration: {max_total_teams: 3}", "max_total_teams"),
        ("orchestration: {on_cancel: main}", "on_cancel"),
    ],
)
def test_an_included_file_cannot_decide_for_the_document(
    folder: Folder, text: str, key: str
) -> None:
    folder.write("more.yml", text)
    folder.main("[parts/*.yml, people.yml, more.yml]")
    problem = folder.only()
    assert (problem.code, problem.file, problem.line) == ("E110", "more.yml", 1)
    assert repr(key) in problem.message


def test_an_included_document_keeps_its_own_entry_and_name(folder: Folder) -> None:
    entry = _HELPER.replace("  teams:", "  entry_team: helper\n  teams:")
    folder.write("parts/helper.yml", f"name: helper\ndescription: Notes.\n{entry}")
    folder.main()
    plan = folder.compiled().plan
    assert (plan.name, plan.entry_team) == ("main", "main")


def test_an_unknown_key_of_an_included_file_is_unknown(folder: Folder) -> None:
    folder.write("people.yml", _PEOPLE + "tols: {}\n")
    folder.main()
    assert [(p.code, p.file, p.line) for p in folder.problems()] == [("E101", "people.yml", 5)]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("../outside.yml", "is outside the folder of this file"),
        ("parts/../../outside.yml", "is outside the folder of this file"),
        ("/etc/passwd", "is outside the folder of this file"),
        ("~/team.yml", "is outside the folder of this file"),
        ("https://example.org/team.yml", "is outside the folder of this file"),
        ("peple.yml", "does not exist"),
        ("parts", "is a folder"),
        ("main.test.yml", "is a test file"),
        ("notes.txt", "is no YAML"),
    ],
)
def test_an_include_that_may_not_be_read_is_a_problem_at_its_entry(
    folder: Folder, entry: str, message: str
) -> None:
    folder.write("main.test.yml", "cases: []")
    folder.write("notes.txt", "")
    folder.main(f"[people.yml, '{entry}']")
    problem = folder.only()
    assert (problem.code, problem.file, problem.line) == ("E006", "main.yml", 2)
    assert message in problem.message


def test_a_missing_file_is_named_with_its_neighbour(folder: Folder) -> None:
    folder.main("[peple.yml]")
    assert folder.only().fix == "did you mean 'people.yml'?"


@pytest.mark.parametrize("entry", ["[people.yml, parts/link.yml]", "['**/*.yml']"])
def test_a_link_out_of_the_folder_is_not_followed(folder: Folder, entry: str) -> None:
    outside = folder.path.parent / f"{folder.path.name}-outside.yml"
    outside.write_text("name: secret")
    (folder.path / "parts" / "link.yml").symlink_to(outside)
    folder.main(entry)
    problem = folder.only()
    assert problem.code == "E006"
    assert "is a link to" in problem.message


def test_a_cycle_is_shown_at_the_entry_that_closes_it(folder: Folder) -> None:
    folder.write("parts/a.yml", "include: [b.yml]\n")
    folder.write("parts/b.yml", "name: b\ninclude:\n  - a.yml\n")
    folder.main("[parts/a.yml]")
    (problem,) = [one for one in folder.problems() if one.code == "E007"]
    assert "E202" in {one.code for one in folder.problems()}  # a cycle hides nothing else
    assert (problem.file, problem.line) == ("parts/b.yml", 3)
    assert "parts/a.yml -> parts/b.yml -> parts/a.yml" in problem.message


def test_a_document_that_names_itself_is_a_cycle_and_its_glob_leaves_it_out(folder: Folder) -> None:
    folder.main("[main.yml]")
    assert "E007" in {one.code for one in folder.problems()}
    folder.main("['*.yml', parts/*.yml]")
    assert set(folder.compiled().plan.teams) == {"main", "helper"}


def test_what_two_files_include_counts_once(folder: Folder) -> None:
    folder.write("parts/a.yml", "include: [helper.yml]")
    folder.main("[parts/helper.yml, parts/a.yml, people.yml, people.yml]")
    assert set(folder.compiled().plan.teams) == {"main", "helper"}


def test_a_glob_without_a_match_is_a_warning(folder: Folder) -> None:
    folder.main("[parts/*.yml, people.yml, prts/*.yml]")
    (warning,) = folder.compiled().warnings
    assert (warning.code, warning.file, warning.line) == ("W518", "main.yml", 2)


@pytest.mark.parametrize(
    ("bound", "value", "message"),
    [
        ("MAX_INCLUDED_FILES", 1, "more than 1 files are included"),
        ("MAX_INCLUDED_BYTES", 150, "more than 150 bytes"),
    ],
)
def test_number_and_size_of_included_files_are_bounded(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, bound: str, value: int, message: str
) -> None:
    monkeypatch.setattr(includes, bound, value)
    folder.main()
    problem = folder.only()
    assert problem.code == "E006"
    assert message in problem.message


def test_globs_are_sorted_skip_hidden_files_and_are_bounded(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yml", ".c.yml", "x/d.yml", "x/y/e.yml", ".git/f.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    def names(glob: str) -> list[str]:
        return [str(file.relative_to(tmp_path)) for file in matching_files(tmp_path, glob)]

    assert names("*.yml") == ["a.yml", "b.yml"]
    assert names("**/*.yml") == ["a.yml", "b.yml", "x/d.yml", "x/y/e.yml"]
    assert names("./x/?.yml") == ["x/d.yml"]
    assert names("[a]*.yml") == ["a.yml"]
    assert names("x/**") == ["x/d.yml", "x/y/e.yml"]
    with pytest.raises(TooManyEntries):
        matching_files(tmp_path, "**/*.yml", maximum=4)


def test_an_include_of_another_form_is_a_problem_where_it_stands(folder: Folder) -> None:
    folder.write("parts/helper.yml", _HELPER + "include: {a: 1}\n")
    folder.main()
    problem = folder.only()
    assert (problem.code, problem.file, problem.line) == ("E103", "parts/helper.yml", 6)


def test_a_folder_checks_a_part_with_the_document_that_includes_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.main()
    monkeypatch.chdir(folder.path)
    assert main(["validate", "."]) == 0
    assert "1 document read" in capsys.readouterr().err
    folder.write("parts/helper.yml", _HELPER.replace("set,", "st,"))
    assert main(["validate", "."]) == 2
    assert "parts/helper.yml:5:" in capsys.readouterr().out


def test_explain_shows_the_included_file_of_a_value(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.main()
    monkeypatch.chdir(folder.path)
    assert main(["explain", "main.yml", "helper.note"]) == 0
    assert "parts/helper.yml:5" in capsys.readouterr().out
    assert main(["explain", "main.yml"]) == 0
    assert "people.yml (included)" in capsys.readouterr().out


def test_a_document_with_includes_is_not_sent_as_its_text_alone(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.main()
    folder.write("coterie.yml", "worker: {accept_plans: false}")
    monkeypatch.chdir(folder.path)
    assert main(["start", "main.yml"]) == 2
    assert "main.yml includes 2 files" in capsys.readouterr().err


def test_settings_that_two_files_define_as_mappings_are_one_mapping(folder: Folder) -> None:
    folder.write("a.yml", "orchestration: {settings: {sizes: {small: {width: 1}}}}")
    folder.write("b.yml", "orchestration: {settings: {sizes: {large: {width: 9}}}}")
    folder.main("[parts/*.yml, people.yml, a.yml, b.yml]")
    sizes = {"small": {"width": 1}, "large": {"width": 9}}
    assert folder.compiled().plan.settings == {"words": 3, "sizes": sizes}


def test_a_value_within_a_setting_is_defined_once(folder: Folder) -> None:
    folder.write("a.yml", "orchestration: {settings: {sizes: {small: {width: 1}}}}")
    folder.write("b.yml", "orchestration: {settings: {sizes: {small: {width: 2}}}}")
    folder.main("[parts/*.yml, people.yml, a.yml, b.yml]")
    problem = folder.only()
    assert (problem.code, problem.file, problem.path) == (
        "E208",
        "b.yml",
        "orchestration.settings.sizes.small.width",
    )
    assert problem.message == ("the setting 'sizes.small.width' is also defined at a.yml:1")
