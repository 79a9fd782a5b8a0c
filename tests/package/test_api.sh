#!/bin/sh
# docs/api.md is what docs/api.sh makes of the headers, and has every public function, type and constant.
#   test_api.sh SOURCE
set -eu
cd "$1"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
docs/api.sh >"$work/api.md"
diff docs/api.md "$work/api.md" || { echo "docs/api.md is not up to date: run docs/api.sh >docs/api.md"; exit 1; }
{
    sed -n 's/^D4R_API [^(]*[ *]\(d4r_[a-z0-9_]*\)(.*/\1/p' include/d4r/*.h
    sed -n 's/^} \(d4r_[a-z0-9_]*\);.*/\1/p; s/^typedef struct \(d4r_[a-z0-9_]*\) d4r.*;.*/\1/p' include/d4r/*.h
    sed -n 's/^#define \(D4R_[A-Z0-9_]*\) .*/\1/p' include/d4r/*.h | grep -vx 'D4R_API'
} | sort -u >"$work/public"
while read -r name; do
    grep -q "^#### .*\`$name\`" docs/api.md || { echo "$name is not in docs/api.md"; exit 1; }
done <"$work/public"
echo "$(wc -l <"$work/public") names"
[ "$(wc -l <"$work/public")" -ge 90 ]
