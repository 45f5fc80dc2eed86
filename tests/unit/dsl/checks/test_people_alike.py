"""No two people or groups look alike, wherever a document names them."""

import pytest

from coterie.dsl.compile.compiler import SourceText, compile_sources
from coterie.dsl.errors import InvalidDocument
from tests.support.compiling import CAPABILITIES

_CYRILLIC = "\u0430nn"
_ASK = "name: ask, type: approval, prompt: Go?, deadline: 1d"
_PLACES = {
    "approvers": (f"{{ {_ASK}, approvers: [ann, NAME] }}", "{}"),
    "a group that decides": (f"{{ {_ASK}, approvers: [leads] }}", "{ leads: [ann, NAME] }"),
    "a group that decides nothing": (f"{{ {_ASK}, approvers: [bob] }}", "{ leads: [ann, NAME] }"),
    "groups apart": (f"{{ {_ASK}, approvers: [bob] }}", "{ leads: [ann], others: [NAME] }"),
    "names of groups": (f"{{ {_ASK}, approvers: [ann] }}", "{ ann: [bob], NAME: [eve] }"),
    "a person and a group": (f"{{ {_ASK}, approvers: [ann] }}", "{ NAME: [bob] }"),
    "escalate.to": (
        f"{{ {_ASK}, approvers: [ann], escalate: [{{ after: 1h, to: [NAME] }}] }}",
        "{}",
    ),
    "a group of escalate.to": (
        f"{{ {_ASK}, approvers: [ann], escalate: [{{ after: 1h, to: [more] }}] }}",
        "{ more: [NAME] }",
    ),
    "a call": (
        "{ name: s, skill: Calculator.evaluate, input: { expression: '1' }, "
        "requires_approval: { deadline: 1d, approvers: [ann, NAME] } }",
        "{}",
    ),
}


@pytest.mark.parametrize("name", [_CYRILLIC, "an\u200bn", "a\u043fn"])
@pytest.mark.parametrize("place", _PLACES)
def test_two_names_that_look_alike_are_refused_wherever_they_stand(place: str, name: str) -> None:
    task, groups = (part.replace("NAME", f'"{name}"') for part in _PLACES[place])
    text = (
        "llm_config: { default_provider: scripted, default_model: demo, "
        "providers: { scripted: { answers: a.yml } } }\n"
        f"orchestration:\n  entry_team: main\n  groups: {groups}\n"
        f"  teams: {{ main: {{ tasks: [{task}] }} }}\n"
    )
    with pytest.raises(InvalidDocument) as caught:
        compile_sources([SourceText("a.yml", text)], CAPABILITIES, name="a")
    (problem,) = [one for one in caught.value.problems if one.code == "E106"]
    assert "look alike" in problem.message
