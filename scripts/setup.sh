#!/usr/bin/env bash
# Installs what d4r needs from Debian 12, at the upstream versions that it is tested with.
#
#   scripts/setup.sh build     enough to build the library and the command line tools, and to run the demo
#   scripts/setup.sh test      the same, and what the tests need
#   scripts/setup.sh --list    print the packages and versions
set -euo pipefail

# package=upstream version: a Debian revision (security update) may differ, an upstream version may not.
build_packages=(
    gcc=4:12.2.0 cmake=3.25.1 ninja-build=1.11.1 pkg-config=1.8.1
    glslang-tools=12.0.0            # GLSL to SPIR-V
    libvulkan-dev=1.3.239.0         # Vulkan headers
    libvulkan1=1.3.239.0            # Vulkan loader, opened at run time
    libvulkan-volk-dev=1.3.239.0    # device function tables
    mesa-vulkan-drivers=22.3.6      # lavapipe, the Vulkan device of machines without a GPU; RADV
    libopenexr-dev=3.1.5            # OpenEXR C core
    libpng-dev=1.6.39 zlib1g-dev=1:1.2.13
    libcjson-dev=1.7.15             # JSON
    nettle-dev=3.8.1                # SHA-256
    libdrm-dev=2.4.114              # PCI address of a render node
)
test_packages=(
    libcmocka-dev=1.1.5
    vulkan-validationlayers=1.3.239.0
    clang-19=1:19.1.7 lld-19=1:19.1.7 llvm-19-dev=1:19.1.7 libclang-rt-19-dev=1:19.1.7
    libmsgpack-dev=4.0.0            # code object metadata (emulated device)
    libelf-dev=0.188
    libamdhip64-5=5.2.3             # a HIP runtime that finds no device: error paths
    g++=4:12.2.0                    # the public headers compile as C++ too
    libglfw3-dev=3.3.8              # window of the interactive example
    xvfb=2:21.1.7                   # a display for it on machines without one
    groff-base=1.22.4               # reads the manual pages in their test
    python3 python3-numpy=1:1.24.2  # second opinion on the network and the metrics
    python3-torch=1.13.1            # a few training steps on the CPU, clips of the generator
    xz-utils
)

fail() { echo "setup: $*" >&2; exit 1; }

case "${1:-test}" in
build) packages=("${build_packages[@]}") ;;
test) packages=("${build_packages[@]}" "${test_packages[@]}") ;;
--list) printf '%s\n' "${build_packages[@]}" "${test_packages[@]}"; exit 0 ;;
*) echo "usage: scripts/setup.sh [build|test|--list]" >&2; exit 2 ;;
esac

missing=()
for entry in "${packages[@]}"; do
    name=${entry%%=*}
    have=$(dpkg-query -W -f '${db:Status-Abbrev}${Version}' "$name" 2>/dev/null || true)
    case "$entry" in
    *=*) want=${entry#*=}
        case "$have" in "ii $want"*) continue ;; esac
        missing+=("$name=$want*") ;;
    *)  case "$have" in ii*) continue ;; esac
        missing+=("$name") ;;
    esac
done
[ ${#missing[@]} -eq 0 ] && exit 0

command -v apt-get >/dev/null || fail "apt-get not found: these scripts set up Debian 12; elsewhere install the packages of scripts/setup.sh --list by hand"
sudo=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "need root or sudo to install: ${missing[*]}"
    sudo=sudo
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq || fail "apt-get update failed: no network?"
$sudo apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
    fail "apt-get could not install ${missing[*]}: is this Debian 12 (bookworm)?"
