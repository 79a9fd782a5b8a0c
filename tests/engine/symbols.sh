#!/bin/sh
# What the libraries export and need: exactly the public functions, no link to Vulkan or HIP.
set -eu
shared=$1 static=$2 include=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -D --defined-only "$shared" | awk '{ print $3 }' | sort >"$work/exported"
# "D4R_API type name(", also over several words: the last word before the parenthesis.
sed -n 's/^D4R_API [^(]*[ *]\(d4r_[a-z0-9_]*\)(.*/\1/p' "$include"/d4r/*.h | sort >"$work/declared"
if ! diff "$work/declared" "$work/exported"; then
    echo "the shared library does not export exactly what the headers declare"
    exit 1
fi
[ "$(wc -l <"$work/declared")" -ge 30 ]
if nm -g --defined-only "$static" 2>/dev/null | awk 'NF == 3 && $3 !~ /^d4r_/ { print $3; bad = 1 } END { exit !bad }'; then
    echo "the static library has global names without d4r_"
    exit 1
fi
# A host may own the loaders already: none of their names is referenced, so both are opened at run time only.
if nm -D --undefined-only "$shared" | awk '$NF ~ /^(vk|hip|cu)[A-Z]/ { print $NF; bad = 1 } END { exit !bad }'; then
    echo "the shared library refers to Vulkan or HIP functions"
    exit 1
fi
if readelf -d "$shared" | grep -E 'NEEDED.*(vulkan|hip|cuda)'; then
    echo "the shared library needs a GPU library"
    exit 1
fi
readelf -d "$shared" | grep -q 'SONAME.*\[libd4r\.so\.[0-9.]*\]' || { echo "no soname"; exit 1; }
