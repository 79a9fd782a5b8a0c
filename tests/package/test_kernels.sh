#!/bin/sh
# A moved prefix finds its GPU code objects by itself, from a program with the shared library and from one with the static.
#   test_kernels.sh BUILD WORK HIPEMU
set -eu
build=$1 work=$2 hipemu=$3
fail() { echo "test_kernels: $*"; exit 1; }
[ -f "$build/kernels/gfx1201/m.hsaco" ] || { echo "the target \"kernels\" was not built"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/first" >"$work/install.log" || fail "cmake --install"
mv "$work/first" "$work/moved"
unset D4R_KERNELS || true
export D4R_HIP_LIBRARY="$hipemu" D4R_HIPEMU_ARCH=gfx1201
model=$work/moved/share/d4r/models/m
head -c 16384 /dev/zero >"$work/zero"
printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (16, 16, 64), }" >"$work/tokens.npy"
cat "$work/zero" >>"$work/tokens.npy"
"$work/moved/bin/d4r-net" "$model" --network hip --in "$work/tokens.npy" --out "$work/hip.npy" || fail "d4r-net (static library)"
"$work/moved/bin/d4r-net" "$model" --network cpu --in "$work/tokens.npy" --out "$work/cpu.npy" || fail "cpu"
cmp "$work/hip.npy" "$work/cpu.npy" || fail "the emulated device gives another head"
"$work/moved/bin/d4r-scene" --quiet --scene chart --frames 1 --reference-from 1 --render 64x64 --output 128x128 "$work/frames" ||
    fail "d4r-scene"
for network in hip cpu; do
    "$work/moved/bin/d4r-m" --quiet "$model" "$work/frames" "$work/$network" 1 $network || fail "d4r-m: $network"
done
cmp "$work/hip/frame-0000.bin" "$work/cpu/frame-0000.bin" || fail "d4r-m (shared library): the emulated device gives another picture"
rm -r "$work"/moved/lib*/d4r/kernels
if "$work/moved/bin/d4r-net" "$model" --network hip --in "$work/tokens.npy" --out "$work/none.npy" 2>"$work/text"; then
    fail "kernels from elsewhere were used"
fi
grep -q "$work/moved" "$work/text" || { cat "$work/text"; fail "the message does not say where it looked"; }
