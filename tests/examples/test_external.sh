#!/bin/sh
# A network of the embedder's: where the model leaves nothing to the network, the picture is the CPU network's, byte for
# byte; where it does, the head counts. Without a head of use, models/m still gives 33.6 dB after six frames.
. "$(dirname "$0")/lib.sh"
"$bin/d4r-model" neutral --quiet "$work/neutral"
"$bin/example_minimal" "$work/neutral" "$work/expected" 4 || fail "minimal"
example "$bin/example_external_network" "$work/neutral" "$work/out" 4 || fail "exit code $?"
grep -q 'external network: 4 frames computed' "$work/text" || fail "the network did not compute each frame"
cmp "$work/expected" "$work/out" || fail "neutral model: another picture"
for head in zero blur; do
    EXTERNAL_HEAD=$head "$bin/example_external_network" "$model" "$work/$head" 6 >"$work/text" || fail "exit code $?"
    cat "$work/text"
    at_least "$(number 'PSNR of the last')" 32 "PSNR, $head"
done
if cmp -s "$work/zero" "$work/blur"; then fail "the head does not count"; fi
