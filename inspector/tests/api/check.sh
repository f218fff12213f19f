#!/usr/bin/env bash
# Sends requests that schemathesis makes of the document of the API to a real server: no status 5xx, and every response is as
# documented. First with ids of anything, then with those of real runs. Endless streams have tests of their own.
# `SEED=7 inspector/tests/api/check.sh`
set -euo pipefail
cd "$(dirname "$0")/../../.."
version=4.32.5
target=${CARGO_TARGET_DIR:-$PWD/target}
venv=$target/schemathesis-$version
if [ ! -x "$venv/bin/schemathesis" ]; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "schemathesis==$version"
fi
cargo build --locked -p page-server

folder=$(mktemp -d)
server=
stop() {
    [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
    rm -rf "$folder"
}
trap stop EXIT
"$target/debug/page-server" "$folder/runs.db" 0 >"$folder/url" &
server=$!
for _ in $(seq 100); do
    [ ! -s "$folder/url" ] || break
    sleep 0.1
done
# Behind it is the address of the same page in an app.
url=$(cut -d " " -f 1 "$folder/url")
token=$(curl -fsS "$url" | sed -n 's/.*graphweft-token" content="\([^"]*\)".*/\1/p')

start() {
    curl -fsS -X POST -H "X-Graphweft-Token: $token" -H 'Content-Type: application/json' -d "$2" \
        "${url}api/workflows/$1/runs" >/dev/null
}
start invoice '{"id": "signalled", "input": 5}'
start name_release '{"id": "asked", "input": "1.0"}'
start wide '{"id": "completed", "input": 5}'

# It looks for its configuration and writes its examples where it is started.
(
    cd "$folder"
    for config in none real; do
        options=()
        [ "$config" = none ] || options=(--config-file "$OLDPWD/inspector/tests/api/schemathesis.toml")
        timeout 400 "$venv/bin/schemathesis" ${options[@]+"${options[@]}"} run "${url}api/openapi.json" --url "$url" \
            --header "X-Graphweft-Token: $token" --seed "${SEED:-7}" --max-examples 50 \
            --phases coverage,fuzzing --exclude-path-regex '/(events|live|changes)$' --request-timeout 20 \
            --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
            --warnings off --no-color
    done
)
# It is still there.
curl -fsS "${url}api/server" >/dev/null
