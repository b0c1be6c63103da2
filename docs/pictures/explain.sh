#!/usr/bin/env bash
# Draws the pictures of docs/explain.md and docs/models.md again. A test compares them with what the command draws.
set -euo pipefail
cd "$(dirname "$0")/../.."
seriatim=${SERIATIM:-target/release/seriatim}
[ -x "$seriatim" ] || cargo build --release
"$seriatim" models --svg docs/lattice.svg > /dev/null
for name in message-passing two-replicas; do
    "$seriatim" explain --to svg "examples/$name.hist" -o "docs/pictures/$name.svg" || [ $? -eq 1 ]
done
