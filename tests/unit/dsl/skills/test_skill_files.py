"""A SKILL.md: what its front matter may say, and each mistake at its place, all in one pass."""

import pytest

from coterie.dsl.source.skill_files import SkillHead, read_skill

GOOD = "name: refunds\ndescription: Decides about money."


def found(front: str) -> list[tuple[str, int, int, str]]:
    read = read_skill(f"---\n{front}\n---\nText.\n", "skills/refunds/SKILL.md", "refunds")
    assert (read.head is None) == any(problem.severity == "error" for problem in read.problems)
    return [(one.code, one.line, one.column, one.path) for one in read.problems]


def test_a_skill_has_what_its_front_matter_says_and_the_text_below_it() -> None:
    text = (
        "\ufeff---\r\nname: refunds\r\ndescription: >-\r\n  Decides\r\n  about money.\r\n"
        "license: MIT\r\ncompatibility: Needs a till.\r\nmetadata: { owner: ann }\r\n"
        "allowed-tools: Bash(git:*, jq:*) Read,\r\n---\r\n\r\n# Refunds\r\n---\r\nThe end.\r\n"
    )
    read = read_skill(text, "SKILL.md", "refunds")
    assert read.problems == ()
    assert read.head == SkillHead(
        "refunds", "Decides about money.", "Needs a till.", ("Bash", "Read")
    )
    assert read.body.splitlines() == ["# Refunds", "---", "The end."]


def test_tools_may_be_a_list() -> None:
    read = read_skill(f"---\n{GOOD}\nallowed-tools: [Read, 'Bash(a b)']\n---\n", "f", "refunds")
    assert read.head is not None
    assert read.head.allowed_tools == ("Read", "Bash")


@pytest.mark.parametrize(
    ("front", "problem"),
    [
        ("description: x", ("E102", 2, 1, "name")),
        ("name: refunds", ("E102", 2, 1, "description")),
        ("name: Refunds\ndescription: x", ("E105", 2, 7, "name")),
        ("name: refunds-\ndescription: x", ("E105", 2, 7, "name")),
        ("name: re--funds\ndescription: x", ("E105", 2, 7, "name")),
        ("name: ../refunds\ndescription: x", ("E105", 2, 7, "name")),
        ("name: money\ndescription: x", ("E105", 2, 7, "name")),
        (f"name: {'a' * 65}\ndescription: x", ("E106", 2, 7, "name")),
        ("name: 7\ndescription: x", ("E103", 2, 7, "name")),
        (f"name: refunds\ndescription: {'x' * 1025}", ("E106", 3, 14, "description")),
        ("name: refunds\ndescription: '  '", ("E103", 3, 14, "description")),
        ("name: refunds\ndescription: [x]", ("E103", 3, 14, "description")),
        (f"{GOOD}\nlicense: [MIT]", ("E103", 4, 10, "license")),
        (f"{GOOD}\ncompatibility: {'x' * 501}", ("E106", 4, 16, "compatibility")),
        (f"{GOOD}\nmetadata: ann", ("E103", 4, 11, "metadata")),
        (f"{GOOD}\nallowed-tools: [1]", ("E103", 4, 16, "allowed-tools")),
        (f"{GOOD}\nmodel: large", ("W517", 4, 1, "model")),
        (f"{GOOD}\nlicence: MIT", ("E101", 4, 1, "licence")),
        ("name: refunds\ndescripton: x", ("E101", 3, 1, "descripton")),
        ("name: refunds\ndescription: Use: when", ("E002", 3, 17, "")),
        (f"{GOOD}\nname: again", ("E003", 4, 1, "name")),
    ],
)
def test_each_mistake_has_its_place(front: str, problem: tuple[str, int, int, str]) -> None:
    assert found(front) == [problem]


def test_a_description_of_the_greatest_length_is_accepted() -> None:
    assert found(f"name: refunds\ndescription: {'x' * 1024}") == []


def test_all_mistakes_are_found_in_one_pass() -> None:
    codes = [code for code, *_ in found("name: Refunds\nmodel: large\nmetadata: 7")]
    assert sorted(codes) == ["E102", "E103", "E105", "W517"]


@pytest.mark.parametrize(
    "text", ["", "# Refunds\n", "---\nname: refunds\n", "\n---\nname: x\n---\n"]
)
def test_a_text_without_front_matter_is_no_skill(text: str) -> None:
    read = read_skill(text, "SKILL.md", "refunds")
    assert read.head is None
    assert [(one.code, one.line, one.column) for one in read.problems] == [("E102", 1, 1)]
    assert ("never ends" in read.problems[0].message) == text.startswith("---")
