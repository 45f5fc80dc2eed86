"""The debugging agent under fire: its phases, what it may not do twice, and its honest script."""

from dataclasses import replace

import pytest

from coterie.activities.providers.message_model import ModelMessage
from coterie.activities.providers.provider import ModelRequest
from coterie.activities.providers.scripts.script import ScriptedAnswer, read_script
from coterie.activities.providers.scripts.scripted_choice import choose
from coterie.runs.ends.end_facts import RunEnd
from evals.packages.planting import DEFECTS, CannotPlant, original, plant, planted
from tests.chaos.book import Call
from tests.chaos.debug_runs.debug_ground import FILE, SCRIPT
from tests.chaos.debug_runs.debug_phases import PHASES, InProgress, meets
from tests.chaos.debug_runs.debug_play import Mended, differences

TASK = f'<task id="mend"> {FILE}'
FAILED = "assert '/a%2520' == '/a%20'"
READ = "code == 0x25 and i + 3 < l:"
WRONG = f"so compare with i + 2 {TASK}"


@pytest.mark.parametrize(
    ("name", "id", "kind"),
    [
        ("planning", "0003.agent.plan", "run_agent"),
        ("acting: a model turn", "0010.agent.act.t1", "run_agent"),
        ("acting: the tests", "0016.agent.shell_exec@3.1", "call_function"),
        ("observing", "0018.agent.observe", "run_agent"),
        ("reasoning", "0009.agent.reason", "run_agent"),
        ("reflection", "0028.agent.reflect", "run_agent"),
    ],
)
def test_each_activity_belongs_to_one_phase(name: str, id: str, kind: str) -> None:
    phases = [one for one in PHASES if one.activity]
    assert [one.name for one in phases if meets(one, [InProgress(id, kind)])] == [name]


def entry(turn: int, prompt: str) -> ScriptedAnswer | None:
    request = ModelRequest(
        "demo", (ModelMessage.of("user", prompt),), label="agent/act#1.0", turn=turn
    )
    return choose(read_script(SCRIPT), request)


def tools(found: ScriptedAnswer | None) -> list[str]:
    return [] if found is None else [call.tool for call in found.tool_calls]


@pytest.mark.parametrize("turn", [1, 2, 3])
@pytest.mark.parametrize(
    "prompt",
    [TASK, f"{TASK} {READ}", f"{TASK} {FAILED}", WRONG, f"{WRONG} {FAILED}", f"{WRONG} {READ}"],
)
def test_the_script_gives_no_patch_unless_the_failing_test_and_the_file_were_read(
    turn: int, prompt: str
) -> None:
    assert "file_write" not in tools(entry(turn, prompt))


def test_the_script_patches_what_was_read_and_corrects_it_by_what_the_tests_say() -> None:
    assert tools(entry(2, f"{TASK} {READ} {FAILED}")) == ["file_write"]
    seen = f"{WRONG} code == 0x25: assert '100%' == '100%25'"
    assert tools(entry(2, seen)) == ["file_write"]


def mended(text: str = "fixed") -> Mended:
    calls = [Call("call_function", "0014.agent.file_write@2.1", 1.0, 1, 2.0)]
    return Mended(RunEnd("completed"), calls, 1, ["Mend it"], 1, text, [])


def test_work_that_is_done_twice_is_found_and_another_order_is_none() -> None:
    usual = mended()
    other = replace(usual, calls=[Call("call_function", "0015.agent.file_write@2.1", 1.0, 2, 2.0)])
    assert differences(other, usual) == []
    assert [one.partition(":")[0] for one in differences(mended("else"), usual)] == [
        "the mended file"
    ]
    twice = replace(usual, calls=usual.calls * 2, commits=["Mend it", "Mend it"], writes=2)
    assert [one.partition(":")[0] for one in differences(twice, usual)] == [
        "its calls",
        "the commits",
        "the number of written files",
    ]


@pytest.mark.parametrize("file", [defect.file for defect in DEFECTS])
def test_a_planted_defect_is_in_one_line(file: str) -> None:
    lines = zip(planted(file).splitlines(), original(file).splitlines(), strict=True)
    assert sum(one != other for one, other in lines) == 1


@pytest.mark.parametrize("text", ["nothing alike", "i + 2 < l or i + 2 < l"])
def test_a_defect_without_its_one_line_is_refused(text: str) -> None:
    with pytest.raises(CannotPlant, match="has no single line with 'i \\+ 2 < l'"):
        plant(text, DEFECTS[0])
