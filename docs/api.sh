#!/bin/sh
# Writes the API page from the public headers, which hold its every word:
#   docs/api.sh >docs/api.md
set -eu
cd "$(dirname "$0")/.."
LC_ALL=C
export LC_ALL
echo "# API"
echo
echo "Made from the headers by \`docs/api.sh\`; a test compares. The headers' own words, which also say what is thread safe."
echo
echo "| header | what | SHA-256 |"
echo "|---|---|---|"
headers=$(ls include/d4r/*.h)
for header in $headers; do
    what=$(sed -n '1s/^\/\* *\(.*\)$/\1/p' "$header" | sed 's/^d4r[,:] *//')
    echo "| [${header#include/}](#$(basename "$header" | tr -cd 'a-z0-9_')) | $what | \`$(sha256sum "$header" | cut -c 1-16)\` |"
done
for header in $headers; do
    echo
    echo "## $(basename "$header")"
    awk -f docs/api.awk "$header"
done
