# For the tests of the examples: sh test_X.sh BIN WORK MODEL ...
set -eu
bin=$1 work=$2 model=$3
run=$(dirname "$0")/run.sh
rm -rf "$work"
mkdir -p "$work"
fail() { echo "$*"; exit 1; }
# Runs with validation; output to $work/text and shown. 77 is passed on.
example() {
    code=0
    sh "$run" "$@" >"$work/text" 2>&1 || code=$?
    cat "$work/text"
    [ $code -ne 77 ] || exit 77
    return $code
}
# number TEXT: the first number after TEXT in the output
number() { sed -n "s/.*$1 *\([-0-9.]*\).*/\1/p" "$work/text" | head -n 1; }
# at_least VALUE BOUND WHAT
at_least() {
    awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 >= b + 0) }' || fail "$3: $1 is below $2"
}
