#!/usr/bin/env bash
# The tests, from nothing: installs what is missing, builds with gcc and clang, runs the test suite in a release build
# and under the address, undefined-behaviour and thread sanitizers.
#
#   scripts/test.sh [--quick] [--long] [--no-setup]
#     --quick     release build and its tests only
#     --long      also the long runs (D4R_LONG_TESTS=1)
#     --no-setup  do not install packages
set -euo pipefail
cd "$(dirname "$0")/.."
quick=0 setup=1
for argument in "$@"; do
    case "$argument" in
    --quick) quick=1 ;;
    --long) export D4R_LONG_TESTS=1 ;;
    --no-setup) setup=0 ;;
    *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
    esac
done
[ $setup -eq 0 ] || scripts/setup.sh test

jobs=$(nproc)
step() { echo "== $* ($((SECONDS / 60)) min $((SECONDS % 60)) s)"; }
build() { # preset, further targets
    local preset=$1 log
    shift
    log=build/$preset.log
    mkdir -p build
    step "build $preset"
    { cmake --preset "$preset" && cmake --build "build/$preset" --parallel "$jobs" --target all "$@"; } >"$log" 2>&1 ||
        { tail -n 60 "$log"; echo "test: building $preset failed" >&2; exit 1; }
}
run() { # preset, ctest arguments
    local preset=$1 fixed=
    shift
    step "test $preset"
    # The thread sanitizer's shadow memory does not fit every random layout of the address space.
    if [ "$preset" = tsan ] && setarch -R true 2>/dev/null; then fixed="setarch -R"; fi
    $fixed ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$jobs" "$@"
}

build release kernels
run release
if [ $quick -eq 0 ]; then
    build clang
    # Code objects do not depend on the host compiler's options.
    mkdir -p build/asan build/tsan
    ln -sfn ../release/kernels build/asan/kernels
    ln -sfn ../release/kernels build/tsan/kernels
    # Tests with the label `timing` compare against the watchdog's bound; the emulated device under a sanitizer is too slow
    # for that on a busy machine, so there they belong to the long runs.
    build asan
    build tsan
    if [ -n "${D4R_LONG_TESTS:-}" ]; then
        run asan -LE no-asan
        run tsan -L "tsan|timing"
    else
        run asan -LE "no-asan|timing|long-asan"
        run tsan -L tsan
    fi
fi
step "all tests passed"
