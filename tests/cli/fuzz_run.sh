#!/bin/sh
# fuzz_run.sh FUZZER SEEDS WORK: libFuzzer from a fresh seed corpus; 10 s, with D4R_LONG_TESTS=1 10 minutes.
set -eu
seconds=10
[ "${D4R_LONG_TESTS:-0}" = 1 ] && seconds=600
rm -rf "$3"
mkdir -p "$3"
"$2" --write "$3"
exec "$1" -max_total_time=$seconds -max_len=4096 -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$3/" "$3"
