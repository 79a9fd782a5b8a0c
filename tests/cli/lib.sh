# Shell test helpers: source with BIN (tools) and DATA (unpacked sequences) set; works in a fresh folder.
set -u
work=$(mktemp -d "${TMPDIR:-/tmp}/d4r-cli.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# expect CODE TEXT COMMAND...: exit code, and a text that must be in what it prints ("" for any).
expect() {
    code=$1
    text=$2
    shift 2
    "$@" >log 2>&1
    got=$?
    if [ "$got" -ne "$code" ]; then
        fail "exit code $got instead of $code: $*"
        sed 's/^/    /' log
    elif [ -n "$text" ] && ! grep -qF -e "$text" log; then
        fail "no '$text' in the messages of: $*"
        sed 's/^/    /' log
    else
        echo "ok ($code): $(grep -F -e "$text" log | head -n 1 | cut -c 1-200)"
    fi
    # Errors are told in one line each, with the tool's name.
    if [ "$code" -gt 1 ] && [ "$code" -ne 130 ] && ! grep -qE '^d4r-[a-z]+: error: ' log; then fail "no error line: $*"; fi
}

# Nothing of an output may exist, finished or not.
absent() {
    for path in "$@"; do
        for leftover in "$path" "$path".tmp*; do
            if [ -e "$leftover" ]; then fail "$leftover was left behind"; fi
        done
    done
}

# A writable copy of a sequence.
copy() {
    rm -rf "$2"
    cp -r "$DATA/$1" "$2"
    chmod -R u+w "$2"
}

# put FILE OFFSET BYTES(octal escapes): overwrites bytes.
put() {
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

finish() {
    if [ "$failures" -ne 0 ]; then echo "$failures failed"; exit 1; fi
    echo "all good"
    exit 0
}
