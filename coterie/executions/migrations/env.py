"""What alembic runs for each migration: it uses the connection that the table has opened."""

from alembic import context

from coterie.executions.execution_table import METADATA, VERSIONS

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSIONS,
)
with context.begin_transaction():
    context.run_migrations()
