#!/usr/bin/env bash
# Fuzzes each target for a while, from the seeds and from what was found before:
#
#   fuzz/run.sh                                     2,000 inputs each, the same ones every time
#   GRAPHWEFT_FUZZ_SECONDS=3600 fuzz/run.sh resume  one of them for an hour
#   GRAPHWEFT_SEED=7 fuzz/run.sh                    another search
#
# What is found stands in fuzz/artifacts/, with the command that plays it again. When it is mended it becomes a named
# test at the smallest place, and the input goes to fuzz/regressions/<target>/, which `cargo test` plays.
#
# There is no unsafe code for a sanitizer to watch, and the coverage that libFuzzer needs comes from flags that a stable
# compiler takes: so the toolchain is the one that builds everything else.
set -euo pipefail
cd "$(dirname "$0")"

# A search by the clock finds other things on a quicker machine; one that has to give the same each time counts.
if [ -n "${GRAPHWEFT_FUZZ_SECONDS:-}" ]; then
    bound="-max_total_time=$GRAPHWEFT_FUZZ_SECONDS"
else
    bound=-runs=2000
fi
seed=${GRAPHWEFT_SEED:-1}
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(parse graphs resume json values)

command -v cargo-fuzz >/dev/null || cargo install --quiet --debug --locked cargo-fuzz

# What is learned stays beside the build, and the seeds stay as they are.
found=${CARGO_TARGET_DIR:-target}/corpus
# `cfg(fuzzing)` would take the positions of tokens from proc-macro2, which the target `parse` goes by.
with=(--fuzz-dir . --sanitizer none --no-cfg-fuzzing)
cargo fuzz build "${with[@]}"

for target in "${targets[@]}"; do
    echo "== $target, $bound, seed $seed"
    mkdir -p "$found/$target" "artifacts/$target" "regressions/$target"
    cargo fuzz run "${with[@]}" "$target" "$found/$target" "corpus/$target" "regressions/$target" -- \
        "$bound" -seed="$seed" -timeout=20 -rss_limit_mb=3000 -max_len=2048 -len_control=20 \
        -dict=dictionary.txt -print_final_stats=1 -verbosity=1 2>&1 |
        grep -vE '^#[0-9]+\s+(NEW|REDUCE|pulse|RELOAD)|^"|Recommended dictionary'
done
