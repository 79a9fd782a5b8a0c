#!/bin/sh
# Every option that a tool's --help names is in its manual page as a reader sees it, and the other way round.
#   test_man.sh BUILD
set -eu
build=$1
fail() { echo "test_man: $*"; exit 1; }
command -v groff >/dev/null || { echo "no groff"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
options() { grep -oE -- '(^|[^-A-Za-z0-9])--?[a-z][-a-z0-9]*' "$1" | grep -oE -- '--?[a-z].*' | grep -vxE -- '--(help|version)' | sort -u; }
count=0
for page in "$build"/man/man1/*.1; do
    name=$(basename "$page" .1)
    "$build/bin/$name" --help >"$work/help" || fail "$name --help"
    "$build/bin/$name" --version >/dev/null || fail "$name --version"
    groff -man -ww -Tascii -P-bcou -rHY=0 -rLL=200n "$page" >"$work/page" 2>"$work/warnings" || fail "$name: groff"
    [ ! -s "$work/warnings" ] || { cat "$work/warnings"; fail "$name: warnings"; }
    options "$work/help" >"$work/in_help"
    options "$work/page" >"$work/in_page"
    diff "$work/in_help" "$work/in_page" || fail "$name: options of --help (<) and of the manual page (>) differ"
    for text in NAME SYNOPSIS DESCRIPTION OPTIONS 'EXIT STATUS' 'SEE ALSO' -h--help; do
        case $text in -h*) text=--help ;; esac
        grep -q -- "$text" "$work/page" || fail "$name: no $text"
    done
    # Nothing is lost on the way: every word of the help text is in the page.
    tr -cs 'A-Za-z0-9' '\n' <"$work/help" | grep -vx 'Usage\|Exit\|codes\|Environment' | sort -u >"$work/a"
    tr -cs 'A-Za-z0-9' '\n' <"$work/page" | sort -u >"$work/b"
    lost=$(comm -23 "$work/a" "$work/b" | tr '\n' ' ')
    [ -z "$lost" ] || fail "$name: these words of --help are not in the page: $lost"
    count=$((count + 1))
done
[ $count -ge 9 ] || fail "only $count pages"
echo "$count pages"
