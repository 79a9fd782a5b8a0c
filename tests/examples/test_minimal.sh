#!/bin/sh
# The minimal example: fewer than 300 lines, public headers only, and a picture that is right. Measured after six frames: 35.5 dB with
# models/m; enlarged without d4r its pattern has 29.8 dB (bilinear) or 27.6 dB (nearest pixel).
. "$(dirname "$0")/lib.sh"
lines=$(wc -l <"$(dirname "$0")/../../examples/minimal.c")
[ "$lines" -lt 300 ] || fail "minimal.c has $lines lines"
example "$bin/example_minimal" "$model" "$work/out.bin" 6 || fail "exit code $?"
at_least "$(number 'PSNR of the last')" 34.5 "PSNR"
[ "$(wc -c <"$work/out.bin")" -eq $((640 * 360 * 8)) ] || fail "size of the output"
if "$bin/example_minimal" "$work" "$work/none" 2>/dev/null; then fail "a folder that is no model was taken"; fi
code=0
"$bin/example_minimal" 2>/dev/null || code=$?
[ $code -eq 2 ] || fail "usage: exit code $code"
