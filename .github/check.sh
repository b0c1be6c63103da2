#!/usr/bin/env bash
# The step of the GitHub Action: checks, tells the verdict to the workflow, and fails unless all is consistent.
set -uo pipefail

read -ra more <<< "${ARGUMENTS:-}"
read -ra histories <<< "${HISTORIES:-}"
arguments=(check --github)
if [ -n "${MODEL:-}" ]; then arguments+=(--model "$MODEL"); fi
if [ -n "${JUNIT:-}" ]; then arguments+=(--junit "$JUNIT"); fi
if [ -n "${REPORT:-}" ]; then arguments+=(--report "$REPORT"); fi

seriatim "${arguments[@]}" "${more[@]}" -- "${histories[@]}"
status=$?
case $status in
  0) verdict=consistent ;;
  1) verdict=violation ;;
  3) verdict=unknown ;;
  *) verdict=error ;;
esac
echo "verdict=$verdict" >> "${GITHUB_OUTPUT:-/dev/stdout}"
exit $status
