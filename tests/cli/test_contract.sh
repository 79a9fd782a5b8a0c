#!/bin/sh
# What all tools have in common: exit codes, options that contradict each other, messages that are safe to print, the
# reading of JSON, outputs that exist already.
BIN=$1
DATA=$2
. "$(dirname "$0")/lib.sh"
m=$BIN/d4r-m

"$BIN/d4r-model" neutral --quiet model || exit 1

echo "-- exit codes"
mkdir other && : >other/file
echo '{"a":1' >broken.json
printf 'not a model' >junk.safetensors
# code, tool, arguments; @ is the folder of the sequences
while read -r code tool arguments; do
    set -- $(echo "$arguments" | sed "s|@|$DATA|g")
    expect "$code" "" "$BIN/d4r-$tool" "$@"
    [ "$code" -eq 0 ] || [ "$(grep -c error: log)" -eq 1 ] || fail "not one error line: $(cat log)"
done <<EOF
0 m --version
2 m --nonsense model @/static -
2 m model @/static
3 m --device no-such-card model @/static -
4 m nowhere @/static -
4 m other @/static -
5 m model nowhere -
5 m model broken.json -
5 m model @/static junk.safetensors
0 compare --version
2 compare one
2 compare --color red one two
5 compare nowhere @/static
5 compare other @/static
0 convert --version
2 convert one
5 convert nowhere out
5 convert @/static junk.safetensors
0 sheet --version
2 sheet one
5 sheet @/static nowhere sheet.png
5 sheet @/static @/static nowhere/sheet.png
0 scene --version
2 scene --frames none out
2 scene --render 128x128 --output 64x64 out
3 scene --device no-such-card out
5 scene other
5 scene nowhere/out
0 model --version
2 model paint
2 model neutral --sigma 0.01 out
4 model verify nowhere
4 model verify other
4 model inspect junk.safetensors
4 model pack junk.safetensors out
5 model pack nowhere.safetensors out
5 model pack other out
5 model neutral nowhere/out
0 net --version
2 net model
4 net nowhere --network cpu --in junk.safetensors --out -
5 net model --network cpu --in nowhere.npy --out -
5 net model --network cpu --in junk.safetensors --out -
0 info --version
2 info one
EOF
[ "$(echo *)" = "broken.json junk.safetensors log model other" ] || fail "left behind: $(echo *)"
"$BIN/d4r-model" inspect model >/dev/full 2>log
[ $? -eq 5 ] && grep -q "standard output" log || fail "a full standard output: $(cat log)"

echo "-- contradictions"
both() { # both FIRST SECOND TOOL ARGUMENTS...: both are named, in one line
    first=$1 second=$2 tool=$3
    shift 3
    expect 2 "$first and $second contradict each other: " "$BIN/d4r-$tool" "$@"
    [ "$(wc -l <log)" -eq 1 ] || fail "not one line: $(cat log)"
}
both --hip-device --network=cpu m --hip-device 0 --network cpu model "$DATA/static" -
both --hip-graphs --network=cpu m --hip-graphs off model "$DATA/static" - 1 cpu
both --threads --network=hip m --threads 2 --network hip model "$DATA/static" -
both --check=only REPEATS m --check=only model "$DATA/static" - 3
for option in --png --exr --npy --no-raw "--dump=d" --profile --validate --reset-all; do
    both --check=only "${option%=*}" m --check=only $option model "$DATA/static" out
done
for option in --png --exr --npy --no-raw; do both $option "OUT '-'" m $option model "$DATA/static" -; done
both --quiet --verbose m --quiet --verbose model "$DATA/static" -
both --motion-gt --motion-size=render m --motion-gt --motion-size render model "$DATA/static" -
both --motion-gt --motion-size=render convert --motion-gt --motion-size render "$DATA/static" out
both --crop --crops sheet --crop 1,1 --crops 2 "$DATA/static" out sheet.png
both --gain "no --diff" compare --gain 2 out out
both --hip-library --network=cpu net --hip-library x model --network cpu --in a --out b
both --threads --network=hip net --threads 2 model --network hip --in a --out b
both --layer-times --layer net --layer-times --layer 2 model --network hip --in a --out b
expect 2 "'--device': its value is missing" "$m" model "$DATA/static" - --device
expect 2 "'--png=3': this option takes no value" "$m" --png=3 model "$DATA/static" out

