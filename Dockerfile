# Coterie's command line; without arguments it runs a worker.
FROM python:3.11-slim-bookworm AS build
RUN pip install --no-cache-dir uv==0.13.9
ENV UV_LINK_MODE=copy UV_COMPILE_BYTECODE=1 UV_PYTHON_DOWNLOADS=never
WORKDIR /srv/coterie
# The dependencies have their own layer, because they change less often than our code.
COPY pyproject.toml uv.lock ./
RUN uv sync --frozen --no-dev --extra s3 --no-install-project
# An environment to run the tests of projects that teams change: pytest, without Coterie. A project's
# own `.venv` comes first.
RUN UV_PROJECT_ENVIRONMENT=/srv/project uv sync --frozen --only-group demo
COPY . .
RUN uv sync --frozen --no-dev --extra s3 --no-editable

FROM python:3.11-slim-bookworm
# Teams change /workspace. /storage holds values that are too large for histories. The worker's home
# holds its configuration, and in .coterie what it keeps on this host. Nothing else is written: run it
# with a read-only root, and a tmpfs at /tmp.
RUN useradd --create-home --uid 10001 coterie \
    && install --directory --owner coterie /workspace /storage /home/coterie/.coterie
COPY --from=build /srv/coterie/.venv /srv/coterie/.venv
COPY --from=build /srv/project /srv/project
ENV PATH=/srv/coterie/.venv/bin:$PATH VIRTUAL_ENV=/srv/project PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
VOLUME ["/workspace", "/storage", "/home/coterie/.coterie"]
# By number: Kubernetes (`runAsNonRoot`) takes no name.
USER 10001
WORKDIR /home/coterie
ENTRYPOINT ["coterie"]
CMD ["worker"]
