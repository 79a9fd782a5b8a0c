#!/bin/sh
# The runners with the HIP network on the emulated device: d4r-m or d4r-k, and d4r-net, against the CPU network; for preset m also
# what they say when there is no device, no library or no kernels.
#   PRESET=m|k BIN=<tools> LIB=<libraries> INPUTS=<make_inputs> test_cli.sh
. "$(dirname "$0")/../cli/lib.sh"

if [ ! -e "$BIN/../kernels/gfx1201/$PRESET.hsaco" ]; then
    echo "skipped: no code objects (target kernels)"
    exit 77
fi
"$INPUTS" "$work" || exit 1
emulator=$LIB/libhipemu.so
export D4R_HIPEMU_CHECK=uninit,race

# Preset K's least grid is 256x256 tokens, which takes a second a frame here: fewer frames, and the emulator's checks for the
# small grids of d4r-net alone.
case $PRESET in
m) model=model tokens=tokens.npy sequences="seq odd" varied=seq phase=0 frame_checks=$D4R_HIPEMU_CHECK
    layers="enc1 enc2 mid0 mid1 mid2 mid3 mid4 mid5 dec2 dec1" ;;
k) model=model-k tokens=tokens-k.npy sequences=odd varied=odd phase=3 frame_checks=
    layers="enc0 enc1 enc2 enc3 enc4 dec5 dec4 dec3 dec2 dec1 dec0" ;;
esac
m() { D4R_HIPEMU_CHECK=$frame_checks "$BIN/d4r-$PRESET" -q --watchdog 60000 "$@"; }
net() { "$BIN/d4r-net" -q "$@"; }

# ---- the same pictures: identical, or 55 dB and more where the order of sums moved a code
for sequence in $sequences; do
    expect 0 "" m $model $sequence cpu-$sequence 1 cpu
    for arch in gfx1201 gfx1100; do
        export D4R_HIPEMU_ARCH=$arch D4R_HIP_LIBRARY="$emulator"
        expect 0 "" m $model $sequence hip-$sequence-$arch 1 hip
        expect 0 "mean" "$BIN/d4r-compare" --min-psnr 55 hip-$sequence-$arch cpu-$sequence
        same=0 all=0
        for picture in cpu-$sequence/frame-*.bin; do
            all=$((all + 1))
            if cmp -s "$picture" "hip-$sequence-$arch/${picture##*/}"; then same=$((same + 1)); fi
        done
        echo "$sequence, $arch: $same of $all pictures are identical to the CPU network's"
        if [ $PRESET = k ] && [ $same -ne $all ]; then fail "preset K's pictures differ on $arch"; fi
    done
done
# The comparison can fail: another frame's picture is not this.
if cmp -s cpu-$varied/frame-0001.bin cpu-$varied/frame-0002.bin; then fail "frames 1 and 2 are the same"; fi

# ---- every way to hand off gives the same bytes
export D4R_HIPEMU_ARCH=gfx1201
for options in "--hip-handoff marker" "--hip-completion callback" "--hip-graphs off" \
    "--hip-handoff marker --hip-completion callback --hip-graphs on --frames-in-flight 8"; do
    case $PRESET$options in "k--hip-handoff marker" | "k--hip-completion callback") continue ;; esac # the last has both
    rm -rf other
    # shellcheck disable=SC2086
    expect 0 "" m $options $model $varied other 1 hip
    for picture in hip-$varied-gfx1201/frame-*.bin; do
        cmp -s "$picture" "other/${picture##*/}" || fail "$picture differs with $options"
    done
done

# ---- d4r-net, layer by layer: FP8 codes may move with the order of sums, f16 values do not
for arch in gfx1201 gfx1100; do
    export D4R_HIPEMU_ARCH=$arch
    for layer in $layers; do
        expect 0 "" net $model --network cpu --in $tokens --out cpu.npy --layer $layer --phase $phase
        expect 0 "" net $model --network hip --in $tokens --out hip.npy --layer $layer --phase $phase
        bytes=$(wc -c <cpu.npy)
        different=$(cmp -l cpu.npy hip.npy | wc -l)
        echo "$arch $layer: $different of $bytes bytes differ"
        if [ $((different * 10000)) -gt "$bytes" ]; then fail "$arch $layer: more than one in 10,000 differ"; fi
        if [ $PRESET = k ] && [ "$different" -ne 0 ]; then fail "$arch $layer: $different bytes"; fi
    done
