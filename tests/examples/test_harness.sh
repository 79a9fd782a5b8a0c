#!/bin/sh
# run.sh sees a broken rule and passes exit codes on.
. "$(dirname "$0")/lib.sh"
if example "$bin/example_violation"; then fail "a broken rule was not noticed"; fi
grep -q 'VUID-VkBufferCreateInfo-usage' "$work/text" || fail "another message than expected"
code=0
sh "$run" sh -c 'exit 5' >/dev/null 2>&1 || code=$?
[ $code -eq 5 ] || fail "exit code 5 became $code"
if sh "$run" true >/dev/null 2>&1; then fail "a program without the layer passed"; fi
