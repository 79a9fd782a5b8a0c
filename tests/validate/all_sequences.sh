#!/bin/sh
# No false alarm on any sequence: those of $D4R_SEQUENCES (a folder of archives NAME.tar.xz, each with a folder NAME) and
# d4r-scene's, at several sizes and speeds. Minutes on a CPU device: only with D4R_LONG_TESTS=1.
set -eu
report=$1 scene=$2
if [ "${D4R_LONG_TESTS:-0}" != 1 ]; then
    echo "skipped: D4R_LONG_TESTS is not 1"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for archive in "${D4R_SEQUENCES:-$work/none}"/*.tar.xz; do
    [ -e "$archive" ] && tar -xJf "$archive" -C "$work"
done
make() {
    "$scene" --quiet --reference-from 99 "$@"
}
make --scene street --frames 10 "$work/street"
make --scene street --seed 2 --start 5 --fps 60 --frames 10 "$work/street_60"
make --scene street --seed 3 --start 2 --fps 12 --frames 10 --render 240x136 "$work/street_12"
make --scene gallery --frames 10 "$work/gallery"
make --scene gallery --seed 2 --start 7 --fps 60 --frames 10 --render 480x270 "$work/gallery_60"
make --scene gallery --seed 3 --start 3 --fps 10 --frames 10 "$work/gallery_10"
make --scene chart --frames 10 "$work/chart"
make --scene chart --seed 2 --frames 10 --render 214x120 "$work/chart_3x"
"$report" "$work"/*
