/* libFuzzer target: the decoder and the printer on arbitrary words. The first byte picks the architecture class. */
#include "decode.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_operand(const emu_operand *o)
{
    if (o->kind == EMU_O_VGPR && o->reg + o->dwords > 256) abort();
    if (o->kind == EMU_O_SGPR && o->reg != EMU_S_NULL && o->reg + o->dwords > 128) abort();
}

static void check(const emu_inst *inst)
{
    if (inst->row < 0) return;
    if ((size_t)inst->row >= emu_isa_count()) abort();
    for (unsigned i = 0; i < inst->src_count; i++) check_operand(&inst->src[i]);
    for (unsigned i = 0; i < inst->dst_count; i++) check_operand(&inst->dst[i]);
    check_operand(&inst->saddr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const emu_class classes[3] = {EMU_GFX11, EMU_GFX11_5, EMU_GFX12};
    if (size < 5) return 0;
    emu_class cls = classes[data[0] % 3];
    size_t count = (size - 1) / 4;
    uint32_t words[64];
    if (count > 64) count = 64;
    memcpy(words, data + 1, count * 4);
    for (size_t at = 0; at < count;) {
        emu_inst inst, second;
        char text[200];
        unsigned used = emu_decode(cls, words + at, count - at, &inst, &second);
        if (!used || used > count - at || used > 4) abort();
        check(&inst);
        check(&second);
        emu_print(cls, &inst, &second, text, sizeof(text));
        if (strlen(text) >= sizeof(text)) abort();
        at += used;
    }
    return 0;
}
