"""What alembic runs for each migration: it uses the connection that the store has opened."""

from alembic import context

from coterie.activities.tool_functions.knowledge.memory.memory_schema import METADATA, VERSIONS

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=METADATA,
    version_table=VERSIONS,
)
with context.begin_transaction():
    context.run_migrations()
