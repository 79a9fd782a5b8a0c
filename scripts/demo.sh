#!/usr/bin/env bash
# The main job, from nothing: installs what is missing, builds, renders a small sequence, upscales it 2x and leaves
# out/demo/sheet.png (input, bicubic, d4r, reference).
#
#   scripts/demo.sh [SCENE]      SCENE: see `d4r-scene --help`; default street
set -euo pipefail
cd "$(dirname "$0")/.."
scene=${1:-street}

case "$scene" in
street | gallery | chart) ;;
*) sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; echo "scenes: street gallery chart" >&2; exit 2 ;;
esac

scripts/setup.sh build
echo "demo: building"
if [ ! -f build/demo/CMakeCache.txt ]; then
    mkdir -p build
    cmake -S . -B build/demo -G Ninja -DCMAKE_BUILD_TYPE=Release -DD4R_BUILD_TESTS=OFF -DD4R_BUILD_BENCH=OFF \
        -DD4R_BUILD_HIPEMU=OFF >build/demo.log 2>&1 || { cat build/demo.log >&2; exit 1; }
fi
cmake --build build/demo --parallel >build/demo/build.log 2>&1 || { tail -n 40 build/demo/build.log >&2; exit 1; }

bin=build/demo/bin
out=out/demo
model=models/m
mkdir -p out
rm -rf "$out"
mkdir -p "$out"
if [ ! -f "$model/model.json" ]; then
    model=$out/neutral
    "$bin/d4r-model" neutral "$model"
fi
echo "demo: rendering, upscaling (the first run also compiles the shaders)"
"$bin/d4r-scene" --scene "$scene" --frames 16 --reference-from 12 --render 320x180 --output 640x360 "$out/frames"
"$bin/d4r-m" --png "$model" "$out/frames/frames.json" "$out/upscaled"
"$bin/d4r-sheet" "$out/frames/frames.json" "$out/upscaled" "$out/sheet.png"
echo "demo: look at $out/sheet.png"
