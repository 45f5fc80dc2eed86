"""A document of 1,000 lines without a mistake: 60 teams with 300 tasks, most kinds of steps.

Fifteen rounds of four teams: the first writes until its review passes and fans out to the second
and the third, which meet in the fourth; from there it goes on to the next round.
"""

TEAMS = 60

_HEAD = """\
name: large
llm_config:
  default_provider: scripted
  default_model: demo
  providers:
    scripted: { answers: answers.yml }
  personas:
    writer:
      temperature: 0.5
      max_tokens: 2000
      prompts:
        system: |
          You write one chapter of a long report.
          {% if context.style is defined %}Write in this style: {{ context.style }}.{% endif %}
        user: "Write about {{ input.topic }}. {{ context.comment | default('') }}"
    reviewer:
      prompts:
        user: "Review this:\\n{{ input.text }}"
      output_schema:
        type: object
        properties:
          verdict: { enum: [PASS, FAIL] }
          score: { type: integer, minimum: 0, maximum: 10 }
          comment: { type: string }
        required: [verdict, score, comment]
        additionalProperties: false
    worker:
      execution_plan:
        - { name: begin, type: set, values: { done: [] } }
        - name: each
          iterate_on: "{{ input.files }}"
          loop_variable: file
          max_iterations: 20
          body:
            - { name: read, skill: Discovery.collect, input: { path: "{{ file }}" } }
        - { name: end, type: return, value: { rounds: "{{ tasks.each.data.rounds }}" } }
orchestration:
  entry_team: team_00
  max_total_teams: 200
  teams:
"""

_WRITING = """\
    TEAM:
      max_recursion_depth: 4
      tasks:
        - { name: draft, agent_type: generic_single_shot, persona_key: writer,
            input: { topic: "{{ context.topic }}, part NUMBER" } }
        - { name: review, agent_type: generic_single_shot, persona_key: reviewer,
            input: { text: "{{ tasks.draft.data.text }}" } }
        - { name: keep, type: set, values: { score: "{{ tasks.review.data.score }}" } }
        - { name: rest, type: wait, duration: 5s, when: "{{ score < 5 }}" }
        - { name: sign_off, type: approval, prompt: "Part NUMBER: {{ score }}?", deadline: 2d }
      routing:
        rules:
          - { condition: { task: review, output_field: verdict, operator: equals, value: FAIL },
              next_team: TEAM, context_updates: { comment: "{{ tasks.review.data.comment }}" } }
          - { condition: { task: draft, status: success }, next_team: [NEXT, BEYOND] }
        default: null
"""

_WORKING = """\
    TEAM:
      tasks:
        - name: work
          agent_type: generic_orchestrating
          persona_key: worker
          input: { files: "{{ context.files }}" }
        - { name: count, type: set, values: { rounds: "{{ tasks.work.data.rounds }}" } }
        - { name: several, type: branch, branches: [
            { condition: "{{ rounds > 1 }}", steps: [
              { name: slowly, type: wait, duration: 1m }] }] }
        - { name: go_on, type: wait, signal: go_on, deadline: 1h }
        - { name: report, agent_type: generic_single_shot, persona_key: writer,
            config: { temperature: 0 }, input: { topic: "{{ rounds }} files" } }
      routing:
        context_updates: { report_NUMBER: "{{ tasks.report.data.text }}" }
        default: BEYOND
"""

_ASKING = """\
    TEAM:
      tasks:
        - name: carefully
          type: try
          steps: [{ name: ask, agent_type: generic_single_shot, persona_key: reviewer,
            input: { text: "{{ context.topic }}" } }]
          catch: [{ error: Timeout, steps: [{ name: late, type: set, values: { slow: true } }] }]
        - { name: one, agent_type: generic_single_shot, persona_key: writer, input: { topic: a } }
        - { name: two, agent_type: generic_single_shot, persona_key: writer, input: { topic: b } }
        - { name: both, type: set, values: {
            text: "{{ tasks.one.data.text ~ tasks.two.data.text }}" } }
        - { name: shown, type: approval, prompt: "{{ text }}?", approvers: [ann], deadline: 1d }
      routing:
        rules:
          - { condition: [{ task: shown, status: success }], next_team: NEXT }
        default: NEXT
"""

_MEETING = """\
    TEAM:
      type: concentrator
      collect: { timeout: 1h }
      tasks:
        - { name: all, type: set, values: { results: "{{ aggregate }}" } }
        - { name: each, type: loop, iterate_on: "{{ results }}", loop_variable: result, body: [
            { name: note, type: set, values: { last: "{{ result }}" } }] }
        - { name: sum_up, agent_type: generic_single_shot, persona_key: writer,
            input: { topic: "{{ results | length }} results" } }
        - { name: judge, agent_type: generic_single_shot, persona_key: reviewer,
            input: { text: "{{ tasks.sum_up.data.text }}" }, requires_approval: after }
        - { name: pause, type: wait, duration: "{{ tasks.judge.data.score }}m" }
      routing:
        rules:
          - { condition: { context_field: urgent, operator: exists }, next_team: null }
        default: NEXT
"""

_KINDS = (_WRITING, _WORKING, _ASKING, _MEETING)


def large_document(teams: int = TEAMS) -> str:
    """The document; sixteen lines more or fewer for each team more or fewer."""
    made = (_team(number, teams) for number in range(teams))
    return _HEAD + "".join(made)


def _team(number: int, teams: int) -> str:
    def name(number: int) -> str:
        return f"team_{number:02}" if number < teams else "null"

    text = _KINDS[number % len(_KINDS)]
    for word, said in (
        ("TEAM", name(number)),
        ("NEXT", name(number + 1)),
        ("BEYOND", name(number + 2)),
        ("NUMBER", str(number)),
    ):
        text = text.replace(word, said)
    return text
