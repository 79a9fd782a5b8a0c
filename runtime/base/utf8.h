/* What is valid UTF-8, and JSON that is. */
#ifndef D4R_RUNTIME_BASE_UTF8_H
#define D4R_RUNTIME_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

static inline bool d4r_utf8_continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Bytes of the UTF-8 character at `text` (which ends with a zero byte); 0: not UTF-8 (also overlong forms, surrogates and
 * what is above U+10FFFF). */
static inline size_t d4r_utf8_length(const char *text)
{
    const unsigned char *t = (const unsigned char *)text;
    if (t[0] < 0x80) return 1;
    if (t[0] < 0xc2 || t[0] > 0xf4 || !d4r_utf8_continues(text[1])) return 0;
    if (t[0] < 0xe0) return 2;
    if (!d4r_utf8_continues(text[2])) return 0;
    if (t[0] < 0xf0) return (t[0] == 0xe0 && t[1] < 0xa0) || (t[0] == 0xed && t[1] > 0x9f) ? 0 : 3;
    if ((t[0] == 0xf0 && t[1] < 0x90) || (t[0] == 0xf4 && t[1] > 0x8f)) return 0;
    return d4r_utf8_continues(text[3]) ? 4 : 0;
}

/* A copy of a JSON text (malloc'ed; NULL: no memory) that is valid UTF-8: inside strings, the only place where such bytes can
 * be, a byte that is not UTF-8 becomes the four characters \xNN, as in messages. */
char *d4r_utf8_json(const char *json);

#endif
