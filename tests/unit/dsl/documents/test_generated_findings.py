"""What random documents have shown once: each was a crash, a hang, or passed in silence."""

from coterie.dsl.errors import Problem
from tests.support.compiling import problems_of

HEAD = """
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer: { prompts: { user: Write. } }
"""
TASKS = "tasks: [{ name: write, agent_type: generic_single_shot, persona_key: writer }]"


def teams(text: str) -> str:
    return HEAD + "orchestration:\n  entry_team: start\n  teams:\n" + text.replace("TASKS", TASKS)


def only(*texts: str) -> Problem:
    problems = [problem for problem in problems_of(*texts) if problem.severity == "error"]
    (problem,) = problems
    return problem


def test_a_concentrator_that_fans_out_to_itself_is_followed_once() -> None:
    problems = problems_of(
        teams("""
    start:
      TASKS
      routing: { rules: [{ next_team: [meet] }], default: null }
    meet:
      type: concentrator
      routing: { rules: [{ next_team: [start, meet], concentrator: meet }], default: null }
""")
    )
    assert all(problem.severity == "warning" for problem in problems)


def test_a_branch_may_not_come_to_a_concentrator_where_nobody_waits() -> None:
    problem = only(
        teams("""
    start:
      TASKS
      routing: { rules: [{ next_team: [one, two], concentrator: here }], default: null }
    one: { TASKS, routing: { default: here } }
    two: { TASKS, routing: { default: there } }
    here: { type: concentrator }
    there: { type: concentrator }
""")
    )
    assert problem.code == "E107"
    assert "can reach there, but the fan-out meets at" in problem.message


def test_an_orchestration_that_is_empty_is_missing() -> None:
    assert only(HEAD + "orchestration: null\n").code == "E102"


def test_a_team_that_is_to_loop_says_over_what() -> None:
    problem = only(teams("    start: { type: loop, TASKS }\n"))
    assert (problem.code, problem.path) == ("E102", "orchestration.teams.start.loop")


def test_a_key_that_a_section_of_a_team_does_not_have_is_refused() -> None:
    problem = only(
        teams("""
    start:
      type: loop
      TASKS
      loop: { iterate_on: [1], loop_variable: n, output_variable: all }
""")
    )
    assert (problem.code, problem.path) == (
        "E101",
        "orchestration.teams.start.loop.output_variable",
    )


def test_one_bad_condition_of_a_plan_that_two_tasks_follow_is_reported_once() -> None:
    plan = """
    coder:
      execution_plan:
        - { name: note, type: set, values: { x: 1 }, when: "{{ context.x" }
"""
    problem = only(
        teams("""
    start:
      tasks:
        - { name: one, agent_type: generic_orchestrating, persona_key: coder }
        - { name: two, agent_type: generic_orchestrating, persona_key: coder, config: {} }
""").replace("orchestration:\n", plan + "orchestration:\n", 1)
    )
    assert problem.code == "E301"


def test_a_rule_whose_expression_does_not_parse_is_refused() -> None:
    problem = only(
        teams("""
    start:
      TASKS
      routing: { rules: [{ condition: "{{ con[xt.n }}", next_team: null }], default: null }
""")
    )
    assert problem.code == "E301"


def test_a_mistake_that_is_found_out_at_the_end_is_reported_where_it_began() -> None:
    text = "orchestration:\n{     entry_team: start\n"
    problem = only(text)
    assert (problem.code, problem.line) == ("E002", 2)
