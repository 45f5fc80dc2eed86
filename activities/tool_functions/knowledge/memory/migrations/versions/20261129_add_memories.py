"""Add the tables of memories."""

from alembic import op

revision = "20261129"
down_revision = None
branch_labels = None
depends_on = None

_UP = (
    "create extension if not exists vector",
    "create table coterie_memories ("
    "id bigint generated always as identity primary key, project text not null, "
    "scope text not null, owner text not null, topic text not null, name text not null, "
    "digest text not null, model text not null, text text not null, stored timestamptz not null, "
    "expires timestamptz, untrusted boolean not null, run text not null, "
    "unique (project, scope, owner, topic, name))",
    "create index coterie_memories_expiry on coterie_memories (expires) where expires is not null",
    "create table coterie_memory_chunks ("
    "id bigint generated always as identity primary key, "
    "entry bigint not null references coterie_memories (id) on delete cascade, "
    "text text not null, embedding vector(384) not null, words tsvector not null)",
    "create index coterie_memory_chunks_entry on coterie_memory_chunks (entry)",
    "create index coterie_memory_chunks_words on coterie_memory_chunks using gin (words)",
)


def upgrade() -> None:
    """Create the tables, and the extension if it is missing."""
    for statement in _UP:
        op.execute(statement)


def downgrade() -> None:
    """Remove the tables with all memories; the extension may serve others."""
    op.execute("drop table coterie_memory_chunks")
    op.execute("drop table coterie_memories")
