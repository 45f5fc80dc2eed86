"""Make the HTTP endpoint of an operation: FastAPI reads its signature, we make the answer."""

import inspect
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, cast
from urllib.parse import unquote

from fastapi import Body, FastAPI, Path, Query, Request, Response
from pydantic import BaseModel, ValidationError, create_model

from coterie.dsl.errors import InvalidDocument
from coterie.dsl.strict_json import unsound_part
from coterie.dsl.values import Documented, Frozen
from coterie.failures import CommandError
from coterie.gateway.identity.identity import Identity
from coterie.gateway.operations.error_reports import (
    SIGNED_OUT,
    UNEXPECTED,
    ErrorReport,
    FailedRequest,
    Rejection,
    failed_request,
    invalid_input,
    problems_of,
)
from coterie.gateway.operations.operation import AnyOperation
from coterie.gateway.operations.performance import perform
from coterie.gateway.operations.run_access import RunAccess

API = "/v1"
IDENTITY = "coterie_identity"
"""The key of the verified identity in the state of an ASGI scope."""

_log = logging.getLogger("coterie")
_NAMES = re.compile(r"{(\w+)}")
_JSON = "application/json"
_PRIVATE = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class _Rest(Documented, defer_build=False, use_attribute_docstrings=False):
    """What a query or a body holds. FastAPI silences a warning of pydantic only as it is built.

    Its fields have their descriptions: for docstrings, pydantic would search all modules.
    """


def error_response(failed: FailedRequest, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response for a request that failed."""
    return Response(
        failed.report.model_dump_json(),
        failed.status,
        {**_PRIVATE, **(headers or {})},
        media_type=_JSON,
    )


def identity_of(request: Request) -> Identity | None:
    """Return the verified identity of a request; None if it shows none."""
    identity = request.scope.get("state", {}).get(IDENTITY)
    return identity if isinstance(identity, Identity) else None


def add_operation(app: FastAPI, operation: AnyOperation, access: RunAccess) -> None:
    """Serve an operation."""
    roles = ", ".join(operation.roles)
    app.add_api_route(
        f"{API}{operation.path}",
        _endpoint(operation, access),
        methods=[operation.method],
        operation_id=operation.name,
        summary=operation.sentence,
        description=f"Needs one of these roles: {roles}.",
        response_model=operation.output,
        responses={"default": {"model": ErrorReport, "description": "Why the request failed."}},
        openapi_extra={"x-roles": list(operation.roles)},
    )


def path_fields(operation: AnyOperation) -> tuple[str, ...]:
    """Return the fields of the input that the path of an operation names."""
    return tuple(_NAMES.findall(operation.path))


def _endpoint(operation: AnyOperation, access: RunAccess) -> Callable[..., Awaitable[Response]]:
    in_path = path_fields(operation)
    rest = _rest_model(operation, in_path)

    async def endpoint(**given: Any) -> Response:
        request: Request = given.pop("request")
        asked_rest: BaseModel | None = given.pop("asked", None)
        named = {name: unquote(value) for name, value in given.items()}
        return await answer(operation, access, request, named, asked_rest)

    parameters = [_parameter("request", Request)]
    parameters += [
        _parameter(name, Annotated[str, _path_parameter(operation, name)]) for name in in_path
    ]
    if rest is not None:
        parameters.append(_rest_parameter(operation, rest))
    cast("Any", endpoint).__signature__ = inspect.Signature(parameters)
    endpoint.__name__ = operation.name
    return endpoint


async def answer(
    operation: AnyOperation,
    access: RunAccess,
    request: Request,
    in_path: Mapping[str, str],
    rest: BaseModel | None,
) -> Response:
    """Perform an operation for the identity of a request, and return its response."""
    identity = identity_of(request)
    if identity is None:
        return error_response(SIGNED_OUT)
    try:
        asked = _input(operation, in_path, rest)
        output: Frozen = await perform(access, operation, asked, identity)
        return Response(output.model_dump_json(by_alias=True), headers=_PRIVATE, media_type=_JSON)
    except ValidationError as error:
        allowed = ", ".join(operation.input.model_fields)
        return error_response(invalid_input(problems_of(error), allowed))
    except (CommandError, InvalidDocument) as error:
        return error_response(failed_request(error))
    except Exception:
        _log.exception("the operation %s failed", operation.name)
        return error_response(UNEXPECTED)


def _input(operation: AnyOperation, in_path: Mapping[str, str], rest: BaseModel | None) -> Frozen:
    """Return the input; fields that were not sent stay unset."""
    values: dict[str, Any] = dict(in_path)
    if rest is not None:
        values |= {name: getattr(rest, name) for name in rest.model_fields_set}
    for name, value in values.items():
        unsound = unsound_part(value)
        if unsound is not None:
            raise Rejection(422, "invalid", f"in {name!r}, {unsound}")
    return operation.input.model_validate(values)


def _path_parameter(operation: AnyOperation, name: str) -> Any:
    """Describe a part of the path. It is checked after it is decoded, with the whole input."""
    schema = operation.input.model_json_schema()["properties"][name]
    return Path(json_schema_extra=schema)


def _rest_model(operation: AnyOperation, in_path: tuple[str, ...]) -> type[BaseModel] | None:
    """Return the model of what the path does not name; None if that is nothing."""
    fields = {
        name: (field.annotation, field)
        for name, field in operation.input.model_fields.items()
        if name not in in_path
    }
    if not fields and operation.method == "GET":
        return None
    name = f"{operation.name.capitalize()}{'Query' if operation.method == 'GET' else 'Body'}"
    return create_model(name, __base__=_Rest, **cast("Any", fields))


def _rest_parameter(operation: AnyOperation, rest: type[BaseModel]) -> inspect.Parameter:
    if operation.method == "GET":
        return _parameter("asked", Annotated[rest, Query()])
    if any(field.is_required() for field in rest.model_fields.values()):
        return _parameter("asked", Annotated[rest, Body()])
    return _parameter("asked", Annotated[rest, Body()], rest())


def _parameter(
    name: str, annotation: Any, default: Any = inspect.Parameter.empty
) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, annotation=annotation, default=default)
