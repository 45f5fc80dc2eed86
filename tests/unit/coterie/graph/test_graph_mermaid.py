"""The picture as Mermaid text."""

import re

import pytest
from inline_snapshot import snapshot

from coterie.graph.condition_labels import condition_words
from coterie.graph.mermaid import escaped, mermaid_of
from coterie.graph.picture import picture
from tests.support.pictures.graphs import EVERY_KIND, SHIPPED, SMALL, plan_of, shipped_plan


def test_a_small_team() -> None:
    assert mermaid_of(picture(plan_of(SMALL))) == snapshot("""\
---
title: "example · at most 9 team visits · 5 of any one team"
config:
  flowchart:
    wrappingWidth: 340
---
flowchart TD
  start(( ))
  team_draft["<b>Draft</b><br/><i>draft · at most 3 visits</i><br/>agent <b>write</b>: writer · scripted/demo"]
  team_review["<b>review</b><br/>approval <b>sign_off</b>: by ada · within 2 d, else reject"]
  start --> team_draft
  team_draft -->|"1 · write.status = #quot;OK#quot;"| team_review
  team_draft -->|"2 · all tasks succeeded<br/>and run.visit #lt; 2"| team_draft
  team_draft -.->|"otherwise"| end2((("end")))
  team_review -->|"1 · sign_off succeeded"| end3((("end")))
  team_review -->|"2 · a task failed"| team_draft
  team_review -.->|"otherwise"| end5((("the run fails")))
""")  # noqa: E501


def test_every_kind_of_step_and_team() -> None:
    assert mermaid_of(picture(plan_of(EVERY_KIND))) == snapshot("""\
---
title: "example · at most 30 team visits · 5 of any one team · no progress: fail"
config:
  flowchart:
    wrappingWidth: 340
---
flowchart TD
  start(( ))
  team_begin["<b>Begin #lt;script#gt;alert(#quot;1#quot;)#lt;/script#gt; #amp; go</b><br/><i>begin</i><br/>agent <b>ask</b>: writer · scripted/demo · within 5 min · 2 more attempts · a person allows it first<br/>agent <b>by_plan</b>: planner · plan of 3 steps<br/>#nbsp;#nbsp;#nbsp;#nbsp;agent <b>write</b>: writer · scripted/demo · a person accepts its answer<br/>branch <b>choose</b><br/>#nbsp;#nbsp;#nbsp;#nbsp;if context.mode is one of [#quot;fast#quot;, #quot;slow#quot;]<br/>#nbsp;#nbsp;#nbsp;#nbsp;set <b>keep</b>: sets a<br/>#nbsp;#nbsp;#nbsp;#nbsp;otherwise<br/>#nbsp;#nbsp;#nbsp;#nbsp;wait <b>rest</b>: for 90s<br/>parallel <b>both</b>: 2 branches · until any succeeded<br/>#nbsp;#nbsp;#nbsp;#nbsp;branch left<br/>#nbsp;#nbsp;#nbsp;#nbsp;wait <b>signalled</b>: for the signal go · within 2 d<br/>#nbsp;#nbsp;#nbsp;#nbsp;branch right<br/>#nbsp;#nbsp;#nbsp;#nbsp;team <b>elsewhere</b>: runs helper<br/>try <b>careful</b><br/>#nbsp;#nbsp;#nbsp;#nbsp;agent <b>risky</b>: writer · scripted/demo · if context.a_long_name.of_something #gt; 3 and context.other == 'y'<br/>#nbsp;#nbsp;#nbsp;#nbsp;after ProviderFailed<br/>#nbsp;#nbsp;#nbsp;#nbsp;fail <b>give_up</b>: Failed<br/>#nbsp;#nbsp;#nbsp;#nbsp;finally<br/>#nbsp;#nbsp;#nbsp;#nbsp;set <b>last</b>: sets z"]
  team_alpha["<b>alpha</b><br/>agent <b>one</b>: writer · scripted/demo"]
  team_beta["<b>beta</b><br/><i>loop</i><br/>loop <b>loop</b>: while context.n #lt; 3 · at most 7 rounds<br/>#nbsp;#nbsp;#nbsp;#nbsp;agent <b>two</b>: writer · scripted/demo"]
  team_gamma["<b>gamma</b><br/><i>approval</i><br/>agent <b>three</b>: writer · scripted/demo<br/>approval <b>approval</b>: by anyone · no deadline"]
  team_gather["<b>gather</b><br/><i>concentrator · until 2 of the branches succeeded or 1 h passed · aggregate: merge_dict</i>"]
  team_helper["<b>helper</b><br/>agent <b>four</b>: writer · scripted/demo"]
  team_lonely["<b>一个团队</b><br/><i>lonely · continues after a failed task</i><br/>set <b>a_task_with_a_name_that_somebody_has_made_longer_than_any_box_is_wide</b>: sets q"]
  start --> team_begin
  fan0(["1 · context.a.b exists or a task failed<br/>all at once, meet at gather"])
  team_begin --- fan0
  fan0 --> team_alpha
  fan0 --> team_beta
  fan0 --> team_gamma
  team_begin -->|"2 · a task succeeded"| team_begin
  team_begin -.->|"otherwise"| end2((("the run fails")))
  team_begin -.->|"runs as a step"| team_helper
  team_alpha -->|"1 · all tasks succeeded"| team_gather
  team_alpha -.->|"otherwise"| end5((("the run fails")))
  team_beta -.->|"otherwise"| team_gather
  team_gamma -->|"1 · always"| team_gather
  team_gather -.->|"otherwise"| team_lonely
  team_helper --> end9((("end")))
  team_lonely -.->|"otherwise"| team_lonely
""")  # noqa: E501


@pytest.mark.parametrize("name", SHIPPED)
def test_every_team_and_every_rule_stands_there_once(name: str) -> None:
    plan = shipped_plan(name)
    lines = mermaid_of(picture(plan)).splitlines()
    for team in plan.teams.values():
        assert sum(line.startswith(f"  team_{team.id}[") for line in lines) == 1
        for number, rule in enumerate(team.routing.rules if team.routing else (), 1):
            words = escaped(condition_words(rule.condition)[0])
            leaving = [line for line in lines if line.startswith(f"  team_{team.id} ")]
            assert sum(f'|"{number} · {words}' in line for line in leaving) == 1


def test_no_text_can_end_its_label() -> None:
    """Whatever a label holds, it has no sign that Mermaid or a browser takes for its own."""
    text = mermaid_of(picture(plan_of(EVERY_KIND)))
    for label in re.findall(r'\["(.*)"\]|\|"(.*)"\|', text):
        bare = re.sub(r"</?[bi]>|<br/>|#\w+;", "", "".join(label))
        assert not set(bare) & set('<>"#&`'), bare


@pytest.mark.parametrize("sign", list('#&<>"`\\\n'))
def test_a_sign_that_means_something_is_escaped(sign: str) -> None:
    assert re.fullmatch(r"#\w+;| ", escaped(sign))


def test_names_that_look_alike_stay_two_teams() -> None:
    text = SMALL.replace("draft", "a-b").replace("review", "a_b")
    lines = mermaid_of(picture(plan_of(text))).splitlines()
    assert [line.split("[")[0].strip() for line in lines if "[" in line] == [
        "team_a_b",
        "team_a_b_2",
    ]
