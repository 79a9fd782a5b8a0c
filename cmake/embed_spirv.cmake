# Turns a SPIR-V file into a C array of 32-bit words (little endian).
file(READ ${INPUT} hex HEX)
file(SHA256 ${INPUT} hash)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "(..)(..)(..)(..)" "0x\\4\\3\\2\\1," words "${hex}")
string(REGEX REPLACE "((0x[0-9a-f]+,)(0x[0-9a-f]+,)?(0x[0-9a-f]+,)?(0x[0-9a-f]+,)?(0x[0-9a-f]+,)?(0x[0-9a-f]+,)?(0x[0-9a-f]+,)?)" "\\1\n" words "${words}")
file(WRITE ${OUTPUT} "/* Generated; SPIR-V SHA-256 ${hash}. */
#include <stddef.h>
#include <stdint.h>
extern const uint32_t ${NAME}[];
extern const size_t ${NAME}_size;
const uint32_t ${NAME}[] = {
${words}};
const size_t ${NAME}_size = ${size};
")