echo "-- control characters"
escape=$(printf '\033[31m\a\r')
newline='
'
safe() { # nothing but printable characters and line ends
    LC_ALL=C tr -d '\001-\011\013-\037\177' <log | cmp -s - log || fail "raw control characters: $(od -c log | head)"
}
expect 5 'no\x1b[31m\x07\r: No such file' "$m" model "no${escape}" -
safe
expect 5 'a\nb: No such file' "$m" model "a${newline}b" -
[ "$(wc -l <log)" -eq 1 ] || fail "a line break was printed: $(cat log)"
expect 2 '\x1b[31m' "$m" "--no$escape" model "$DATA/static" -
safe
"$BIN/d4r-model" verify "no${escape}" >log 2>&1
safe
head='{"output":[640,360],"frames":[{"motion":"m","depth":"d","render":[320,180],"jitter":[0,0],"color":'
printf '%s\n' "$head"'"c\u001b[2J\u009b\u202e"}]}' >control.json
expect 5 'c\x1b[2J\xc2\x9b\xe2\x80\xae: No such file' "$m" model control.json -
safe
printf '%s\n' "$head"'"c","\u001b[2Jkey":1}]}' >control.json
expect 5 'frames[0].\x1b[2Jkey: unknown field' "$m" model control.json -
safe
rm -rf evil && cp -r model evil && sed -i 's/"name":[^,]*/"name":"\\u001b[2J"/' evil/model.json
for command in verify inspect; do
    "$BIN/d4r-model" $command evil >log 2>&1
    safe
done
echo "not JSON" >"größe.json"
expect 5 "größe.json: not valid JSON" "$m" model größe.json -

echo "-- frames.json"
tr -d ' \n' <"$DATA/brick_pan/frames.json" >flat.json
echo >>flat.json
copy brick_pan seq
json() { # json TEXT SED-EXPRESSION: exit code 5 and that text
    sed "$2" flat.json >seq/frames.json
    cmp -s flat.json seq/frames.json && fail "the edit $2 changed nothing"
    expect 5 "seq/frames.json: $1" "$m" model seq -
    [ "$(grep -c error: log)" -eq 1 ] || fail "not one error line: $(cat log)"
}
json "text after the end of the JSON, in line 1" 's/$/x/'
json "text after the end of the JSON, in line 2" '$a {}'
json "near: given twice; leave one" 's/"near":0.1/"near":0.1,"near":0.2/'
json "frames[1].depth: given twice; leave one" 's/"depth":"depth-0001.bin"/&,"depth":"other"/'
json "frames[2].exposure: must be positive (1e-30 to 1e30), found -2" 's/"depth":"depth-0002.bin"/&,"exposure":-2/'
json "frames[2].exposure: must be positive (1e-30 to 1e30), found 0" 's/"depth":"depth-0002.bin"/&,"exposure":0/'
json "frames[2].exposure: must be positive (1e-30 to 1e30), found 1e-60" 's/"depth":"depth-0002.bin"/&,"exposure":1e-60/'
json "frames[2].exposure: must be a positive number or a file name, found true" 's/"depth":"depth-0002.bin"/&,"exposure":true/'
json "pre_exposure: must be positive (1e-30 to 1e30), found 0" 's/"near":0.1/&,"pre_exposure":0/'
json "frames[3].pre_exposure: must be positive (1e-30 to 1e30), found -1" 's/"depth":"depth-0003.bin"/&,"pre_exposure":-1/'
json 'frames[1].color: must be a non-empty string, found 7' 's/"color":"color-0001.bin"/"color":7/'
json 'frames[0].jitter: must be an array of two numbers, found "none"' 's/"jitter":\[[^]]*\]/"jitter":"none"/1'
json 'output: must be [width, height] in whole pixels, 1 to 1000000 each, found [640,0.5]' 's/"output":\[640,360\]/"output":[640,0.5]/'
json 'hdr: must be true or false, found "yes"' 's/"near":0.1/&,"hdr":"yes"/'
json 'motion_y: must be one of "down" "up", found "left"' 's/"near":0.1/&,"motion_y":"left"/'
json 'frames: must be an array of frames, found 3' 's/"frames":/&3,"_frames":/'
json 'frames[0]: must be an object, found 3' 's/"frames":\[/&3,/'
json 'version: must be 1, the only version there is, found 2' 's/"near":0.1/&,"version":2/'
json 'bits.color: must be 16 or 32, found 8' 's/"near":0.1/&,"bits":{"color":8}/'
json 'frames[0].jitter: must be two numbers of at most 3.4e38 (finite as a float), found [1e+300,0]' 's/"jitter":\[[^]]*\]/"jitter":[1e300,0]/1'
json 'line 1: a string with \u0000' 's/color-0001/c1\\u0000/'
# A check alone reads every plane too: of frames that no pair takes, and references.
sed 's/\[320,180\]/[321,180]/2' flat.json >seq/frames.json
expect 5 "(frames[1].color)" "$m" --check=only model seq -
cp flat.json seq/frames.json && truncate -s +4 seq/reference-0003.bin
expect 5 "(frames[3].reference)" "$m" --check=only model seq -
cp "$DATA/brick_pan/reference-0003.bin" seq
sed 's/"near":0.1/&,"motion_scal":2,"something_else":1/' flat.json >seq/frames.json
expect 0 "motion_scal: unknown field, ignored; is 'motion_scale' meant?" "$m" --check=only model seq -
grep -q "something_else: unknown field, ignored$" log || fail "a far name was guessed: $(cat log)"
sed 's/"color":"color-0001.bin"/"colour":7/' flat.json >seq/frames.json
expect 5 "frames[1].color: missing" "$m" model seq -
grep -q "frames\[1\].colour: unknown field, ignored; is 'color' meant?" log || fail "no hint: $(cat log)"

