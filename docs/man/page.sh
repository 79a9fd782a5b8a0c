#!/bin/sh
# page.sh AWK TOOL WHAT VERSION SEE OUT: writes the manual page of a tool.
set -eu
"$2" --help >"$6.help"
"$1" -v name="$(basename "$2")" -v what="$3" -v version="$4" -v see="$5" -f "$(dirname "$0")/page.awk" "$6.help" >"$6.new"
rm "$6.help"
mv "$6.new" "$6"
