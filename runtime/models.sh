#!/usr/bin/env bash
# Plays the models of docs/concurrency.md with loom. LOOM_MAX_PREEMPTIONS=4 runtime/models.sh looks further.
#
# Only graphweft itself is built for them: a flag for all crates would have all of them built again.
set -euo pipefail
cd "$(dirname "$0")"

tests=$(cargo rustc --locked -p graphweft --lib --profile test --message-format=json -- --cfg graphweft_loom |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p')
"$tests" loom_models
