"""A launcher that found no program has run nothing; any other end of a command is a result."""

import pytest

from coterie.activities.workspace.command_start import why_not_launched

NPM_404 = """npm error code E404
npm error 404 Not Found - GET https://registry.npmjs.org/jest - Not found
npm error A complete log of this run can be found in: /home/ann/.npm/_logs/a.log
"""
YARN = """yarn run v1.22.22
warning package.json: No license field
error Command "jest" not found.
info Visit https://yarnpkg.com/en/docs/cli/run for documentation about this command.
"""
YARN_2 = """Usage Error: Couldn't find a script named "jest".

$ yarn run [--inspect] [--inspect-brk] [-T,--top-level] [-B,--binaries-only] <scriptName> ...
"""
PIPENV = "Error: the command pytest could not be found within PATH or Pipfile's [scripts]."

NOT_LAUNCHED = [
    ("poetry run pytest", 1, "Creating virtualenv p in /v\nCommand not found: pytest\n", "poetry"),
    ("/opt/bin/poetry -q run pytest -x", 1, "Command not found: pytest\n", "poetry"),
    ("sh -c 'cd web && poetry run pytest'", 1, "Command not found: pytest", "poetry"),
    ("pipenv run pytest", 1, f"{PIPENV}\n", "pipenv"),
    ("pdm run pytest", 1, "[PdmUsageError]: Command 'pytest' is not found in your PATH.\n", "pdm"),
    (
        "uv run pytest",
        2,
        "error: Failed to spawn: `pytest`\n  Caused by: No such file or directory (os error 2)\n",
        "uv",
    ),
    (
        "uv run pytest",
        2,
        "Using CPython 3.11\nerror: Failed to spawn: pytest\n  cause: No such file (os error 2)\n",
        "uv",
    ),
    ("yarn jest", 1, YARN, "yarn"),
    (
        "pnpm exec jest",
        254,
        'undefined\n\u2009ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL\u2009 Command "jest" not found\n',
        "pnpm",
    ),
    (
        "pnpm jest",
        254,
        ' ERR_PNPM_RECURSIVE_EXEC_FIRST_FAIL  Command "jest" not found\n\n'
        'Did you mean "pnpm run test"?\n',
        "pnpm",
    ),
    ("yarn jest", 1, YARN_2, "yarn"),
    ("npx jest", 1, NPM_404, "npm"),
    ("npx jest", 1, "npm ERR! could not determine executable to run\n", "npm"),
    (
        "npx --no-install jest",
        1,
        'npm error npx canceled due to missing packages and no YES option: ["jest@29"]\n',
        "npm",
    ),
]
RESULTS = [
    # The launcher's words, and another exit code.
    ("poetry run pytest", 0, "Command not found: pytest\n"),
    ("poetry run pytest", 2, "Command not found: pytest\n"),
    ("uv run pytest", 1, "error: Failed to spawn: `pytest`\n"),
    ("npx jest", 0, NPM_404),
    ("poetry run pytest", None, "Command not found: pytest\n"),
    # The launcher's words, and no such launcher.
    ("pytest -q", 1, "Command not found: pytest\n"),
    ("poetry run pytest", 1, f"{PIPENV}\n"),
    ("poetry run jest", 1, YARN),
    ("poetry run jest", 1, YARN_2),
    # The words about another program, as a test of it may print them.
    ("poetry run pytest", 1, "Command not found: git\n"),
    ("uv run pytest", 2, "error: Failed to spawn: `git`\n"),
    # The words before the end: the program ran after them.
    ("poetry run pytest", 1, "Command not found: pytest\n1 failed in 0.1s\n"),
    ("poetry run pytest", 1, "E  Command not found: pytest\n"),
    ("uv run pytest", 2, "error: Failed to spawn: `pytest`\n2 errors\n"),
    ("yarn jest", 1, YARN + "Tests: 1 failed\n"),
    # npm, and lines that are not its own, or a failure of what it ran.
    ("npx jest", 1, "FAIL a.test.js\n" + NPM_404),
    ("npm test", 1, "npm error Lifecycle script `test` failed with error:\nnpm error code 1\n"),
    ("npx jest", 1, ""),
]


@pytest.mark.parametrize(("command", "exit_code", "output", "launcher"), NOT_LAUNCHED)
def test_a_launcher_that_finds_no_program_has_run_nothing(
    command: str, exit_code: int, output: str, launcher: str
) -> None:
    argv = command.split()
    why = why_not_launched(argv, argv, exit_code, output)
    assert why is not None
    assert why.startswith(f"{launcher} found no program")
    assert "dependencies" in why


def test_a_script_that_npm_does_not_find_belongs_to_the_package() -> None:
    argv = ("npm", "run", "tests")
    why = why_not_launched(argv, argv, 1, 'npm error Missing script: "tests"\nnpm error\n')
    assert why == (
        'npm found no script (Missing script: "tests"); add it to `scripts` in package.json'
    )


@pytest.mark.parametrize(("command", "exit_code", "output"), RESULTS)
def test_any_other_end_is_a_result(command: str, exit_code: int | None, output: str) -> None:
    argv = command.split()
    assert why_not_launched(argv, argv, exit_code, output) is None


def test_a_program_that_a_parameter_names_counts() -> None:
    run, argv = ("poetry", "run", "{program}"), ("poetry", "run", "mypy")
    assert why_not_launched(run, argv, 1, "Command not found: mypy\n") is not None
