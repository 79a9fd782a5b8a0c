# Makes the manual page of a tool from the text that its --help prints:
#   TOOL --help | awk -v name=d4r-m -v what="upscale a frame sequence" -v version=0.1.0 -f page.awk
# Two kinds of help text exist: one that begins with "Usage:" and one that has the sections of a manual page already.

function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    gsub(/`/, "\\(ga", text)
    if (text ~ /^\./) text = "\\&" text
    return text
}
function section(title) {
    if (title == current) return
    current = title
    print ".SH " title
}
function indent(line) { match(line, /^ */); return RLENGTH }

# "  --a X   --b  text": the leading pieces that belong to the option, and the rest, to term and text.
function split_option(line,    piece, n, i) {
    sub(/^ +/, "", line)
    n = split(line, piece, /   *|  +/)
    term = piece[1]
    for (i = 2; i <= n && piece[i] ~ /^--?[a-z]/; i++) term = term "  " piece[i]
    text = ""
    for (; i <= n; i++) text = text (text == "" ? "" : " ") piece[i]
}
function item(line) {
    if (line ~ /--help/) has_help = 1
    split_option(line)
    print ".TP\n.B " escape(term)
    if (text != "") print escape(text)
    open_item = 1
    item_indent = indent(line)
}

BEGIN {
    print ".\\\" Made from the tool's --help by docs/man/page.awk."
    print ".TH " toupper(name) " 1 \"\" \"d4r " version "\" \"d4r\""
    section("NAME")
}
/^NAME$/ { in_name = 1; next } # the help text's own words take precedence
in_name && /^ *$/ { next }
in_name && / - / { sub(/^.* - /, ""); what = $0; next }
!named && !/^ *$/ { print escape(name) " \\- " escape(what); named = 1; in_name = 0 }
/^Usage:/ {
    section("SYNOPSIS")
    sub(/^Usage: */, "")
    print ".nf\n" escape($0) "\n.fi"
    section("DESCRIPTION")
    next
}
/^[A-Z][A-Z ]+$/ {
    open_item = 0
    section($0)
    verbatim = $0 == "SYNOPSIS" || $0 == "EXAMPLES"
    if (verbatim) print ".nf"
    in_nf = verbatim
    next
}
verbatim && !/^$/ { sub(/^ +/, ""); print escape($0); next }
verbatim { print ".fi"; verbatim = in_nf = 0; next }
/^Exit codes:/ { open_item = 0; section("EXIT STATUS"); sub(/^Exit codes: */, ""); print escape($0); next }
/^Environment:/ { open_item = 0; section("ENVIRONMENT"); sub(/^Environment: */, ""); print escape($0); next }
(/^[A-Z].*:$/ && length($0) < 70) || /^  [a-z ]+:$/ {
    open_item = 0
    if (current != "OPTIONS") section("OPTIONS")
    sub(/^ +/, "")
    print ".SS \"" escape(substr($0, 1, length($0) - 1)) "\""
    next
}
/^ *$/ { open_item = 0; print ".PP"; next }
/^ +--?[a-zA-Z]/ { if (current == "DESCRIPTION") section("OPTIONS"); item($0); next }
/^ +[A-Z][A-Za-z, ]*  +[^ ]/ && indent($0) <= 4 { item($0); next }
/^ +[a-z][a-z]+  +[^ ]/ && indent($0) <= 4 { item($0); next }
/^    (pack|neutral|inspect|verify) [A-Z]/ { item($0); next }
/^  - / { open_item = 0; sub(/^  - /, ""); print ".IP \\(bu 2\n" escape($0); open_item = 1; item_indent = 2; next }
open_item && indent($0) > item_indent { sub(/^ +/, ""); print escape($0); next }
{
    if (open_item) print ".PP"
    open_item = 0
    sub(/^ +/, "")
    print escape($0)
}
END {
    if (in_nf) print ".fi"
    if (!has_help) print ".SH COMMON OPTIONS\n.TP\n.B \\-\\-help, \\-\\-version"
    section("SEE ALSO")
    print escape(see)
    print ".PP\nThe documentation in the d4r package's doc folder."
}
