"""The mutants that `make mutants` tries: each is one wrong place, and everything else stays."""

import random
from pathlib import Path

import pytest

from tests.mutants.execution_map import ROOT, ExecutionMap, varied
from tests.mutants.mutations import Mutant, mutants_of
from tests.mutants.report import Equivalent, Tried, equivalence, read_equivalents, score
from tests.mutants.sample import END_TO_END, at_lines, candidates, draw, end_to_end
from tests.mutants.trial import Verdict

HERE = Path("module.py")


def wrong_versions(body: str) -> set[str]:
    source = f"def decide(a, b, c):\n    {body}\n"
    return {mutant.applied(source).splitlines()[1].strip() for mutant in mutants_of(HERE, source)}


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("return a < b", {"return a <= b", "return None"}),
        ("return a in b", {"return a not in b", "return None"}),
        ("return a and b", {"return (a) or (b)", "return None"}),
        ("return not a", {"return (a)", "return None"}),
        ("return min(a, b)", {"return max(a, b)", "return None"}),
        ("return a + 1", {"return a - 1", "return a + 2", "return None"}),
        ("return True", {"return False", "return None"}),
        ("return False", {"return True"}),
        ("return 0", {"return 1", "return None"}),
        ("keep(a)", {"pass"}),
        ("keep(zip(a, b, strict=True))", {"pass"}),
        ("keep(md5(a, usedforsecurity=False))", {"pass"}),
        ("if a: b()", {"if (not (a)): b()", "if a: pass"}),
        ("name = 'ä' if a else b", {"name = 'ä' if (not (a)) else b"}),
    ],
)
def test_mutants_are_every_wrong_version_of_a_statement(body: str, wrong: set[str]) -> None:
    assert wrong_versions(body) == wrong


@pytest.mark.parametrize(
    "body", ["raise Error(1)", "x: Final[1] = b", "'''Returns 1.'''", "assert a < b", "return None"]
)
def test_statement_that_decides_nothing_has_no_mutants(body: str) -> None:
    assert wrong_versions(body) == set()


def test_a_sample_takes_executed_lines_only_and_one_mutant_a_line(tmp_path: Path) -> None:
    module = tmp_path / "dsl" / "module.py"
    module.parent.mkdir()
    module.write_text("def f(a, b):\n    if a < b and b < 3:\n        return a\n    return b\n")
    executed = ExecutionMap({module: {2: ("t::one",), 4: ()}})
    found = candidates(tmp_path, "dsl", executed)
    assert {mutant.line for mutant in found} == {2}
    assert len(draw(found, 5, random.Random(1), tmp_path)) == 1


def test_a_mutant_of_a_command_meets_the_end_to_end_tests_of_that_command() -> None:
    path = Path("coterie/replay/replay.py")
    files = end_to_end(Mutant(path, 1, "return", 0, 1, "a", "b"))
    assert "tests/e2e/commands/test_cli_replay.py" in files
    for prefix in END_TO_END:
        mutant = Mutant(Path(prefix, "module.py"), 1, "return", 0, 1, "a", "b")
        assert all((ROOT / file).is_file() for file in end_to_end(mutant))
    assert end_to_end(Mutant(HERE, 1, "return", 0, 1, "a", "b")) == ()


def test_tests_of_a_line_come_from_different_files_first() -> None:
    one, two = "tests/unit/test_one.py::", "tests/unit/test_two.py::"
    slow = "tests/workflow/test_slow.py::"
    best_first = [f"{one}a", f"{one}b", f"{one}c", f"{two}a", f"{two}b", f"{slow}a"]
    assert varied(best_first) == (f"{one}a", f"{two}a", f"{one}b", f"{two}b", f"{one}c", f"{slow}a")


def test_named_lines_give_every_mutant_of_theirs_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text("def f(a):\n    b = not a\n    return b\n")
    assert [
        mutant.described() for mutant in at_lines(tmp_path, ["module.py:3", "module.py:2"])
    ] == ["module.py:3 return: b -> None", "module.py:2 negation: not a -> (a)"]


@pytest.mark.parametrize("name", ["module.py", "module.py:x", "other.py:2", "module.py:1"])
def test_a_name_that_is_no_line_with_a_mutant_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "module.py").write_text("def f(a):\n    return a\n")
    with pytest.raises(ValueError, match=name):
        at_lines(tmp_path, [name])


def test_an_equivalent_mutant_does_not_count_and_a_survivor_does() -> None:
    def tried(kind: str, verdict: Verdict) -> Tried:
        return Tried(Mutant(HERE, 2, kind, 0, 1, "a <  b", "a <= b"), verdict)

    known = Equivalent(
        path="module.py", kind="comparison", before="a < b", after="a <= b", because="a is never b"
    )
    everything = [
        tried("comparison", Verdict.SURVIVED),
        tried("condition", Verdict.SURVIVED),
        tried("constant", Verdict.KILLED),
    ]
    assert score(everything, [known]) == (1, 2)


def test_each_listed_equivalent_is_one_mutant() -> None:
    for entry in read_equivalents(ROOT / "tests" / "mutants" / "equivalent.yml"):
        path = Path(entry.path)
        found = mutants_of(path, (ROOT / path).read_text())
        assert sum(equivalence(mutant, [entry]) is not None for mutant in found) == 1, entry
