#!/bin/sh
# A small run of bench_kernels: counts that can be worked out by hand, and usage.   BIN=<tools> test_bench_kernels.sh
. "$(dirname "$0")/../tests/cli/lib.sh"

[ -e "$BIN/../kernels/gfx1201/m.hsaco" ] || { echo "skipped: no code objects (target kernels)"; exit 77; }

has() { # text: in k.json, white space aside
    tr -d ' \t\n' <k.json | grep -qF -- "$1" || fail "k.json lacks $1"
}

# 64x64 pixels are 32x32 tokens. enc1, shift 2: 9x9 windows, two a wave, 41 pairs. A window of C 64 takes 48 products of
# 16x16 weights for q, k and v, 8 for scores and values, 16 for the projection, 64 for the MLP: 136.
expect 0 "network" "$BIN/bench_kernels" --arch gfx1201 --size 64x64 --json k.json
has '"bench":"bench_kernels"'
has 'nevermeasuredonAMDhardware'
has '"vgpr_spills":0,"sgpr_spills":0'
has '"layer":"enc1","kernel":"d4r_block64","windows":81,'
has '"wmma":11152,'
has '"render":[64,64],"grid":[32,32],"card":"RadeonRX9070XT"'
has '"bound":"launch"'
# mid1, shift 0, C 128: 8x8 tokens, 4 windows, one pair each 2 * 528.
has '"layer":"mid1","kernel":"d4r_block128","windows":4,'
has '"wmma":2112,'

# gfx11: one window a wave; no estimate for an architecture that is no card of the model.
expect 0 "d4r_block64" "$BIN/bench_kernels" --arch gfx1150 --size 64x64 --json k.json
has '"wmma":11016,'
if grep -q estimate_ k.json; then fail "an estimate for gfx1150"; fi

refuses() { # code, text, command
    code=$1 text=$2
    shift 2
    "$@" >log 2>&1
    got=$?
    [ $got -eq "$code" ] || fail "exit code $got instead of $code: $*"
    grep -qF -e "$text" log || fail "no '$text' in the messages of: $*"
}
refuses 2 "gfx900" "$BIN/bench_kernels" --arch gfx900
refuses 2 "--size" "$BIN/bench_kernels" --size 64
refuses 4 "tried nowhere/gfx1201" "$BIN/bench_kernels" --arch gfx1201 --kernels nowhere --size 64x64
refuses 5 "no-folder" "$BIN/bench_kernels" --arch gfx1201 --size 64x64 --json no-folder/k.json
finish
