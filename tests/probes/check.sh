#!/bin/sh
# Whether graphweft's store in a file fits into one program with the other users of SQLite. Needs the registry, builds
# nothing: two versions of libsqlite3-sys are an error of the resolver. Leaves no lockfile behind.
set -eu

probes=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$probes/../.." && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

for part in Cargo.toml graph macros runtime tests examples benches; do
    if [ -e "$root/$part" ]; then
        # Without what is built there, perhaps just now.
        tar -C "$root" --exclude target -cf - "$part" | tar -C "$copy" -xf -
    fi
done

failed=0
for probe in "$probes"/*/Cargo.toml; do
    name=$(basename "$(dirname "$probe")")
    manifest="$copy/tests/probes/$name/Cargo.toml"
    if ! cargo generate-lockfile --quiet --manifest-path "$manifest"; then
        echo "$name: does not resolve" >&2
        failed=1
        continue
    fi
    versions=$(cargo tree --quiet --manifest-path "$manifest" --all-features --prefix none --format '{p}' |
        grep -E "^(libsqlite3-sys|rusqlite|$name) " | sed 's/ (.*//' | sort -u | tr '\n' ' ')
    echo "$name: $versions"
done
exit "$failed"
