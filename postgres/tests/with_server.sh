#!/usr/bin/env bash
# Starts PostgreSQL on a socket in a directory of its own, runs a command with GRAPHWEFT_POSTGRES set to its address, and stops it
# again. Without a command: runs the tests. The server is that of the system (Debian: `postgresql`); the tests start a
# PgBouncer too, and make certificates (Debian: `pgbouncer`, `openssl`).
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=${GRAPHWEFT_POSTGRES_BIN:-}
if [ -z "$bin" ]; then
    for candidate in /usr/lib/postgresql/*/bin; do [ ! -x "$candidate/initdb" ] || bin=$candidate; done
fi
if [ -z "$bin" ] && command -v initdb >/dev/null; then bin=$(dirname "$(command -v initdb)"); fi
[ -n "$bin" ] || { echo "PostgreSQL is not there: apt-get install postgresql, or set GRAPHWEFT_POSTGRES_BIN" >&2; exit 1; }

folder=$(mktemp -d)
# It does not run as root.
as=()
if [ "$(id -u)" = 0 ]; then
    as=(setpriv --reuid postgres --regid postgres --clear-groups)
    chown postgres "$folder"
fi
chmod 711 "$folder"
server=
stop() {
    [ -z "$server" ] || { kill -INT "$server" && wait "$server"; } 2>/dev/null || true
    rm -rf "$folder"
}
trap stop EXIT
"${as[@]}" "$bin/initdb" --pgdata "$folder/data" --username graphweft --auth trust --no-sync --no-locale --encoding UTF8 \
    >"$folder/initdb.log" || { cat "$folder/initdb.log" >&2; exit 1; }
"${as[@]}" "$bin/postgres" -D "$folder/data" -c listen_addresses= -c unix_socket_directories="$folder" \
    -c max_connections=300 -c fsync="${GRAPHWEFT_POSTGRES_FSYNC:-off}" >"$folder/log" 2>&1 &
server=$!
for _ in $(seq 300); do
    "$bin/pg_isready" --quiet --host "$folder" && break
    kill -0 "$server" 2>/dev/null || { cat "$folder/log" >&2; exit 1; }
    sleep 0.1
done
export GRAPHWEFT_POSTGRES_BIN=$bin
export GRAPHWEFT_POSTGRES="host=$folder user=graphweft dbname=postgres"
export GRAPHWEFT_POSTGRES_LOG=$folder/log
export GRAPHWEFT_LEDGER=$folder/ledger

if [ $# -gt 0 ]; then
    "$@"
else
    # With the features of the whole workspace, whose programs are there then: for a package by itself, all that it needs would be built
    # again with fewer.
    cd "$root"
    features=graphweft-postgres-tests/server,graphweft-cli/postgres,approvals/server
    workspace=(cargo test --locked --workspace --exclude graphweft-restate-tests --features "$features")
    mapfile -t tests < <(sed -n '/^\[\[test\]\]$/{n;s/^name = "\(.*\)"$/--test=\1/p}' postgres/tests/Cargo.toml)
    # One that is not in that list would not be run.
    files=(postgres/tests/tests/*.rs)
    [ "${#tests[@]}" -eq "${#files[@]}" ] || { echo "postgres/tests/Cargo.toml has to have a [[test]] with a name for each file in tests/" >&2; exit 1; }
    "${workspace[@]}" "${tests[@]}" --test postgres
    "${workspace[@]}" --test service machines
fi
