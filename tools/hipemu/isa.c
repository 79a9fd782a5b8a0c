/* Builds the instruction tables from the .def files. */
#include "isa.h"

#include <pthread.h>
#include <string.h>

typedef struct source_row {
    emu_format format;
    int op11, op12;
    const char *name;
    const char *operands;
    emu_count count;
} source_row;

#define F115 EMU_OPCODE_11_5
#define ROW(format, op11, op12, name, operands, handler, count) \
    {EMU_FMT_##format, op11, op12, #name, operands, EMU_COUNT_##count},
static const source_row source[] = {
#include "isa_all.def"
};
#undef ROW

enum { ROW_COUNT = sizeof(source) / sizeof(source[0]), OPCODES = 1024, CLASSES = 3 };

static emu_row rows[ROW_COUNT];
static int16_t by_opcode[CLASSES][EMU_FORMATS][OPCODES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct {
    char name[5];
    uint8_t type;
} type_names[] = {
    {"b16", EMU_T_B16},   {"i16", EMU_T_B16},   {"u16", EMU_T_B16},  {"f16", EMU_T_F16}, {"bf", EMU_T_BF16},
    {"b32", EMU_T_B32},   {"i32", EMU_T_B32},   {"u32", EMU_T_B32},  {"f32", EMU_T_F32}, {"b64", EMU_T_B64},
    {"i64", EMU_T_I64},   {"u64", EMU_T_B64},   {"f64", EMU_T_F64},  {"b96", EMU_T_B96}, {"b128", EMU_T_B128},
    {"b256", EMU_T_B256}, {"b512", EMU_T_B512}, {"p16", EMU_T_PK16}, {"pb", EMU_T_PKB},  {"pi", EMU_T_PKI},
    {"m", EMU_T_MASK},    {"s", EMU_T_SGPR},    {"a", EMU_T_ADDR},
};

static emu_type parse_type(const char *text, size_t length)
{
    for (size_t i = 0; i < sizeof(type_names) / sizeof(type_names[0]); i++) {
        if (strlen(type_names[i].name) == length && memcmp(type_names[i].name, text, length) == 0) {
            return type_names[i].type;
        }
    }
    return EMU_T_NONE;
}

/* "f32,m=f32,f32": destinations, sources. */
static void parse_operands(emu_row *row, const char *text)
{
    bool sources = false;
    while (*text) {
        size_t length = strcspn(text, ",=");
        if (length) {
            uint8_t type = (uint8_t)parse_type(text, length);
            if (sources) {
                row->src[row->src_count++] = type;
            } else {
                row->dst[row->dst_count++] = type;
            }
        }
        text += length;
        if (*text == '=') sources = true;
        if (*text) text++;
    }
}

static emu_precision precision_of(const emu_row *row)
{
    /* f16 handlers apply MODE themselves; matrix, FP8 and transcendental ones have no say in it. */
    if (row->count == EMU_COUNT_WMMA || row->count == EMU_COUNT_VALU_TRANS) return EMU_PRECISION_EXACT;
    if (strstr(row->name, "fp8") || strstr(row->name, "bf8") || strstr(row->name, "bf16"))
        return EMU_PRECISION_EXACT;
    if (strcmp(row->name, "v_cvt_f32_f64") == 0) return EMU_PRECISION_32;
    if (strstr(row->name, "f64")) return EMU_PRECISION_16_64;
    if (strstr(row->name, "fma_mix") || strstr(row->name, "dot2_f32")) return EMU_PRECISION_32;
    if (strstr(row->name, "f16")) return EMU_PRECISION_EXACT;
    return EMU_PRECISION_32;
}

static void enter(emu_class cls, int format, int opcode, size_t row)
{
    if (opcode >= 0 && opcode < OPCODES) by_opcode[cls][format][opcode] = (int16_t)row;
}

static void build(void)
{
    memset(by_opcode, 0xff, sizeof(by_opcode));
    for (size_t i = 0; i < ROW_COUNT; i++) {
        emu_row *row = &rows[i];
        row->name = source[i].name;
        row->op11 = (int16_t)source[i].op11;
        row->op12 = (int16_t)source[i].op12;
        row->format = (uint8_t)source[i].format;
        row->count = (uint8_t)source[i].count;
        parse_operands(row, source[i].operands);
        row->precision = (uint8_t)precision_of(row);
        row->stride64 = strstr(row->name, "stride64") != NULL;
        row->cmpx = strncmp(row->name, "v_cmpx", 6) == 0;
        row->accumulates = strstr(row->name, "fmac") || strstr(row->name, "dot2acc");
        if (row->op11 >= 0) {
            if (!(row->op11 & EMU_OPCODE_11_5)) enter(EMU_GFX11, row->format, row->op11, i);
            enter(EMU_GFX11_5, row->format, row->op11 & ~EMU_OPCODE_11_5, i);
        }
        enter(EMU_GFX12, row->format, row->op12, i);
    }
}

size_t emu_isa_count(void)
{
    return ROW_COUNT;
}

const emu_row *emu_isa_row(size_t index)
{
    pthread_once(&once, build);
    return index < ROW_COUNT ? &rows[index] : NULL;
}

int emu_isa_find(emu_class cls, emu_format format, unsigned opcode)
{
    pthread_once(&once, build);
    return opcode < OPCODES ? by_opcode[cls][format][opcode] : -1;
}

unsigned emu_type_dwords(emu_type type)
{
    switch (type) {
    case EMU_T_NONE:
    case EMU_T_ADDR:
        return 0;
    case EMU_T_B64:
    case EMU_T_I64:
    case EMU_T_F64:
        return 2;
    case EMU_T_B96:
        return 3;
    case EMU_T_B128:
        return 4;
    case EMU_T_B256:
        return 8;
    case EMU_T_B512:
        return 16;
    default:
        return 1;
    }
}