echo "-- outputs that exist"
cp flat.json seq/frames.json
expect 0 "" "$m" -q --no-raw --png model seq out
expect 0 "" "$m" -q --no-raw --png model seq out
rm out/frame-0003.png && mkdir out/frame-0003.png && echo keep >out/notes
state() { find "$1" | sort; find "$1" -type f -exec cksum {} + | sort; }
state out >before
expect 5 "out/frame-0003.png: is a folder where a file of the output belongs" \
    "$m" -q --no-raw --png --json r.json --dump dump model seq out
state out | cmp -s - before || fail "a blocked output changed: $(ls -A out)"
absent dump r.json
mkdir photos && echo mine >photos/frame-0001.png
expect 5 "photos/frame-0001.png: exists and is not of an earlier run" "$m" -q --png model seq photos
[ "$(cat photos/frame-0001.png)" = mine ] && [ "$(ls -A photos)" = frame-0001.png ] || fail "photos: $(ls -A photos)"
expect 0 "" "$m" -q --png --force model seq photos
[ "$(head -c 4 photos/frame-0001.png | tail -c 3)" = PNG ] || fail "--force did not replace"
expect 5 "other: exists and is not empty: choose another name, or --force" "$m" -q --dump other model seq -
expect 5 "other: exists and is not empty" "$BIN/d4r-compare" --diff other photos photos
expect 0 "" "$BIN/d4r-compare" -q --diff other --force photos photos
[ -f other/file ] && [ -f other/diff-0000.png ] || fail "--force removed other files: $(ls other)"
expect 5 "other: exists and is not empty" "$BIN/d4r-scene" other
mkdir empty there
expect 0 "" "$BIN/d4r-compare" -q --diff empty photos photos
ln -s "$work/there" link
expect 0 "" "$m" -q --no-raw --png model seq link
[ -L link ] && [ -f there/frame-0003.png ] || fail "a link to a folder was replaced"
echo old >sheet.png
expect 5 "no picture of frame 99" "$BIN/d4r-sheet" -q --frame 99 seq photos sheet.png
[ "$(cat sheet.png)" = old ] || fail "a failed sheet changed the file"
expect 0 "" "$BIN/d4r-sheet" -q seq photos sheet.png

