# Turns a public header into a part of docs/api.md: see docs/api.sh. Comments become text, declarations stay C.

function flush_code(    i, title) {
    if (code == "") return
    title = ""
    for (i = 1; i <= names; i++) title = title (i > 1 ? ", " : "") "`" name[i] "`"
    if (title != "") print "\n#### " title
    if (text != "") print "\n" text
    print "\n```c\n" code "```"
    code = text = ""
    names = 0
}
# A comment that belongs to no declaration.
function flush_text() {
    if (text != "") print "\n" text
    text = ""
}
function add_name(declaration,    found) {
    found = ""
    if (match(declaration, /d4r_[a-z0-9_]+\(/)) found = substr(declaration, RSTART, RLENGTH - 1)
    if (declaration ~ /^typedef .*\(\*d4r_/ && match(declaration, /\(\*d4r_[a-z0-9_]+/)) found = substr(declaration, RSTART + 2, RLENGTH - 2)
    else if (match(declaration, /^typedef (struct|enum) d4r_[a-z0-9_]+/)) {
        found = substr(declaration, RSTART, RLENGTH)
        sub(/.* /, "", found)
    } else if (match(declaration, /^#define D4R_[A-Z0-9_]+/)) found = substr(declaration, RSTART + 8, RLENGTH - 8)
    if (found != "") name[++names] = found
}
function comment_line(line) {
    sub(/ *\*\/ *$/, "", line)
    sub(/^\/\* ?/, "", line)
    sub(/^ \* ?/, "", line)
    if (line !~ /^    /) gsub(/\*/, "\\*", line)
    return line
}
function end_comment() {
    if (comment ~ /^---- /) {
        flush_code()
        flush_text()
        gsub(/[-\n]+ *$/, "", comment)
        gsub(/-*\n.*/, "", comment)
        sub(/^---- /, "", comment)
        sub(/ *-*$/, "", comment)
        print "\n### " toupper(substr(comment, 1, 1)) substr(comment, 2)
    } else {
        flush_code()
        flush_text()
        sub(/\n+$/, "", comment)
        text = comment
    }
}
function finish_declaration(    flat) {
    flat = declaration
    gsub(/\n/, " ", flat)
    add_name(flat)
    sub(/^D4R_API /, "", declaration)
    code = code declaration
    declaration = ""
}

# The line without its comments; one may go on in the next line.
function without_comments(line,    kept, at) {
    kept = ""
    for (;;) {
        if (open_in_body) {
            at = index(line, "*/")
            if (!at) return kept
            line = substr(line, at + 2)
            open_in_body = 0
        }
        at = index(line, "/*")
        if (!at) return kept line
        kept = kept substr(line, 1, at - 1)
        line = substr(line, at + 2)
        open_in_body = 1
    }
}
function extend() {
    declaration = declaration $0 "\n"
    bare = without_comments($0)
    depth += gsub(/{/, "{", bare) - gsub(/}/, "}", bare)
    if (depth == 0 && bare ~ /; *$/ && !open_in_body) finish_declaration()
}

in_comment {
    comment = comment "\n" comment_line($0)
    if (/\*\//) { in_comment = 0; end_comment() }
    next
}
declaration == "" && /^\/\*/ {
    comment = comment_line($0)
    if (/\*\//) end_comment()
    else in_comment = 1
    next
}
declaration != "" { extend(); next }
/^#ifndef D4R_.*_H$/ { flush_text(); next } # after the header's own comment
/^#define D4R_[A-Z0-9_]*_H$/ || /^#define D4R_API/ { next }
/^#define/ { declaration = $0 "\n"; finish_declaration(); next }
/^#/ || /^extern "C"/ || /^}$/ { next }
/^ *$/ { flush_code(); next }
{ extend() }
END { flush_code(); flush_text() }
