#!/bin/sh
# test_d4r_model.sh D4R_MODEL: the tool's exit codes, messages and that nothing partial is left.
set -u
tool=$1
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0

# expect CODE TEXT ARGUMENTS...: exit code, and TEXT somewhere in what was printed; an error is one line.
expect()
{
    code=$1 text=$2
    shift 2
    "$tool" "$@" >out 2>err
    have=$?
    if [ $have -ne "$code" ]; then
        echo "FAIL: d4r-model $*: exit $have, expected $code: $(cat err)"
        failed=1
    fi
    if ! cat out err | grep -qF -- "$text"; then
        echo "FAIL: d4r-model $*: no \"$text\" in: $(cat out err)"
        failed=1
    fi
    if [ "$code" -ne 0 ] && [ "$(wc -l <err)" -ne 1 ]; then
        echo "FAIL: d4r-model $*: not one line: $(cat err)"
        failed=1
    fi
}

expect 0 "EXIT STATUS" --help
expect 0 "d4r-model " --version
expect 2 "a command is missing"
expect 2 'unknown command "paint"' paint
expect 2 "--json does not go with this command" verify --json m
expect 2 "unknown option --bogus" neutral --bogus m
expect 2 "--sigma needs a value" neutral --sigma
expect 2 "wide is not a number" neutral --sigma wide m
expect 2 "sigma: 0.05 is outside" neutral --sigma 0.05 m
expect 2 "pack needs SAFETENSORS and OUT" pack one
expect 2 "empty path" verify ""
[ -e m ] && { echo "FAIL: m exists"; failed=1; }

expect 0 "sigma 0.3013, weight 0.2018" neutral m
expect 0 "ok: preset M, \"m\"" verify m
expect 0 "expansion.bias" inspect m
expect 0 '"parameters":	1169702' inspect --json m
expect 5 "exists already" neutral m
expect 0 "sigma 0.5" neutral --force --sigma 0.5 --name other --licence CC0-1.0 m/
expect 0 '"other"' verify m
expect 0 "all weights: exact" pack m/weights.safetensors packed
cmp -s m/hipnet.bin packed/hipnet.bin || { echo "FAIL: packed again, hipnet.bin differs"; failed=1; }
cmp -s m/weights.safetensors packed/weights.safetensors || { echo "FAIL: safetensors differ"; failed=1; }

expect 4 "no such file" verify missing
expect 5 "a directory, expected a file" pack m out1
expect 5 "no such file" pack nowhere.safetensors out1
expect 4 "header: not valid JSON" pack m/hipnet.bin out1
printf '\002\000\000\000\000\000\000\000{}' >empty.safetensors
expect 4 'tensor "input.embed.weight" [64, 128] of preset M is missing' pack empty.safetensors out1
expect 5 "cannot create a directory there" neutral nowhere/m
touch file
expect 5 "Not a directory" neutral file
expect 2 "name is longer than 200" neutral --name "$(printf '%0201d' 0)" out1
[ -e out1 ] && { echo "FAIL: out1 exists"; failed=1; }
printf x | dd of=m/hipnet.bin bs=1 seek=5 conv=notrunc 2>/dev/null
expect 4 "hipnet.bin: its SHA-256 is not the one in model.json" verify m
expect 4 "hipnet.bin" inspect m

# Preset K
expect 2 "--preset: 'L' is neither M nor K" neutral --preset L k
expect 2 "--sigma is not of preset K" neutral --preset K --sigma 1 --keep 0.5 k
expect 2 "--keep is not of preset M" neutral --keep 0.5 k
expect 2 "keep: 1 is outside (0, 1)" neutral --preset K --keep 1 k
expect 0 "keep 0.9500" neutral --preset K k
expect 0 "ok: preset K, \"k\", 1008356 parameters" verify k
expect 0 "head.bias" inspect k
expect 0 '"preset":	"K"' inspect --json k
expect 2 "needs --tables FILE" pack --preset K k/weights.safetensors out1
expect 2 "--tables is of preset K" pack --tables k/lut.bin k/weights.safetensors out1
expect 0 "kp: written" pack --preset K --tables k/lut.bin k/weights.safetensors kp
for name in hipnet.bin weights.safetensors lut.bin; do
    cmp -s k/$name kp/$name || { echo "FAIL: packed again, $name differs"; failed=1; }
done
expect 4 "is not one of preset M's" pack k/weights.safetensors out1
expect 4 'of preset K is missing' pack --preset K --tables k/lut.bin m/weights.safetensors out1
expect 4 "preset K's tables have 524288" pack --preset K --tables k/model.json k/weights.safetensors out1
expect 5 "no such file" pack --preset K --tables nowhere k/weights.safetensors out1
printf '\377\377' | dd of=k/lut.bin bs=1 seek=64 conv=notrunc 2>/dev/null
expect 4 "table 0, phase 0, shape 2: a weight is not a finite number" pack --preset K --tables k/lut.bin k/weights.safetensors out1
expect 4 "lut.bin: its SHA-256 is not the one in model.json" verify k
expect 5 "exists already" neutral k
expect 0 "sigma" neutral --force k
[ -e k/lut.bin ] && { echo "FAIL: lut.bin is left"; failed=1; }
[ -e out1 ] && { echo "FAIL: out1 exists"; failed=1; }

rm -rf k kp m packed file empty.safetensors out err
[ -z "$(ls)" ] || { echo "FAIL: left behind: $(ls)"; failed=1; }
if [ -e /dev/full ]; then
    "$tool" --help >/dev/full 2>/dev/null && { echo "FAIL: a full disk is not noticed"; failed=1; }
fi
exit $failed