done
if [ $PRESET = k ]; then
    # The engine's evaluations advance the phase: frame 2 has the head of phase 2.
    expect 0 "" m --dump dump $model odd dumped 1 cpu
    for phase in 2 3; do
        expect 0 "" net $model --network cpu --in dump/0002/network.tokens.npy --phase $phase --out head-$phase.npy
    done
    cmp head-2.npy dump/0002/network.head.npy || fail "frame 2 is not of phase 2"
    if cmp -s head-3.npy head-2.npy; then fail "phases 2 and 3 give the same head"; fi
    # The last comparison was of phase 3: another phase gives another head.
    net $model --network hip --in $tokens --out other.npy && cmp -s hip.npy other.npy && fail "phases 0 and 3 are the same"
    expect 4 "the model is of preset M; d4r-k runs models of preset K: use d4r-m" m model odd x 1 hip
    expect 2 "--layer: 'mid0' is not a layer of preset K" net $model --network cpu --in $tokens --out x.npy --layer mid0
    expect 2 "--phase" net $model --network cpu --in $tokens --out x.npy --phase 8
    expect 2 "--phase: preset M has 1" net model --network cpu --in tokens.npy --out x.npy --phase 1
    expect 5 "its type is '|u1', not '<f2'" net $model --network cpu --in tokens.npy --out x.npy
    expect 5 "its type is '<f2', not '|u1'" net model --network cpu --in $tokens --out x.npy
    D4R_KERNELS=/nonexistent expect 3 "tried /nonexistent/gfx1100/k.hsaco" m $model odd x 1 hip
    D4R_HIPEMU_LOST=25 expect 6 "frame" m $model odd x 1 hip
    absent x x.npy
    finish
fi
export D4R_HIPEMU_ARCH=gfx1201
# A damaged code object is neither the model's fault nor the device's.
mkdir -p bad/gfx1201 && cp "$BIN"/../kernels/gfx1201/m.* bad/gfx1201 && truncate -s 1000 bad/gfx1201/m.hsaco
D4R_KERNELS=bad expect 3 "bad/gfx1201/m.hsaco: ELF tables point outside the file (1000 bytes)" m model seq x 1 hip
if grep -q "bad model\|buffers" log; then fail "the wrong cause: $(cat log)"; fi
D4R_KERNELS=bad expect 3 "bad/gfx1201/m.hsaco" net model --network hip --in tokens.npy --out x.npy
cp "$BIN/../kernels/gfx1201/m.hsaco" bad/gfx1201 && rm bad/gfx1201/m.json
D4R_KERNELS=bad expect 3 "bad/gfx1201/m.json: cannot read the manifest" m model seq x 1 hip
expect 0 "" net model --network hip --in tokens.npy --out graphs.npy --hip-graphs on --hip-completion callback
cmp -s graphs.npy hip.npy || fail "d4r-net: graphs differ"
expect 0 "mid3 " "$BIN/d4r-net" model --network hip --in tokens.npy --out - --layer-times --hip-graphs off --repeats 3 \
    --json times.json
grep -q '"layer_microseconds"' times.json || fail "no layer times in the JSON"

# ---- d4r-net: usage and bad input; nothing partial is left
expect 0 "--network cpu|hip" "$BIN/d4r-net" --help
expect 2 "MODEL" net --network cpu --in tokens.npy --out x.npy
expect 2 "--network" net model --in tokens.npy --out x.npy
expect 2 "vulkan" net model --network vulkan --in tokens.npy --out x.npy
expect 2 "--layer" net model --network cpu --in tokens.npy --out x.npy --layer enc3
expect 2 "--hip-handoff" net model --network hip --in tokens.npy --out x.npy --hip-handoff marker
expect 2 "--layer-times" net model --network cpu --in tokens.npy --out x.npy --layer-times
expect 4 "nothing-here" net nothing-here --network cpu --in tokens.npy --out x.npy
expect 5 "absent.npy" net model --network cpu --in absent.npy --out x.npy
expect 5 "--grid says 32x48" net model --network cpu --in tokens.npy --out x.npy --grid 32x48
expect 5 "x.npy" net model --network cpu --in tokens.npy --out no-folder/x.npy
head -c 5000 tokens.npy >short.npy
expect 5 "short.npy" net model --network cpu --in short.npy --out x.npy
absent x.npy no-folder/x.npy

