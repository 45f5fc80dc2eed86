"""Ask the person at the terminal for the inputs that a start lacks."""

import sys

from pydantic import JsonValue

from coterie.argument_values import read_written
from coterie.dsl.evaluate.declared_values import form_of, missing_inputs, value_problems
from coterie.dsl.model.context.declarations import Declarations, DeclaredPath
from coterie.dsl.paths import parse, put
from coterie.dsl.values import Json
from coterie.failures import CommandError
from coterie.terminal import note, prompt


def ask_inputs(declared: Declarations, context: Json) -> Json:
    """Return the context with an answer for each required path that it lacks.

    Raises:
        CommandError: The person closes the input (Ctrl-D).
    """
    for path in missing_inputs(context, declared):
        try:
            context = put(context, parse(path), _ask_input(path, declared[path]))
        except ValueError:
            return context  # the check of the start names what is in the way
    return context


def _ask_input(path: str, declaration: DeclaredPath) -> JsonValue:
    about = declaration.schema_.get("description")
    if isinstance(about, str):
        note(about)
    while True:
        prompt(f"{path} ({form_of(declaration)}): ")
        line = sys.stdin.readline()
        if not line:
            note("")
            raise CommandError(f"no value for {path}: the input was closed")
        try:
            value = read_written(path, line.strip(), declaration)
        except CommandError as error:
            note(str(error))
            continue
        problems = value_problems(path, value, declaration)
        if not problems:
            return value
        note("; ".join(problems))