# What a run reads is never replaced by what it writes.
cp -r model model.kept
cp -r seq seq.kept
replaced=": is read by this run and would be replaced: choose another name"
expect 5 "seq/frames.json$replaced" "$m" -q --json seq/frames.json model seq -
expect 5 "seq/frames.json$replaced" "$m" -q --check=only --json seq/frames.json model seq -
expect 5 "model/model.json$replaced" "$m" -q --json model/model.json model seq -
plane=$(cd seq && ls | grep -v json | head -n 1)
[ -f "seq/$plane" ] && expect 5 "seq/$plane$replaced" "$m" -q --json "seq/$plane" model seq -
expect 5 "photos/outputs.json$replaced" "$BIN/d4r-compare" -q --json photos/outputs.json photos seq
diff -r model model.kept && diff -r seq seq.kept || fail "an input was replaced"
expect 2 "--json and OUT are both 'both'" "$m" --json both model seq both
# Every output has a place of its own, however it is spelled.
mkdir made
for spelling in both ./both both/ "$work/both"; do
    expect 2 "--dump and OUT are both 'both'" "$m" --dump "$spelling" model seq both
    expect 2 "--dump and OUT are both 'both'" "$m" --force --dump "$spelling" model seq both
    expect 2 "--json and OUT are both 'both'" "$m" --json "$spelling" model seq both
    expect 2 "--json and --dump are both" "$m" --json both --dump "$spelling" model seq -
    expect 2 "--dump and --profile are both" "$m" --profile=both --dump "$spelling" model seq -
    expect 2 "--json and --profile are both" "$m" --profile=both --json "$spelling" model seq -
done
absent both
ln -s made made-too
expect 2 "--dump and OUT are both 'made-too'" "$m" --dump made model seq made-too
expect 2 "--json 'out/outputs.json' is a name that the run itself writes in OUT" "$m" --json out/outputs.json model seq out
expect 2 "--json './out/frame-0001.png' is a name" "$m" --json ./out/frame-0001.png model seq "$work/out"
expect 2 "--json and --diff are both 'both'" "$BIN/d4r-compare" --json ./both --diff both photos photos
expect 2 "--json and --out are both 'both'" "$BIN/d4r-net" model --network cpu --in a --json ./both --out both
[ -z "$(ls -A made)" ] || fail "a refused run wrote: $(ls -A made)"
rm made-too && rmdir made
# --profile=OUT is what --profile alone is.
expect 0 "" "$m" -q --no-raw --png --profile=./profiled model seq profiled
[ -f profiled/stages.csv ] && [ -f profiled/frame-0000.png ] || fail "--profile=OUT: $(ls profiled)"
# Folders that are missing are named, not temporary files in them.
expect 5 "none/out: cannot be created: the folder none does not exist: make it first" "$m" model seq none/out
expect 5 "none/d: cannot be created: the folder none does not exist" "$m" --dump none/d model seq -
expect 5 "none/r.json: cannot be written: the folder none does not exist" "$m" --json none/r.json model seq none
expect 5 "none/s.png: cannot be written: the folder none does not exist" "$BIN/d4r-sheet" seq photos none/s.png
absent none

# What would be replaced is found before the run: a run would fail with exit code 3 here.
expect 5 "seq/reference-0003.bin$replaced" "$m" --device no-such-card --json seq/reference-0003.bin model seq -
expect 5 "seq/reference-0003.bin$replaced" "$BIN/d4r-sheet" -q seq photos seq/reference-0003.bin
expect 0 "" "$m" -q --dump dumped model seq -
cp dumped/0000/input.tokens.npy tokens.npy && cp tokens.npy tokens.kept && rm -rf dumped
D4R_HIP_LIBRARY=/nonexistent expect 5 "tokens.npy$replaced" \
    "$BIN/d4r-net" model --network hip --in tokens.npy --out ./tokens.npy
cmp tokens.npy tokens.kept || fail "the tokens were replaced"
# A sequence whose planes have names of outputs.
cp -r seq clash && mv clash/color-0001.bin clash/frame-0001.bin
sed 's/color-0001.bin/frame-0001.bin/' flat.json >clash/frames.json
cp -r clash clash.kept
expect 5 "clash/frame-0001.bin$replaced" "$m" --device no-such-card --force model clash clash
diff -r clash clash.kept || fail "an input was replaced with --force"
rm -r clash clash.kept tokens.npy tokens.kept profiled