# ---- d4r-info says what the library would do
info() { "$BIN/d4r-info" "$@"; }
hip_part() { info "$@" | sed -n '/^HIP/,$p'; }
expect 0 "hip     yes" info
expect 0 "runtime version 70100000" info
D4R_HIPEMU_ARCH=gfx1201,gfx1100 expect 0 "gfx1201, 32 multiprocessors, PCI 0000:03:00, is Vulkan device 0" info
D4R_HIPEMU_ARCH=gfx1201,gfx1100 expect 0 "gfx1100, 48 multiprocessors, PCI 0000:04:00, matches no Vulkan device" info
expect 0 "kernels/gfx1201/m.hsaco" hip_part
D4R_HIPEMU_ARCH=none expect 0 "hip     no: no HIP device was found by $emulator" info
D4R_HIP_LIBRARY=/nonexistent.so expect 0 "tried /nonexistent.so: cannot open" info
D4R_HIP_LIBRARY=/nonexistent.so expect 0 "hip     no: HIP runtime not found; tried /nonexistent.so" info
D4R_KERNELS=/nonexistent expect 0 "hip     no: kernels for gfx1201 not found; tried /nonexistent/gfx1201/m.hsaco" info
D4R_HIPEMU_FAIL=hipDeviceGetName:1 expect 0 "cannot run the network: HIP device attributes: HIP error" info
info --json info.json >log || fail "d4r-info --json"
for text in '"library":"'"$emulator"'"' '"hip_device":0' '"vulkan_device":0' '"architecture":"gfx1201"' '"hip":{"usable":true}'; do
    tr -d ' \t\n' <info.json | grep -qF -- "$text" || fail "info.json lacks $text"
done

# ---- no device, no library, no kernels, a lost device
D4R_HIPEMU_ARCH=none expect 3 "no HIP device was found by $emulator" m model seq x 1 hip
D4R_HIPEMU_ARCH=none expect 3 "no HIP device was found" net model --network hip --in tokens.npy --out x.npy
D4R_HIP_LIBRARY=/nonexistent/libamdhip64.so expect 3 "tried /nonexistent/libamdhip64.so" m model seq x 1 hip
D4R_KERNELS=/nonexistent expect 3 "tried /nonexistent/gfx1201/m.hsaco" m model seq x 1 hip
D4R_HIPEMU_LOST=25 expect 6 "frame" m model seq x 1 hip
expect 4 "the model is of preset K; d4r-m runs models of preset M: use d4r-k" m model-k seq x 1 hip
D4R_HIPEMU_LOST=5 expect 6 "" net model --network hip --in tokens.npy --out x.npy
# What a hung kernel may still write stays allocated on purpose, and its thread still runs: no leak check.
ASAN_OPTIONS=detect_leaks=0 D4R_HIPEMU_HANG=5 D4R_HIPEMU_HANG_MS=3000 expect 6 "longer than 200 ms" net model --network hip --in tokens.npy --out x.npy \
    --watchdog 200
absent x x.npy
# The library by option alone pairs with a Vulkan device that has no PCI address, as by the environment.
(unset D4R_HIP_LIBRARY; m --hip-library "$emulator" model odd by-option 1 hip) || fail "--hip-library"

# ---- auto says why
expect 0 "network auto: hip" "$BIN/d4r-m" --watchdog 60000 model odd auto1 1 auto
D4R_HIPEMU_ARCH=none expect 0 "network auto: cpu, because: no HIP device was found" "$BIN/d4r-m" model odd auto2 1 auto
D4R_HIP_LIBRARY=/nonexistent.so expect 0 "network auto: cpu, because: HIP runtime not found" "$BIN/d4r-m" model odd auto3 1 auto

# ---- the installed runtime, where there is one and no card
unset D4R_HIP_LIBRARY
if [ -e /dev/kfd ]; then
    echo "a card may be here: the installed runtime is not tried"
elif ldconfig -p | grep -q 'libamdhip64\.so\.[567] '; then
    expect 3 "no HIP device was found by libamdhip64.so" m model odd x 1 hip
else
    expect 3 "tried libamdhip64.so.7" m model odd x 1 hip
fi
absent x
finish
