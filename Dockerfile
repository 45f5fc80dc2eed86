# Coterie's command line; without arguments it is a worker.
FROM python:3.11-slim-bookworm AS build
RUN pip install --no-cache-dir uv==0.13.9
ENV UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_PYTHON_DOWNLOADS=never
WORKDIR /srv/coterie
# The dependencies change less often than our code: a layer of their own.
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev --extra s3 --no-install-project
# An environment for the projects that teams change, whose tests they run: pytest, and nothing of
# Coterie. A project's own `.venv` comes first.
RUN UV_PROJECT_ENVIRONMENT=/srv/project uv sync --frozen --only-group demo
COPY . .
RUN uv sync --frozen --no-dev --extra s3 --no-editable

FROM python:3.11-slim-bookworm
# What teams may change is in /workspace, what is too large for histories in /storage; what the
# worker believes is in its home.
RUN useradd --create-home --uid 10001 coterie \
    && install --directory --owner coterie /workspace /storage
COPY --from=build /srv/coterie/.venv /srv/coterie/.venv
COPY --from=build /srv/project /srv/project
ENV PATH=/srv/coterie/.venv/bin:$PATH VIRTUAL_ENV=/srv/project PYTHONUNBUFFERED=1
USER coterie
WORKDIR /home/coterie
ENTRYPOINT ["coterie"]
CMD ["worker"]
