#!/bin/sh
# d4r-m, d4r-compare, d4r-convert, d4r-sheet on the project's own sequences: outputs, conventions, repairs.
BIN=$1
DATA=$2
PART=$3 # which part to run: outputs, repair, capture, check, conventions, interrupt, preset_k
. "$(dirname "$0")/lib.sh"
m=$BIN/d4r-m
here=$(dirname "$0")

"$BIN/d4r-model" neutral --quiet model || exit 1

same() { # same A B: the pictures of two outputs are byte-identical
    for file in "$1"/frame-*.bin; do
        cmp -s "$file" "$2/$(basename "$file")" || fail "$file differs from $2"
    done
    [ "$(ls "$1" | grep -c 'frame-.*bin')" = "$(ls "$2" | grep -c 'frame-.*bin')" ] || fail "$1 and $2 differ in number"
}

# value KEY FILE: the first number of that key in a JSON file
value() { sed -n "s/.*\"$1\":[[:space:]]*\([-0-9.e+]*\).*/\1/p" "$2" | head -n 1; }
at_least() { awk "BEGIN { exit !($1 >= $2) }" || fail "$3: $1 is below $2"; }

# mean_psnr FILE: of the counted frames, from a run's JSON
mean_psnr() { sed -n '/"mean"/,/}/p' "$1" | sed -n 's/.*"psnr":[[:space:]]*\([0-9.]*\).*/\1/p'; }

# about_profile FILE PRESET TOOL: stage times say what they are of
about_profile() {
    for line in "\"preset\":.*\"$2\"" "\"tool\":.*\"$(basename "$3")\"" '"device":.*cpu' '"kind":.*"cpu"' '"max_render"' \
        '"frames_in_flight"' '"stage":.*"reconstruction"' '"median_us"'; do
        grep -q "$line" "$1" || fail "$1 has no $line"
    done
    grep -q handoff "$1" && fail "$1: the CPU network has no hand-off strategy"
}

preset_k() {
    k=$BIN/d4r-k
    "$BIN/d4r-model" neutral --preset K --quiet model-k || fail "neutral model"
    expect 0 "mean of" "$k" --validate --validate-inputs --json all.json --profile model-k "$DATA/static" out
    at_least "$(mean_psnr all.json)" 27 "static, neutral model"
    for stage in exposure input network reconstruction frame; do
        grep -q "^$stage," out/stages.csv || fail "no $stage in stages.csv"
    done
    grep -q '"preset":.*"K"' all.json || fail "no preset in the JSON"
    about_profile out/profile.json K "$k"
    expect 0 "" "$k" -q --dump dump --output-format rgb10a2 model-k "$DATA/brick_pan" out-dump
    for name in exposure.exposure input.motion input.tokens reconstruction.head reconstruction.history_previous \
        reconstruction.history reconstruction.recurrent_low reconstruction.output frame.color; do
        [ -s dump/0003/$name.npy ] || fail "no $name in the dump"
    done
    # Another render size in every frame: no message, and the picture of the fixed sizes within 0.5 dB.
    [ -x "$BIN/d4r-scene" ] || return
    sizes="128x72 160x90 192x108" total=0
    scene="$BIN/d4r-scene --quiet --scene gallery --frames 9 --reference-from 3 --samples 16 --output 320x180"
    for size in $sizes; do
        $scene --render $size $size || fail "d4r-scene"
        expect 0 "mean of" "$k" --json fixed.json model-k $size out-$size
        total=$(awk "BEGIN { print $total + $(mean_psnr fixed.json) / 3 }")
    done
    $scene --render "$(echo $sizes | tr ' ' ,)" changing || fail "d4r-scene"
    expect 0 "mean of" "$k" --validate --json changing.json model-k changing out-changing
    echo "fixed sizes $total dB, changing $(mean_psnr changing.json) dB"
    at_least "$(mean_psnr changing.json)" "($total - 0.5)" "a render size that changes every frame"
}

