#!/bin/sh
# Each public header alone, as C11, C17 and C++17, pedantic, with every compiler at hand. Warnings are errors.
set -eu
include=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tried=0
headers=0
for path in "$include"/d4r/*.h; do
    header=d4r/$(basename "$path")
    headers=$((headers + 1))
    printf '#include "%s"\n#include "%s"\nint main(void) { return d4r_version_string() == 0; }\n' "$header" "$header" \
        >"$work/use.c"
    cp "$work/use.c" "$work/use.cpp"
    for try in "gcc c11" "gcc c17" "clang-19 c11" "clang-19 c17" "g++ c++17" "clang++-19 c++17"; do
        compiler=${try% *} standard=${try#* }
        command -v "$compiler" >/dev/null || continue
        source=$work/use.c
        case $standard in c++*) source=$work/use.cpp ;; esac
        for define in -DD4R_STATIC -DVK_NO_PROTOTYPES; do
            "$compiler" -std="$standard" -fsyntax-only -Wall -Wextra -Wpedantic -Werror $define -I"$include" "$source" ||
                { echo "$header does not compile as $standard with $compiler"; exit 1; }
            tried=$((tried + 1))
        done
    done
done
echo "$headers headers, $tried compilations"
[ "$headers" -ge 3 ] && [ "$tried" -ge $((6 * headers)) ]
