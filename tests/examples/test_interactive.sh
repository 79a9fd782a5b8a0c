#!/bin/sh
# The interactive example on a virtual display: validation says nothing while it draws, changes the render size in both
# directions, moves and removes the split, pauses and resets; the picture that it leaves is not what bilinear gives.
. "$(dirname "$0")/lib.sh"
command -v Xvfb >/dev/null || { echo "no Xvfb (Debian: xvfb)"; exit 77; }
Xvfb -displayfd 3 -screen 0 1280x800x24 -nolisten tcp 3>"$work/display" 2>"$work/xvfb.log" &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
tries=0
until [ -s "$work/display" ]; do
    tries=$((tries + 1))
    [ $tries -lt 300 ] || { cat "$work/xvfb.log"; fail "Xvfb does not start"; }
    sleep 0.1
done
DISPLAY=:$(cat "$work/display")
export DISPLAY

example "$bin/example_interactive" "$model" --size 384x216 --frames 10 --screenshot "$work/keys.png" \
    --keys 2:up,3:down,4:down,4:down,5:left,6:right,6:right,7:p,8:r || fail "exit code $?"
grep -q '154x86 to 384x216 (2.50x), frame 10, .*left: bilinear, paused$' "$work/text" || fail "the state shown at the end"
# The same frame without a split, wholly d4r's, and with the line at the right: nearly all bilinear.
"$bin/example_interactive" "$model" --size 384x216 --frames 6 --screenshot "$work/d4r.png" --keys 1:s >"$work/text" || fail "s"
"$bin/example_interactive" "$model" --size 384x216 --frames 6 --screenshot "$work/again.png" --keys 1:s >"$work/text" || fail "s"
"$bin/example_interactive" "$model" --size 384x216 --frames 6 --screenshot "$work/split.png" >"$work/text" || fail "split"
cmp "$work/d4r.png" "$work/again.png" || fail "two runs differ"
if cmp -s "$work/d4r.png" "$work/split.png"; then fail "the split shows nothing"; fi

# Errors.
expect() { # code, text, arguments
    code=0 wanted=$1 words=$2
    shift 2
    "$bin/example_interactive" "$@" >"$work/text" 2>&1 || code=$?
    [ $code -eq "$wanted" ] && grep -q -- "$words" "$work/text" || { cat "$work/text"; fail "$*: exit code $code"; }
}
expect 2 'MODEL is missing'
expect 2 '--ratio: 1 to 3' "$model" --ratio 4
expect 2 '--keys' "$model" --keys 3
expect 4 'model.json' "$work"
expect 5 'cannot write' "$model" --size 192x192 --frames 1 --screenshot "$work/none/shot.png"
DISPLAY= expect 3 'no display' "$model" --frames 1
