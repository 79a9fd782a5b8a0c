#!/bin/sh
# hipemu-run on the command line: results, exit statuses, messages that name what is wrong, nothing partial left.
# usage: run_test.sh HIPEMU_RUN CODE_FOLDER
set -u
run=$1
code=$2/plain-gfx1201-O2.hsaco
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

# expect STATUS TEXT command...: the exit status, and a text that its output must hold.
expect() {
    want=$1 text=$2
    shift 2
    "$@" >out.txt 2>&1
    got=$?
    if [ $got -ne "$want" ]; then
        echo "FAILED: $* : status $got, expected $want"
        cat out.txt
        failed=1
    elif ! grep -q -e "$text" out.txt && [ -n "$text" ]; then
        echo "FAILED: $* : no \"$text\" in:"
        cat out.txt
        failed=1
    fi
}

printf '\001\000\000\000\002\000\000\000\003\000\000\000\004\000\000\000' >in.bin
expect 0 "" "$run" "$code" scale_add --grid 1 --block 32 --arg in:in.bin --arg 'zeros:16>out.bin' --arg u32:4 --arg u32:10 --arg u32:5
printf '\017\000\000\000\031\000\000\000\043\000\000\000\055\000\000\000' >want.bin
cmp out.bin want.bin || failed=1

# .npy out, then in again; the header is NumPy's.
expect 0 "estimate (serial model, not a measurement)" "$run" "$code" scale_add --arg in:in.bin --arg 'zeros:16>out.npy:u32' --arg u32:4 --arg u32:1 --arg u32:0 --estimate --counts counts.json
[ "$(head -c 6 out.npy | od -An -tx1 | tr -d ' \n')" = 934e554d5059 ] || { echo "FAILED: no .npy"; failed=1; }
[ "$(wc -c <out.npy)" = 144 ] || { echo "FAILED: .npy size $(wc -c <out.npy)"; failed=1; }
grep -q "'descr': '<u4'" out.npy || { echo "FAILED: .npy type"; failed=1; }
grep -q '"instructions"' counts.json || { echo "FAILED: counts"; failed=1; }
expect 0 "" "$run" "$code" scale_add --arg in:out.npy --arg 'empty:16>again.bin' --arg u32:4 --arg u32:1 --arg u32:0 --check uninit
cmp again.bin in.bin || failed=1
# A structure by value, member by member.
expect 0 "" "$run" "$code" by_struct --arg in:in.bin --arg 'zeros:16>not.bin' --arg u32:4 --arg u32:0

expect 0 "usage: hipemu-run" "$run" --help
expect 2 "expected FILE.hsaco and KERNEL" "$run" "$code"
expect 2 "scale_add" "$run" "$code" nothing
expect 2 "argument bytes" "$run" "$code" scale_add --arg u32:1
expect 2 "grid" "$run" "$code" scale_add --grid 0
expect 2 "not a number" "$run" "$code" scale_add --arg u32:x
expect 2 "unknown kind" "$run" "$code" scale_add --arg ones:16
expect 2 "uninit" "$run" "$code" scale_add --check everything
expect 4 "in.bin" "$run" in.bin scale_add
expect 5 "absent.hsaco" "$run" absent.hsaco scale_add
expect 5 "absent.bin" "$run" "$code" scale_add --arg in:absent.bin
expect 6 "out_of_bounds" "$run" "$code" out_of_bounds --block 64 --arg 'zeros:256>never.bin' --arg u32:64
[ -e never.bin ] && { echo "FAILED: output of a faulted kernel"; failed=1; }
expect 6 "reads_memory" "$run" "$code" reads_memory --arg empty:128 --arg zeros:128 --check uninit
expect 6 "races" "$run" "$code" races --block 64 --arg zeros:256 --check race
expect 6 "" "$run" "$code" never_ends --arg zeros:4 --max-instructions 100000
expect 5 "cannot be written" "$run" "$code" reads_memory --arg in:in.bin --arg 'zeros:16>no/such/folder' --block 4
ls | grep -q tmp && { echo "FAILED: temporary files left"; failed=1; }
exit $failed
