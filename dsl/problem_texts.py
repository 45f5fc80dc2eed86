"""The texts of problems that several checks find; a rule has the words of its own."""

import re
from typing import assert_never

from coterie.dsl.errors import asked_back, in_order, listed
from coterie.dsl.problem_details import (
    Advice,
    Details,
    DidYouMean,
    Edit,
    EmptyCollection,
    FormByKeys,
    Found,
    MissingKey,
    OfKeys,
    OfKinds,
    OfValues,
    OutOfBounds,
    ProblemText,
    Quote,
    RefusedKey,
    Replace,
    Statement,
    Suggestion,
    UnknownConditionKind,
    UnknownKey,
    UnknownName,
    UnknownOperator,
    UnknownStepKind,
    UnlistedValue,
    WriteKey,
    WrongForm,
    WrongValue,
)
from coterie.dsl.values import UNREADABLE


def problem_text(details: Details) -> ProblemText:
    """Return the text for the facts."""
    match details:
        case Statement(words=words):
            return words()
        case MissingKey() | UnknownKey() | RefusedKey() | UnknownName():
            return _of_keys(details)
        case UnknownStepKind() | UnknownConditionKind() | UnknownOperator():
            return _of_kinds(details)
        case UnlistedValue() | OutOfBounds() | EmptyCollection() | WrongForm():
            return _of_values(details)
        case _:
            assert_never(details)


def edit_of(details: Details, text: ProblemText) -> Edit | None:
    """Return the certain fix of a problem as data; None if a person must choose."""
    match details:
        case UnknownKey(key=old) | RefusedKey(key=old) | UnknownName(name=old):
            return _replacement(old, details.suggestion)
        case UnknownStepKind(kind=old) | UnknownOperator(operator=old) | UnlistedValue(value=old):
            return _replacement(str(old), details.suggestion)
        case WrongForm(form="string_type", found=Found(kind="scalar")):
            return Quote()
        case WrongForm(form="int_type" | "float_type", found=Found(value=str(value))) if (
            _NUMBER.fullmatch(value)
        ):
            return Replace(value, value, verbatim=True)
        case WrongForm(suggestion=Advice(edit=edit)):
            return edit
        case _:
            return text.edit


_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?")


def _replacement(old: str, suggestion: Suggestion | None) -> Edit | None:
    match suggestion:
        case DidYouMean(name=new) | WriteKey(key=new):
            return Replace(old, new)
        case Advice(edit=edit):
            return edit
        case None:
            return None
        case _:
            assert_never(suggestion)


def _of_keys(details: OfKeys) -> ProblemText:
    match details:
        case MissingKey(key=key):
            return ProblemText(f"the key {key!r} is missing", "", f"add `{key}:`")
        case UnknownKey(key=key, known=known):
            return _with_fix(f"unknown key {key!r}", listed(known), details.suggestion)
        case RefusedKey(key=key, known=known):
            message = f"{key!r} is not a form of this language"
            return _with_fix(message, listed(known), details.suggestion)
        case UnknownName(what=what, name=name, known=known):
            return _with_fix(f"unknown {what} {name!r}", listed(known), details.suggestion)
        case _:
            assert_never(details)


def _of_kinds(details: OfKinds) -> ProblemText:
    match details:
        case UnknownStepKind():
            return _unknown_step_kind(details)
        case UnknownConditionKind(shape=shape, known=known):
            return ProblemText(
                f"a condition of no known kind: it has {_shape(shape)}",
                ", ".join(known),
                "ask for a task (`task`, `output_field` or `status`) or for the context "
                "(`context_field`)",
            )
        case UnknownOperator(operator=operator, known=known):
            message = f"unknown operator {operator!r}"
            return _with_fix(message, ", ".join(known), details.suggestion)
        case _:
            assert_never(details)


def _of_values(details: OfValues) -> ProblemText:
    subject = _subject(details.subject)
    match details:
        case UnlistedValue(value=value, known=known):
            message = f"{subject} is {value!r}"
            return _with_fix(message, in_order(known), details.suggestion)
        case OutOfBounds(found=found, bound=bound, limit=limit):
            message = f"{subject} is {_found_text(found)}"
            return ProblemText(message, f"{bound} {int(limit) if limit == int(limit) else limit}")
        case EmptyCollection():
            fix = f"add one under `{_key(details.subject)}:`"
            return ProblemText(f"{subject} is empty", "at least one entry", fix)
        case WrongForm(found=found, wanted=wanted):
            return _with_fix(f"{subject} is {_found_text(found)}", wanted, details.suggestion)
        case _:
            assert_never(details)


def _with_fix(message: str, allowed: str, suggestion: Suggestion | None) -> ProblemText:
    return ProblemText(message, allowed, _fix(suggestion))


def _fix(suggestion: Suggestion | None) -> str:
    match suggestion:
        case None:
            return ""
        case DidYouMean(name=name):
            return asked_back(name)
        case WriteKey(key=key):
            return f"write `{key}:`"
        case Advice(text=text):
            return text
        case _:
            assert_never(suggestion)


def _unknown_step_kind(details: UnknownStepKind) -> ProblemText:
    kinds = ", ".join(details.known)
    if not details.is_written:
        return ProblemText(
            f"a step of no known kind: it has {_shape(details.shape)}",
            f"type: {kinds}",
            "say `type:`, or one of the keys that imply it",
        )
    return _with_fix(f"unknown step kind {details.kind!r}", kinds, details.suggestion)


def _shape(shape: FormByKeys) -> str:
    return listed(shape.keys) if shape.keys else repr(shape.value)


def _key(subject: WrongValue) -> str:
    return "the document" if subject.key is None else str(subject.key)


def _subject(subject: WrongValue) -> str:
    """Return its key in quotes, or which entry of a list it is."""
    match subject.key:
        case int(index):
            return f"entry {index + 1}"
        case _:
            return repr(_key(subject))


def _found_text(found: Found) -> str:
    match found.kind:
        case "mapping" | "list":
            return f"a {found.kind}"
        case "empty":
            return "empty"
        case "scalar":
            return repr(found.value)


def called(name: str, noun: str = "") -> str:
    """Return a step by its name: `the wait 'x'`; or `the wait without a name`."""
    if name == UNREADABLE:
        return f"{noun or 'the step'} without a name"
    return f"{noun} {name!r}" if noun else repr(name)
