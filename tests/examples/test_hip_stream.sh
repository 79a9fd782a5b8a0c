#!/bin/sh
# d4r's HIP network on the program's own stream, on the emulated device: the CPU network's picture, the same bytes in every run,
# and a stream that is still the program's afterwards. The two networks add in different orders, which can move an FP8 code and
# with it a few pixels' last bits: 1 byte of 1,000 may differ, where a head that was not there would change nearly all.
. "$(dirname "$0")/lib.sh"
kernels=$4 hipemu=$5
[ -f "$kernels/gfx1201/m.hsaco" ] || { echo "the target \"kernels\" was not built"; exit 77; }
"$bin/example_minimal" "$model" "$work/expected" 3 || fail "minimal"
export D4R_KERNELS="$kernels" D4R_HIP_LIBRARY="$hipemu" D4R_HIPEMU_ARCH=gfx1201 D4R_HIPEMU_TRACE="$work/trace"
example "$bin/example_hip_stream" "$model" "$work/out" 3 || fail "exit code $?"
differing=$(cmp -l "$work/expected" "$work/out" | wc -l)
[ "$differing" -le $(($(wc -c <"$work/expected") / 1000)) ] || fail "another picture: $differing bytes differ"
grep -q 'hip stream: idle, destroyed by its owner' "$work/text" || fail "the stream's end"
[ "$(grep -c 'hipStreamCreate' "$work/trace")" -eq 1 ] || fail "d4r made a stream of its own"
unset D4R_HIPEMU_TRACE
example "$bin/example_hip_stream" "$model" "$work/again" 3 || fail "exit code $?"
cmp "$work/out" "$work/again" || fail "another picture in the second run"
code=0
D4R_HIP_LIBRARY=/nonexistent/libamdhip64.so "$bin/example_hip_stream" "$model" "$work/none" 2>"$work/text" || code=$?
[ $code -eq 3 ] && grep -q '/nonexistent/libamdhip64.so' "$work/text" || fail "a missing library: exit code $code"
