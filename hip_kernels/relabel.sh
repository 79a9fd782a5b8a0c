#!/bin/sh
# relabel.sh FROM TO MACH FILE: turns a code object for FROM into one for TO, whose instruction set is the same and whose
# name is as long. MACH: TO's EF_AMDGPU_MACH value, hexadecimal without 0x (architectures.def).
set -eu
from=$1 to=$2 mach=$3 file=$4
LC_ALL=C sed -i "s/$from/$to/g" "$file"
# e_flags' low byte is at offset 48 of the ELF header.
printf "\\$(printf '%03o' "0x$mach")" | dd of="$file" bs=1 seek=48 conv=notrunc status=none