outputs() {
    expect 0 "mean of" "$m" --validate --json all.json --png --exr --npy --profile model "$DATA/static" out
    at_least "$(value psnr all.json)" 15 "frame 0"
    mean=$(sed -n '/"mean"/,/}/p' all.json | sed -n 's/.*"psnr":[[:space:]]*\([0-9.]*\).*/\1/p')
    at_least "$mean" 25.5 "static, neutral model"
    for suffix in bin png exr npy; do
        [ "$(ls out | grep -c "frame-000[0-9].$suffix")" = 10 ] || fail "not ten .$suffix files"
    done
    [ "$(stat -c %s out/frame-0009.bin)" = 1843200 ] || fail "wrong size of a picture"
    for stage in exposure input network expansion reconstruction downsample frame; do
        grep -q "^$stage," out/stages.csv || fail "no $stage in stages.csv"
    done
    grep -q '"traceEvents"' out/trace.json || fail "no trace"
    about_profile out/profile.json M "$m"
    rm out/profile.json
    expect 0 "" "$m" -q --profile=times model "$DATA/brick_pan" - 1
    [ "$(ls times | tr '\n' ' ')" = "profile.json stages.csv trace.json " ] || fail "in times: $(ls times)"
    expect 0 "mean of 6 frames" "$BIN/d4r-compare" --json compare.json --diff diff out "$DATA/static"
    [ "$(ls diff | grep -c png)" = 10 ] || fail "not ten difference images"
    at_least "$(sed -n '/"mean"/,/}/p' compare.json | sed -n 's/.*"psnr":[[:space:]]*\([0-9.]*\).*/\1/p')" 25.5 compare
    for python in python3 /usr/bin/python3; do # any that has NumPy
        $python -c 'import numpy' 2>/dev/null || continue
        expect 0 "frame 9" $python "$here/quality_reference.py" --check compare.json out "$DATA/static/frames.json"
        break
    done
    mkdir exr npy
    mv out/*.exr exr
    mv out/*.npy npy
    for kind in exr npy; do
        expect 0 "PSNR 100.00 dB" "$BIN/d4r-compare" -q out $kind
    done
    expect 1 "" "$BIN/d4r-compare" --min-psnr 90 out "$DATA/static"
    expect 0 "" "$BIN/d4r-sheet" "$DATA/static" out sheet.png
    [ "$(head -c 4 sheet.png | tail -c 3)" = PNG ] || fail "the sheet is no PNG"
    # A shorter run into the same folder leaves none of the earlier pictures.
    expect 0 "" "$m" model "$DATA/brick_pan" out
    [ "$(ls out | grep -c 'frame-.*bin')" = 4 ] || fail "stale pictures in $(ls out)"
    # Frames in flight and repeats change nothing; every frame reset does.
    expect 0 "" "$m" --frames-in-flight 1 model "$DATA/brick_pan" one 2
    same out one
    expect 0 "" "$m" --reset-all model "$DATA/brick_pan" cuts
    cmp -s out/frame-0000.bin cuts/frame-0000.bin || fail "frame 0 depends on --reset-all"
    cmp -s out/frame-0003.bin cuts/frame-0003.bin && fail "--reset-all changes nothing"
    expect 0 "" "$m" --json time.json model "$DATA/brick_pan" - 1 cpu
    expect 0 "" "$m" --output-format rgb10a2 --exr model "$DATA/brick_pan" ten
    [ "$(stat -c %s ten/frame-0003.bin)" = 921600 ] || fail "wrong size of an RGB10A2 picture"
    expect 0 "mean of 4 frames" "$BIN/d4r-compare" -q --from 0 ten ten
    expect 0 "" "$m" --dump dump model "$DATA/brick_pan" dumped
    same out dumped
    for name in frame.color frame.motion frame.depth exposure.exposure input.mv_a input.tokens expansion.head \
        expansion.gates reconstruction.history reconstruction.half downsample.output; do
        [ -s "dump/0003/$name.npy" ] || fail "no dump of $name: $(ls dump/0003 2>&1)"
    done
}

# A non-finite value in any plane is repaired and stays where it is.
repair() {
    expect 0 "" "$m" model "$DATA/brick_pan" clean
    # Pixel (100, 90) of frame 1: f16 NaN 7e00, Inf 7c00; f32 NaN 7fc00000, Inf 7f800000; little endian.
    color=$(((90 * 320 + 100) * 8)) vector=$(((90 * 320 + 100) * 4))
    for kind in nan inf; do
        half='\000\176' single='\000\000\300\177'
        [ $kind = inf ] && half='\000\174' single='\000\000\200\177'
        for plane in color motion depth; do
            copy brick_pan seq
            case $plane in
            color) put seq/color-0001.bin $color "$half$half$half" ;;
            motion) put seq/motion-0001.bin $vector "$half$half" ;;
            depth) put seq/depth-0001.bin $vector "$single" ;;
            esac
            cmp -s seq/$plane-0001.bin "$DATA/brick_pan/$plane-0001.bin" && fail "nothing was damaged"
            expect 0 "" "$m" model seq out
            # All frames finite; what differs from the clean run stays near the damaged pixel (output (201, 181)).
            expect 0 "" "$BIN/d4r_picture_spread" out clean 4 201 181 40
        done
    done
    copy brick_pan seq
    put seq/color-0001.bin $color '\000\176\000\174\000\374'
    expect 0 "1 colour pixels are not finite; they are repaired" "$m" --check=only model seq -
}

capture() {
    expect 0 "" "$m" model "$DATA/brick_pan" plain
    expect 0 "" "$BIN/d4r-convert" "$DATA/brick_pan" full
    expect 0 "previous = current + motion, y down, fit best" "$m" --sequence 0 --ratio 2 model full from-full
    grep -q "jitter: sign ++ fits best" log || fail "the jitter's sign was not told: $(cat log)"
    same plain from-full
    expect 0 "" "$BIN/d4r-convert" --motion-type f16 --as-sequence 12 "$DATA/brick_pan" half
    [ -f half/0012.json ] && [ -f half/x2/motion/0012/0003.exr ] || fail "wrong names: $(find half)"
    expect 0 "" "$m" model half from-half
    expect 0 "" "$BIN/d4r-compare" -q --from 0 --min-psnr 50 from-half plain
    # A capture with every sign the other way round is recognised, and gives the same pictures.
    cp -r full turned
    sed '/"Frames"/,$ { s/\("[XY]":[[:space:]]*\)-/\1@/; t; s/\("[XY]":[[:space:]]*\)/\1-/ }' full/0000.json |
        sed 's/@//' >turned/0000.json
    cmp -s full/0000.json turned/0000.json && fail "the jitter was not turned"
    expect 0 "jitter: sign -- fits best" "$m" model turned from-turned
    same plain from-turned
    # Display-resolution vectors.
    "$BIN/d4r_sequence_variant" at_output "$DATA/brick_pan" seq
    expect 0 "" "$BIN/d4r-convert" seq large
    [ -f large/motion_gt/0000/0003.exr ] || fail "no motion_gt"
    expect 5 "large/x2/motion/0000/0000.exr: No such file" "$m" model large out
    expect 0 "" "$m" --motion-gt model large from-large
    expect 0 "" "$BIN/d4r-compare" -q --from 0 --min-psnr 50 from-large plain
    # Cuts and exposure of the layout arrive.
    cp -r full cut
    sed 's/"CameraCut":[[:space:]]*false/"CameraCut": true/' full/0000.json >cut/0000.json
    expect 0 "" "$m" model cut from-cut
    expect 0 "" "$m" --reset-all model "$DATA/brick_pan" cuts
    same cuts from-cut
    sed 's/"CameraCut":/"Exposure": 3, &/' full/0000.json >cut/0000.json
    expect 0 "" "$m" model cut from-exposed
    expect 0 "" "$m" --exposure 3 model "$DATA/brick_pan" exposed
    same exposed from-exposed
    cmp -s exposed/frame-0003.bin plain/frame-0003.bin && fail "the exposure changes nothing"
    expect 5 "0007.json: No such file" "$m" --sequence 7 model full out
    grep -q -- "--sequence 7; there are 0000" log || fail "the sequences are not listed: $(cat log)"
    expect 5 "full/x3: No such file or directory (--ratio 3; there are x2)" "$m" --ratio 3 model full out
    expect 5 "--sequence, --ratio and --motion-gt need a capture folder" "$m" --ratio 2 model "$DATA/brick_pan/frames.json" out
    expect 5 "need a capture folder; this is a frames.json" "$m" --motion-gt model "$DATA/brick_pan" out
    # Another sequence joins a capture; one that is there stays unless --force says otherwise.
    expect 0 "" "$BIN/d4r-convert" --as-sequence 1 --no-references "$DATA/brick_pan" full
    [ -f full/0000.json ] && [ -f full/0001.json ] || fail "the sequences did not join: $(ls full)"
    expect 5 "full/0001.json: exists and is not of an earlier run" "$BIN/d4r-convert" --as-sequence 1 "$DATA/static" full
    cmp -s full/x2/color/0000/0003.exr full/x2/color/0001/0003.exr || fail "a refused conversion changed the capture"
    expect 0 "" "$BIN/d4r-convert" --force --as-sequence 1 "$DATA/static" full
    cmp -s full/x2/color/0000/0003.exr full/x2/color/0001/0003.exr && fail "--force did not replace the sequence"
    ls -A full | grep -q tmp && fail "left behind: $(ls -A full)"
    rm full/0001.json
    rm full/x2/depth/0000/0002.exr
    expect 5 "full/x2/depth/0000/0002.exr: No such file" "$m" model full out
    truncate -s 1000 full/x2/color/0000/0001.exr
    cp half/x2/depth/0012/0002.exr full/x2/depth/0000/
    expect 5 "full/x2/color/0000/0001.exr" "$m" model full out
    sed -i 's/"Frames"/"Fames"/' turned/0000.json
    expect 5 "turned/0000.json: Frames: must be an array" "$m" model turned out
    absent out
}

# --check finds each wrong convention by itself, and --check=only then ends with 5.
check() {
    only="$m --check=only"
    expect 0 "every declared convention fits" $only model "$DATA/brick_pan" -
    expect 5 "try --motion-direction to-previous" $only --motion-direction from-previous model "$DATA/brick_pan" -
    expect 5 "try --motion-y down" $only --motion-y up model "$DATA/brick_pan" -
    expect 5 "vectors fit better as render pixels" $only --motion-unit output-pixels model "$DATA/brick_pan" -
    expect 5 "vectors fit better as render pixels" $only --motion-unit uv model "$DATA/brick_pan" -
    for sign in +- -+ --; do
        expect 5 "try --jitter-sign ++" $only --jitter-sign $sign model "$DATA/brick_pan" -
        expect 5 "try --jitter-sign ++" $only --jitter-sign $sign model "$DATA/static" -
    done
    expect 5 "try --motion-jittered no" $only --motion-jittered yes model "$DATA/brick_pan" -
    # Which way depth grows shows where a surface comes out from behind another; not where nothing moves.
    expect 0 "depth: cannot tell" $only model "$DATA/static" -
    expect 0 "depth: at " $only --json right.json model "$DATA/brick_pan" -
    at_least "$(value depth_nearer_db right.json)" "$(value depth_farther_db right.json)" "the nearer surface"
    # brick_pan with what is declared turned, and with what is stored turned: the four frames here are enough.
    expect 5 "try --depth inverted" $only --depth regular model "$DATA/brick_pan" -
    "$BIN/d4r_sequence_variant" regular "$DATA/brick_pan" regular
    expect 0 "every declared convention fits" $only model regular -
    expect 5 "try --depth regular" $only --depth inverted model regular -
    # Two wrong ones at once, and no failure without 'only'.
    expect 5 "2 conventions do not fit" $only --motion-direction from-previous --jitter-sign -- model "$DATA/brick_pan" -
    expect 0 "try --motion-y down" "$m" --check --motion-y up model "$DATA/brick_pan" -
    copy brick_pan seq
    sed -i 's/-0.16666666666666669/-1.5/' seq/frames.json
    "$m" --check=only model seq - >log 2>&1
    grep -q "frames\[0\].jitter: 0, -1.5 is beyond one render pixel" log || fail "no warning of large jitter: $(cat log)"
    [ ! -e - ] || fail "a folder named '-' was made"
}

# The same frames in other files and with each convention the other way round give the same pictures: exactly where
# no value changes, else up to what the rounding of vectors does.
conventions() {
    expect 0 "" "$m" model "$DATA/brick_pan" plain
    for variant in npy npy32 exr reversed flip_y scaled output_pixels uv ndc jittered at_output regular; do
        "$BIN/d4r_sequence_variant" $variant "$DATA/brick_pan" seq || fail "no variant $variant"
        expect 0 "" "$m" --check model seq out
        if grep "try --" log; then fail "$variant: --check objects"; fi
        case $variant in
        npy | npy32 | exr | reversed | flip_y | scaled) same plain out ;;
        *) expect 0 "" "$BIN/d4r-compare" -q --from 0 --min-psnr 50 out plain ;;
        esac
        rm -rf seq out
    done
}

# A signal ends the run with 130 and leaves nothing, and what was there stays.
wait_for() { # wait_for PATH: until the run has made it
    tries=0
    while [ ! -e "$1" ] && [ $tries -lt 600 ]; do sleep 0.1; tries=$((tries + 1)); done
    [ -e "$1" ] || fail "the run did not start: $(cat log)"
}
stop_by() { # stop_by SIGNALS...
    "$m" --dump dump model "$DATA/static" out 1000 >log 2>&1 &
    pid=$!
    wait_for "dump.tmp-$pid/0002"
    for signal in "$@"; do kill -"$signal" $pid 2>/dev/null; done
    wait $pid
    code=$?
    [ $code -eq 130 ] || fail "$*: exit code $code instead of 130: $(cat log)"
    echo "ok ($code): $*"
    ls -A | grep -E "tmp|out|dump" && fail "$*: left behind"
}
interrupt() {
    for signal in INT HUP QUIT TERM; do stop_by $signal; done
    grep -q interrupted log || fail "no word of the interruption"
    stop_by TERM TERM
    # In a folder that exists: what it holds stays.
    mkdir kept && echo mine >kept/notes
    "$m" model "$DATA/static" kept 1000 >log 2>&1 &
    pid=$!
    wait_for "kept/.tmp-$pid/frame-0002.bin"
    kill -HUP $pid
    wait $pid
    [ $? -eq 130 ] && [ "$(ls -A kept)" = notes ] || fail "HUP with an existing folder: $(ls -A kept) $(cat log)"
    # A temporary name that is taken belongs to somebody else.
    expect 0 "" sh -c "mkdir taken.tmp-\$\$ && echo theirs >taken.tmp-\$\$/file && exec \"$m\" -q model \"$DATA/brick_pan\" taken"
    [ "$(cat taken.tmp-*/file)" = theirs ] && [ -f taken/frame-0003.bin ] || fail "a stale folder: $(ls)"
}

$PART
finish
