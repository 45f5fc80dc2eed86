"""Documents that several tests compile."""

RICH = """
name: rich
llm_config:
  default_provider: scripted
  default_model: demo
  personas:
    writer:
      temperature: 0.5
      flags: {tone: warm}
      prompts: {system: "Be {{ flags.tone }}.", user: "Write about {{ context.topic }}."}
      output_schema: {type: object, properties: {text: {type: string}}}
    reviewer:
      provider: anthropic
      model: m
      prompts: {user: "Review {{ input.text }} for {{ tasks.write.data.text }}."}
    old:
      prompt_syntax: braces
      prompts: {user: "Rate {draft} for {context_topic}. {{json}}"}
    coder:
      execution_plan:
        - {name: begin, type: set, values: {files: ["{{ input.first }}"], n: 0}}
        - name: apply
          skill: AssetManager.process_action
          input: {file_path: "{{ input.change }}", type: modify}
          retry: {retries: 2, interval: 5s, errors: [FunctionFailed]}
          output_variable: applied
          when: "{{ n < 3 }}"
        - name: each
          iterate_on: "{{ files }}"
          loop_variable: file
          break_when: {task: note, output_field: last, operator: equals, value: stop}
          body:
            - {name: note, type: set, values: {last: "{{ file }}"}}
        - name: until_done
          type: loop
          until: {context_field: done, operator: exists}
          max_iterations: 3
          body: [{name: again, type: set, values: {n: "{{ n + 1 }}"}}]
        - name: choose
          type: branch
          branches:
            - {condition: all_success, steps: [{name: good, type: set, values: {ok: true}}]}
          otherwise: [{name: bad, type: fail, error: Bad, message: "No {{ n }}"}]
        - name: both
          type: parallel
          branches:
            left: [{name: l, type: set, values: {x: 1}}]
            right: [{name: r, tool: tests, arguments: {}}]
          join: any
          losers: finish
          merge: {x: extend}
        - name: careful
          type: try
          steps: [{name: rest, type: wait, duration: 5m}]
          catch: [{error: [Timeout, Rejected], steps: [{name: c, type: set, values: {e: 1}}]}]
          finally: [{name: f, type: set, values: {z: 1}}]
        - {name: done, type: return, value: "{{ applied | default(none) }}"}
orchestration:
  entry_team: draft
  max_total_teams: 12
  no_progress: { ask: { deadline: 3d } }
  teams:
    draft:
      name: Draft Team
      max_recursion_depth: 3
      tasks:
        - name: write
          agent_type: generic_single_shot
          persona_key: writer
          timeout: 2m
        - name: review
          agent_type: generic_single_shot
          persona_key: reviewer
          config: {temperature: 0, prompts: {user: "Check {{ input.text }}"}}
          input: {text: "{{ tasks.write.data.text }}"}
          requires_approval: before
          on_failure: continue
        - name: rate
          agent_type: generic_single_shot
          persona_key: old
          input: {draft: "{{ context.draft }}"}
      routing:
        context_updates: {rounds: "{{ run.visit }}"}
        rules:
          - condition: {task: review, output_field: status, operator: eq, value: FAIL}
            next_team: code
            context_updates: {deep.id: "{{ tasks.review.data.id }}"}
          - condition:
              - {task: review, status: success}
              - or:
                  - {context_field: a.b, operator: in, value: [1, two, null]}
                  - not: {context_field: c, operator: matches, value: "^x+"}
            next_team: [left, right]
            merge: {found: extend}
        default: sign
    code:
      tasks:
        - name: code
          agent_type: generic_orchestrating
          persona_key: coder
          input: {first: a, change: "{{ context.change }}"}
      routing: {rules: [{next_team: draft}]}
    left:
      tasks: [{name: rest, type: wait, signal: go, deadline: 1h}]
      routing: {rules: [{next_team: meet, context_updates: {found: 1}}], default: null}
    right:
      tasks: [{name: sub, team: sign, input: {x: 1}}]
      routing: {rules: [{condition: all_success, next_team: meet}], default: null}
    meet:
      type: concentrator
      collect: {count: 1, timeout: 1h, aggregate: merge_dict}
    sign:
      tasks:
        - name: sign_off
          type: approval
          prompt: "Ship {{ context.topic }}?"
          show: "{{ context }}"
          approvers: [ann, bob]
          deadline: 2d
          on_timeout: fail
tools:
  tests: {skill: CommandRunner.run, fixed: {command: pytest}, requires_approval: true}
"""
"""Every kind of step and nearly every key, without a mistake."""