# A sequence of a capture that is replaced takes its planes of every ratio with it; other sequences stay.
copy static cap-in && "$BIN/d4r-convert" -q cap-in cap && "$BIN/d4r-convert" -q --as-sequence 1 cap-in cap || fail "d4r-convert"
cp -r cap/x2 cap/x3 && state cap/x2/color/0001 >before
expect 5 "" "$BIN/d4r-convert" -q cap-in cap
[ -f cap/x3/color/0000/0000.exr ] || fail "a refused conversion removed planes"
expect 0 "" "$BIN/d4r-convert" -q --force seq cap
[ "$(find cap/x3 -path '*/0000/*.exr' | wc -l)" -eq 0 ] || fail "planes of another ratio stay: $(find cap/x3)"
[ "$(find cap/x2/color/0000 -name '*.exr' | wc -l)" -eq 4 ] || fail "not four frames: $(find cap/x2/color/0000)"
[ -f cap/x3/color/0001/0000.exr ] && state cap/x2/color/0001 | cmp -s - before || fail "another sequence changed"
expect 5 "cap/0001.json$replaced" "$BIN/d4r-convert" -q --force --as-sequence 1 --ratio 3 --sequence 1 cap cap
[ -f cap/x3/color/0001/0000.exr ] || fail "an input was removed"
rm -r cap cap-in

echo "-- JSON is UTF-8"
odd=$(printf 'o\377\303d\303\266')
utf8() { iconv -f UTF-8 -t UTF-8 "$1" >utf8.text && cmp -s "$1" utf8.text && rm utf8.text || fail "$1 is not UTF-8"; }
cp -r seq "$odd"
sed "s/\"name\":\"[^\"]*\"/\"name\":\"$odd\"/" flat.json | LC_ALL=C sed 's/^/ /' >"$odd/frames.json"
LC_ALL=C grep -q "$odd" "$odd/frames.json" || fail "no odd name in the sequence"
expect 0 "" "$m" -q --check --json odd.json --no-raw --exr model "$odd" "$odd-out"
expect 0 "" "$BIN/d4r-compare" -q --json odd-compare.json "$odd-out" "$odd"
for file in odd.json "$odd-out/outputs.json" odd-compare.json; do
    utf8 "$file"
    grep -qF 'o\\xff\\xc3dö' "$file" || fail "$file: $(grep xff "$file")"
done
rm -r "$odd" "$odd-out" odd.json odd-compare.json
expect 2 "is not UTF-8" "$BIN/d4r-model" neutral --name "$odd" odd-model
absent odd-model
rm -rf evil && cp -r model evil && LC_ALL=C sed -i "s/\"name\":[^,]*/\"name\":\"$odd\"/" evil/model.json
expect 4 "name: is not UTF-8" "$BIN/d4r-model" verify evil

if [ -w /dev/full ]; then
    code=0
    "$BIN/d4r-info" >/dev/full 2>info.text || code=$?
    [ $code -eq 5 ] && grep -q 'standard output: cannot be written' info.text || fail "d4r-info >/dev/full: exit code $code"
    rm -f info.text
fi
# A limit on the size of files is a failed write: one line, nothing left behind.
before=$(ls -A)
(ulimit -f 8 && exec "$BIN/d4r-sheet" -q seq photos limited.png) >limited.text 2>&1 && code=0 || code=$?
[ $code -eq 5 ] && [ "$(wc -l <limited.text)" -eq 1 ] || fail "a file over the limit: exit code $code: $(cat limited.text)"
grep -q 'cannot be written: File too large$' limited.text || fail "no reason: $(cat limited.text)"
(ulimit -f 8 && exec "$BIN/d4r-compare" -q --diff limited photos seq) >limited.text 2>&1 && code=0 || code=$?
[ $code -eq 5 ] && grep -q 'cannot be written: File too large$' limited.text ||
    fail "differences over the limit: exit code $code: $(cat limited.text)"
rm -f limited.text
[ "$before" = "$(ls -A)" ] || fail "left behind: $(ls -A)"
[ "$(head -c 4 sheet.png | tail -c 3)" = PNG ] || fail "the sheet was not replaced"
[ -z "$(find . -name '*tmp*')" ] || fail "left behind: $(find . -name '*tmp*')"
finish
