#!/bin/sh
# Every kind of bad input to d4r-m: right exit code, a message with file and field, nothing partial left.
BIN=$1
DATA=$2
LAYER=$3 # folder with the layer that hides a feature; "" to leave that out
. "$(dirname "$0")/lib.sh"
m=$BIN/d4r-m

"$BIN/d4r-model" neutral --quiet model || exit 1

echo "-- usage"
expect 2 "MODEL, FRAMES and OUT are needed" "$m"
expect 2 "unknown option" "$m" --frobnicate model "$DATA/static" out
expect 2 "too many arguments" "$m" model "$DATA/static" out 1 cpu more
expect 2 "REPEATS: 'x' is not a number" "$m" model "$DATA/static" out x
expect 2 "REPEATS: '0' is not a number" "$m" model "$DATA/static" out 0
expect 2 "network 'cuda' is none of" "$m" model "$DATA/static" out 1 cuda
expect 2 "the vulkan network does not exist yet" "$m" --network vulkan model "$DATA/static" out
expect 2 "contradict each other" "$m" --network cpu model "$DATA/static" out 1 auto
expect 2 "--png and OUT '-' contradict each other" "$m" --png model "$DATA/static" -
expect 2 "--no-raw leaves nothing" "$m" --no-raw model "$DATA/static" out
expect 2 "--motion-scale: '0' is not positive" "$m" --motion-scale 0 model "$DATA/static" out
expect 2 "--motion-scale: '1,-2' is not positive" "$m" --motion-scale 1,-2 model "$DATA/static" out
expect 2 "--jitter-sign: '+' is none of" "$m" --jitter-sign + model "$DATA/static" out
expect 2 "--motion-unit: 'px' is none of" "$m" --motion-unit px model "$DATA/static" out
expect 2 "--frames-in-flight: '9'" "$m" --frames-in-flight 9 model "$DATA/static" out
expect 2 "--exposure: '-1' is neither" "$m" --exposure -1 model "$DATA/static" out
absent out

echo "-- frames"
expect 5 "nowhere: No such file or directory" "$m" model nowhere out
mkdir empty
expect 5 "holds neither frames.json nor a capture" "$m" model empty out
echo '{"output": [640' >broken.json
expect 5 "broken.json: not valid JSON near line 1" "$m" model broken.json out
copy brick_pan seq
rm seq/color-0002.bin
expect 5 "seq/color-0002.bin: No such file or directory (seq/frames.json: frames[2].color)" "$m" model seq out
copy brick_pan seq
rm seq/reference-0003.bin
expect 5 "frames[3].reference" "$m" model seq out
for plane in color motion depth; do
    copy brick_pan seq
    truncate -s -2 seq/$plane-0002.bin
    expect 5 "seq/$plane-0002.bin: " "$m" model seq out
    grep -q "frames\[2\].$plane" log || fail "no field for $plane"
    absent out
    copy brick_pan seq
    truncate -s +4 seq/$plane-0000.bin
    expect 5 "frames[0].$plane" "$m" model seq out
    absent out
done
copy brick_pan seq
tr -d ' \n' <"$DATA/brick_pan/frames.json" >flat.json
edit() { # edit SED-EXPRESSION
    sed "$1" flat.json >seq/frames.json
    cmp -s flat.json seq/frames.json && fail "the edit $1 changed nothing"
}
edit 's/\[320,180\]/[321,180]/2'
expect 5 "color-0001.bin: 460800 bytes, but 321x180 with 4 channels of 16 bits needs 462240" "$m" model seq out
edit 's/\[320,180\]/[1280,720]/1'
expect 5 "frames[0].render: 1280x720 is larger than the output 640x360" "$m" model seq out
edit 's/\[320,180\]/[63,180]/1'
expect 5 "frames[0].render: 63x180 is smaller than 64x64" "$m" model seq out
edit 's/"output":\[640,360\]/"output":[640,63]/'
expect 5 "output: 640x63 is smaller than 64x64" "$m" model seq out
edit 's/"output":\[640,360\]/"output":[640,20000]/'
expect 5 "output: 640x20000 is larger than 16384x16384" "$m" model seq out
edit 's/"near":0.1/"near":0.1,"motion_scale":0/'
expect 5 "frames.json: motion_scale: must be positive" "$m" model seq out
edit 's/"near":0.1/"near":0.1,"motion_scale":[1,-1]/'
expect 5 "frames.json: motion_scale: must be positive" "$m" model seq out
absent out

