#!/bin/sh
# The installed package, used by a project outside the tree. Installs into a prefix, moves the prefix, builds the minimal
# example against it with CMake and with pkg-config, shared and static, and upscales with each; all pictures are equal.
#   test_package.sh BUILD SOURCE WORK VERSION
set -eu
build=$1 source=$2 work=$3 version=$4
here=$(cd "$(dirname "$0")" && pwd)
run=$source/tests/examples/run.sh
export CMAKE_GENERATOR=Ninja # what scripts/setup.sh installs; a machine may be without make
fail() { echo "test_package: $*"; exit 1; }
rm -rf "$work"
mkdir -p "$work"

cmake --install "$build" --prefix "$work/first" >"$work/install.log" || fail "cmake --install"
mv "$work/first" "$work/moved"
prefix=$work/moved
package=$(dirname "$(find "$prefix" -name d4r-config.cmake)")
pc=$(find "$prefix" -name d4r.pc)
[ -n "$pc" ] || fail "no d4r.pc"

# Everything is there, and nothing knows where it was built or first installed.
for header in "$source"/include/d4r/*.h; do
    cmp -s "$header" "$prefix/include/d4r/$(basename "$header")" || fail "$(basename "$header") is not installed"
done
[ -n "$(find "$prefix" -name LICENSE)" ] || fail "no licence"
for tool in "$prefix"/bin/*; do
    [ -f "$prefix/share/man/man1/$(basename "$tool").1" ] || fail "no manual page of $(basename "$tool")"
    "$tool" --version >"$work/text" || fail "$tool does not run from the moved prefix"
    grep -q "$version" "$work/text" || fail "$tool: another version"
done
if grep -rl "$work/first\|$build\|$source" "$package" "$pc"; then fail "these files hold an absolute path"; fi
for file in "$prefix"/bin/* "$prefix"/lib*/libd4r.so; do
    if readelf -d "$file" | grep -E 'R(UN)?PATH' | grep -v '\[\$ORIGIN'; then fail "$file: absolute run path"; fi
done
minor=${version%.*}
readelf -d "$prefix"/lib*/libd4r.so | grep -q "SONAME.*\[libd4r\.so\.$minor\]" || fail "soname is not libd4r.so.$minor"

# CMake.
mkdir "$work/consumer"
cp "$here/consumer/CMakeLists.txt" "$here/consumer/version.cpp" "$source/examples/minimal.c" "$source/examples/pattern.h" \
    "$work/consumer"
configure() { # build folder, wanted version
    cmake -S "$work/consumer" -B "$work/$1" -DCMAKE_PREFIX_PATH="$prefix" -DWANTED="$2" -DCMAKE_BUILD_TYPE=Release \
        >"$work/$1.log" 2>&1
}
configure cmake "$minor" || { cat "$work/cmake.log"; fail "find_package(d4r $minor)"; }
cmake --build "$work/cmake" >"$work/cmake.log" 2>&1 || { cat "$work/cmake.log"; fail "the consumer does not build"; }
while read -r folder; do
    case $folder in */kernels) continue ;; esac # optional
    [ -d "$folder" ] || fail "the CMake package names $folder, which does not exist"
done <"$work/cmake/folders"
if configure other 9.0; then fail "find_package(d4r 9.0) was satisfied by $version"; fi

# pkg-config. The static library is asked for by its file name, as the shared one lies beside it.
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$pc")
libdir=$(pkg-config --variable=libdir d4r)
[ "$(pkg-config --modversion d4r)" = "$version" ] || fail "pkg-config: another version"
model=$(pkg-config --variable=modelsdir d4r)/m
# shellcheck disable=SC2046
cc -std=c11 -O2 -o "$work/pc_shared" "$work/consumer/minimal.c" $(pkg-config --cflags --libs d4r vulkan) -lm \
    "-Wl,-rpath,$libdir" || fail "pkg-config, shared"
# shellcheck disable=SC2046
cc -std=c11 -O2 -o "$work/pc_static" "$work/consumer/minimal.c" $(pkg-config --static --cflags d4r) \
    $(pkg-config --static --libs d4r | sed 's/-ld4r\b/-l:libd4r.a/') -lvulkan || fail "pkg-config, static"
for kind in static; do
    for program in "$work/pc_$kind" "$work/cmake/with_$kind" "$work/cmake/cxx_$kind"; do
        if readelf -d "$program" | grep 'NEEDED.*d4r'; then fail "$program needs the shared library"; fi
    done
done

# All of them upscale, with validation, and agree with the tree's own.
"$build/bin/example_minimal" "$source/models/m" "$work/expected" 3 || fail "the tree's own example"
for program in "$work/cmake/with_shared" "$work/cmake/with_static" "$work/pc_shared" "$work/pc_static"; do
    code=0
    sh "$run" "$program" "$model" "$work/picture" 3 || code=$?
    [ $code -ne 77 ] || exit 77
    [ $code -eq 0 ] || fail "$program: exit code $code"
    cmp "$work/expected" "$work/picture" || fail "$program: another picture"
done
for program in "$work/cmake/cxx_shared" "$work/cmake/cxx_static"; do
    [ "$("$program")" = "$version" ] || fail "$program"
done
