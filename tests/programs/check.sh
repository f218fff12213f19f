#!/usr/bin/env bash
# Draws programs, has them compiled, and runs them. GRAPHWEFT_SEED=1000 GRAPHWEFT_PROGRAMS=500 says from which seed on, and how many.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
first=${GRAPHWEFT_SEED:-1}
count=${GRAPHWEFT_PROGRAMS:-100}
# So many are one crate.
at_once=50

# A package of its own, which needs what the workspace needs.
package=$CARGO_TARGET_DIR/programs
mkdir -p "$package"
cat >"$package/Cargo.toml" <<END
[package]
name = "drawn-programs"
version = "0.0.0"
edition = "2024"
publish = false

[dependencies]
graphweft = { path = "$root/runtime", features = ["test-util"] }
graphweft-programs = { path = "$root/tests/programs" }
tokio = "1"

[profile.dev]
debug = false

[workspace]
END
cp "$root/Cargo.lock" "$package/Cargo.lock"

cargo build --manifest-path "$root/Cargo.toml" --quiet --locked -p graphweft-programs
for ((seed = first; seed < first + count; seed += at_once)); do
    left=$((first + count - seed))
    echo "seeds from $seed on"
    "$CARGO_TARGET_DIR/debug/graphweft-programs" "$package" "$seed" $((left < at_once ? left : at_once))
    cargo run --manifest-path "$package/Cargo.toml" --quiet --offline
done