echo "-- larger than the device"
mkdir big
truncate -s $((8000 * 64 * 8)) big/c
truncate -s $((8000 * 64 * 4)) big/m
cp big/m big/d
echo '{"output":[16000,128],"frames":[{"color":"c","motion":"m","depth":"d","render":[8000,64],"jitter":[0,0]}]}' >big/frames.json
expect 5 "16000" "$m" model big out
absent out

echo "-- models"
expect 4 "" "$m" nowhere "$DATA/static" out
grep -q nowhere log || fail "the model is not named"
for file in model.json weights.bin hipnet.bin weights.safetensors; do
    rm -rf bad && cp -r model bad && truncate -s -30 bad/$file
    expect 4 "$file" "$m" bad "$DATA/static" out
    rm -rf bad && cp -r model bad && printf 'more' >>bad/$file
    expect 4 "$file" "$m" bad "$DATA/static" out
    rm bad/$file
    expect 4 "$file" "$m" bad "$DATA/static" out
done
rm -rf bad && cp -r model bad && put bad/weights.bin 1000 '\252'
expect 4 "weights.bin" "$m" bad "$DATA/static" out
rm -rf bad && cp -r model bad && sed -i 's/"preset":.*"M"/"preset":"K"/' bad/model.json
expect 4 "model.json" "$m" bad "$DATA/static" out
absent out

echo "-- output"
expect 5 "file/out" "$m" model "$DATA/static" "$DATA/static/frames.json/file/out"
: >taken
expect 5 "taken: exists and is not a folder" "$m" model "$DATA/static" taken
[ -f taken ] && [ ! -s taken ] || fail "the file in the way was changed"
expect 5 "dump" "$m" --dump "taken/dump" model "$DATA/static" out
expect 5 "nowhere/results.json: cannot be written" "$m" --json nowhere/results.json model "$DATA/static" out
expect 5 "empty: is a folder" "$m" --json empty model "$DATA/static" out
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 555 locked
    expect 5 "locked" "$m" model "$DATA/static" locked
    expect 5 "locked" "$m" model "$DATA/static" locked/out
fi
absent out

echo "-- devices"
expect 3 "99" "$m" --device 99 model "$DATA/static" out
expect 3 "no-such-card" "$m" --device no-such-card model "$DATA/static" out
echo '{}' >none.json
no_driver() { VK_ICD_FILENAMES="$work/none.json" VK_DRIVER_FILES="$work/none.json" "$@"; }
expect 3 "" no_driver "$m" model "$DATA/static" out
no_driver "$BIN/d4r-info" >log 2>&1
[ $? -eq 3 ] && grep -qi "vulkan: no vulkan" log || fail "d4r-info without a driver: $(cat log)"
if [ -n "$LAYER" ]; then
    without_feature() { VK_LAYER_PATH="$LAYER" VK_INSTANCE_LAYERS=VK_LAYER_D4R_hide_feature "$@"; }
    expect 3 "timelineSemaphore" without_feature "$m" model "$DATA/static" out
    without_feature "$BIN/d4r-info" >log 2>&1
    [ $? -eq 3 ] && grep -q "feature timelineSemaphore" log || fail "d4r-info without a feature: $(cat log)"
fi
absent out

echo "-- other tools"
expect 2 "PICTURES and REFERENCES are needed" "$BIN/d4r-compare" one
expect 5 "nowhere: No such file" "$BIN/d4r-compare" nowhere "$DATA/static"
expect 5 "holds no outputs.json" "$BIN/d4r-compare" empty "$DATA/static"
expect 2 "FRAMES, PICTURES and OUT.png are needed" "$BIN/d4r-sheet" one two
expect 5 "nowhere: No such file" "$BIN/d4r-sheet" "$DATA/static" nowhere sheet.png
expect 2 "--crop: '5' is not X,Y" "$BIN/d4r-sheet" --crop 5 "$DATA/static" nowhere sheet.png
expect 2 "FRAMES and OUT are needed" "$BIN/d4r-convert" one
expect 5 "taken: exists and is not a folder" "$BIN/d4r-convert" "$DATA/static" taken
expect 2 "no arguments are expected" "$BIN/d4r-info" one
absent sheet.png

echo "-- outputs that are not regular files"
mkfifo pipe
ln -s kept.json link.json
echo old >kept.json
expect 5 "pipe: exists and is not a regular file" "$m" -q --json pipe model "$DATA/static" -
[ -p pipe ] || fail "the FIFO was replaced"
"$m" -q --json link.json model "$DATA/static" - || fail "a symbolic link as output"
[ -L link.json ] && grep -q '"frames"' kept.json || fail "the link was replaced, not followed"
finish
