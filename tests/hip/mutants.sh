#!/bin/sh
# Removes each wait, event, watchdog and barrier of mutants.txt from the sources, one at a time, and sees that the test
# named there fails without it (and passes with it).
#
#   mutants.sh check SOURCE           every text is in its file exactly once, and docs/hip.md lists every mutant (fast)
#   mutants.sh run SOURCE BUILD [N]   builds and runs them all, or the N-th; BUILD was made by Ninja
set -u
mode=$1 source=$2 build=${3:-} only=${4:-}
if [ "$mode" = run ] && [ "${D4R_LONG_TESTS:-}" != 1 ]; then
    echo "skipped: takes minutes (D4R_LONG_TESTS=1)"
    exit 77
fi
here=$(dirname "$0")
work=$(mktemp -d "${TMPDIR:-/tmp}/d4r-mutants.XXXXXX")
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# mutate FILE FROM TO: the changed file on standard output; fails unless FROM fits exactly once.
mutate() {
    FROM=$2 TO=$3 perl -0777 -e '
        my $text = <STDIN>;
        my $pattern = join "\\s*", map { quotemeta } grep { length } split /\s+|(?<=[(){};,])|(?=[(){};,])/, $ENV{FROM};
        my $count = () = $text =~ /$pattern/g;
        exit 1 if $count != 1;
        $text =~ s/$pattern/$ENV{TO}/;
        print $text;' <"$1"
}

# The command that makes one output, without -Werror: what a mutant leaves unused is no fault.
command_for() { (cd "$build" && ninja -t commands -s "$1") | sed 's/ -Werror / /g'; }

object_of() { # source file: the object in the library
    case $1 in
    interop/*) echo "interop/CMakeFiles/d4r_interop.dir/${1#interop/}.o" ;;
    hip_kernels/*) echo "hip_kernels/CMakeFiles/d4r_kernels.dir/${1#hip_kernels/}.o" ;;
    runtime/*) echo "runtime/CMakeFiles/d4r_runtime.dir/${1#runtime/}.o" ;;
    esac
}

runs() { # program test: its exit status; a minute is a hang
    VK_LAYER_ENABLES=VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT timeout 60 "$1" "$2" >"$work/log" 2>&1
}

run_mutant() {
    object=$(object_of "$file")
    mutate "$source/$file" "$from" "$to" >"$work/mutant.c" || return
    compile=$(command_for "$object" | sed "s# -MD -MT [^ ]* -MF [^ ]* # #; s# -o [^ ]* -c [^ ]*# -o $work/mutant.o -c $work/mutant.c#")
    (cd "$build" && eval "$compile") >"$work/log" 2>&1 || { cat "$work/log"; fail "$name: does not compile"; return; }
    # In front of the library, whose own object is then not taken.
    link=$(command_for "bin/$program" | sed "s# -o bin/$program # -o $work/program $work/mutant.o #")
    (cd "$build" && eval "$link") >"$work/log" 2>&1 || { cat "$work/log"; fail "$name: does not link"; return; }
    begin=$(date +%s)
    runs "$work/program" "$test"
    code=$?
    took=$(($(date +%s) - begin))
    if [ $code -eq 0 ]; then fail "$name: $program $test passes without it"; fi
    if [ $code -eq 77 ]; then fail "$name: $program $test was skipped"; fi
    line=$(sed -n 's#.*/\(tests/[^ ]*:[0-9]*\): error.*#\1#p' "$work/log" | head -n 1)
    echo "$number. $name: $program $test fails (status $code, $took s) $line"
}

# Parses mutants.txt into name, file, from, to, program, test and calls $1 for each.
each() {
    number=0
    while IFS= read -r name <&3; do
        case $name in '' | '#'*) continue ;; esac
        IFS= read -r change <&3
        IFS= read -r where <&3
        file=${change%%:*} file=${file##* }
        change=${change#*: }
        from=${change%% =>*} to=${change#* =>}
        program=$(echo $where | cut -d ' ' -f 1) test=$(echo $where | cut -d ' ' -f 2)
        number=$((number + 1))
        if [ -n "$only" ] && [ "$only" -ne $number ]; then continue; fi
        "$1"
    done 3<"$here/mutants.txt"
}

check_mutant() {
    mutate "$source/$file" "$from" "$to" >/dev/null || fail "$name: its text is not in $file exactly once"
    [ -n "$(object_of "$file")" ] || fail "$name: $file is of no known library"
    grep -rqE "cmocka_unit_test\($test\)" "$source/tests/hip" "$source/tests/engine" || fail "$name: there is no test $test"
    grep -qF -- "| $name | \`$program $test\` |" "$source/docs/hip.md" || fail "$name: docs/hip.md does not list it"
}

each check_mutant
if [ "$mode" = run ]; then
    # Without a mutation each of the tests passes.
    sed -n 's/^  \(test_[a-z_]* [a-z_]*\)$/\1/p' "$here/mutants.txt" | sort -u >"$work/tests"
    while read -r program test; do
        [ -n "$only" ] || runs "$build/bin/$program" "$test" || fail "$program $test fails without a mutation"
    done <"$work/tests"
    each run_mutant
fi
if [ $failures -ne 0 ]; then echo "$failures failed"; exit 1; fi
echo "$number mutants: all good"
