#!/usr/bin/env bash
# Has the programs of Restate there, and runs a command with GRAPHWEFT_RESTATE_BIN set to their directory. Without a command: runs the
# tests, which start and stop servers of their own on loopback. The programs come from npm, unless GRAPHWEFT_RESTATE_BIN is set.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
version=1.7.12
if [ -z "${GRAPHWEFT_RESTATE_BIN:-}" ]; then
    case "$(uname -sm)" in
        "Linux x86_64") platform=linux-x64 ;;
        "Linux aarch64") platform=linux-arm64 ;;
        "Darwin arm64") platform=darwin-arm64 ;;
        *) echo "npm has no server of Restate for $(uname -sm): set GRAPHWEFT_RESTATE_BIN" >&2; exit 1 ;;
    esac
    folder=${CARGO_TARGET_DIR:-$root/target}/restate-$version
    if [ ! -x "$folder/bin/restatectl" ]; then
        mkdir -p "$folder/npm" "$folder/bin"
        npm install --prefix "$folder/npm" --ignore-scripts --no-audit --no-fund --silent \
            "@restatedev/restate-server-$platform@$version" "@restatedev/restatectl-$platform@$version"
        for program in restate-server restatectl; do
            cp "$folder/npm/node_modules/@restatedev/$program-$platform/bin/$program" "$folder/bin/$program"
            chmod +x "$folder/bin/$program"
        done
    fi
    export GRAPHWEFT_RESTATE_BIN=$folder/bin
fi

# What tests have started and could not end, since they were killed: by their ids, as far as those are still our programs.
GRAPHWEFT_PROCESSES=$(mktemp)
export GRAPHWEFT_PROCESSES
stop() {
    while read -r process; do
        case "$(ps -o args= -p "$process" 2>/dev/null)" in
            */restate-server\ * | */restate_worker\ *) kill -KILL "$process" 2>/dev/null || true ;;
        esac
    done <"$GRAPHWEFT_PROCESSES"
    rm -f "$GRAPHWEFT_PROCESSES"
}
trap stop EXIT

if [ $# -gt 0 ]; then
    "$@"
else
    # See postgres/tests/with_server.sh.
    cd "$root"
    mapfile -t tests < <(sed -n '/^\[\[test\]\]$/{n;s/^name = "\(.*\)"$/--test=\1/p}' restate/tests/Cargo.toml)
    # One that is not in that list would not be run.
    files=(restate/tests/tests/*.rs)
    [ "${#tests[@]}" -eq "${#files[@]}" ] || { echo "restate/tests/Cargo.toml has to have a [[test]] with a name for each file in tests/" >&2; exit 1; }
    cargo test --locked --workspace --exclude graphweft-postgres-tests --features graphweft-restate-tests/server "${tests[@]}"
fi
