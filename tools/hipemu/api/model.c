/* The serial throughput model and its one table of constants. */
#include "model.h"

#include <string.h>

/* Sources:
 *  - clock, compute units, memory rate: AMD's product pages (RX 9070 XT: 64 CU, 2.97 GHz boost, 640 GB/s;
 *    RX 7900 XTX: 96 CU, 2.5 GHz boost, 960 GB/s).
 *  - wave_rate: RX 9070 XT 3.8e11 wave instructions/s, measured by an earlier project on the card; it equals
 * 64 CU x 2 SIMD x 2.97 GHz. RX 7900 XTX: the same product, 96 x 2 x 2.5e9; not measured.
 *  - WMMA: it does not co-execute with VALU; FP8 on gfx12 8 cycles (7 beyond its own issue slot), f16 on
 * gfx11 32 (31 beyond). f16 on gfx12 16 cycles: half the rate of FP8 by the published peaks (97 and 195 T
 * MAC/s).
 *  - launch: about 5 microseconds a kernel.
 *  - LDS: one 32-lane pass of 4 bytes a lane (128 bytes) a clock and compute unit (AMD, RDNA white paper,
 * 2019: 128 bytes a clock for each half of the workgroup processor's LDS); conflicts are counted as passes.
 *  - L2: 64 bytes a clock and slice, lines of 128 bytes (AMD, RDNA white paper); L1 asks it for whole lines or for parts
 * (counter "GL2 Read 128B Requests" beside "GL2 Read Requests", ROCm Compute Profiler's documentation of RDNA 3.5).
 * So a request costs its 64-byte pieces. 24 slices on the RX 7900 XTX (6 MiB of 256 KiB).
 * RX 9070 XT: 16 slices of 512 KiB is an assumption, and so is the unchanged width of a slice: the weakest
 * figure here. */
static const hipemu_card cards[] = {
    {
        .name = "Radeon RX 9070 XT",
        .key = "9070xt",
        .cls = EMU_GFX12,
        .wave_rate = 3.8e11,
        .wmma_extra = 15,
        .wmma_fp8_extra = 7,
        .lds_rate = 64 * 2.97e9,
        .l2_rate = 16 * 64 * 2.97e9,
        .memory_rate = 640e9,
        .launch_seconds = 5e-6,
    },
    {
        .name = "Radeon RX 7900 XTX",
        .key = "7900xtx",
        .cls = EMU_GFX11,
        .wave_rate = 96 * 2 * 2.5e9,
        .wmma_extra = 31,
        .wmma_fp8_extra = 31, /* there are none on gfx11 */
        .lds_rate = 96 * 2.5e9,
        .l2_rate = 24 * 64 * 2.5e9,
        .memory_rate = 960e9,
        .launch_seconds = 5e-6,
    },
};

const hipemu_card *hipemu_card_at(size_t index)
{
    return index < sizeof cards / sizeof cards[0] ? &cards[index] : NULL;
}

const hipemu_card *hipemu_card_find(const char *key)
{
    for (size_t i = 0; hipemu_card_at(i); i++)
        if (strcmp(cards[i].key, key) == 0) return &cards[i];
    return NULL;
}

const hipemu_card *hipemu_card_for(const emu_arch *arch)
{
    return &cards[arch->cls == EMU_GFX12 ? 0 : 1];
}

const char *hipemu_bound_name(hipemu_bound bound)
{
    static const char *const names[HIPEMU_BOUND_COUNT] = {"issue", "lds", "l2", "memory"};
    return bound < HIPEMU_BOUND_COUNT ? names[bound] : "?";
}

/* Issue slots are serial; the other resources work beside them, so that the largest part is the time. L2 is charged with
 * every 64-byte piece that a global instruction touches, as if nothing ever hit a nearer cache, and with the bytes of
 * scratch accesses, which no two lanes share. */
hipemu_estimate hipemu_model_estimate(const hipemu_card *card, const emu_counters *counters,
                                      double memory_bytes)
{
    hipemu_estimate e = {.card = card};
    double fp8 = (double)counters->wmma[EMU_WMMA_FP8], others = 0;
    for (int kind = 0; kind < EMU_WMMA_KINDS; kind++)
        if (kind != EMU_WMMA_FP8) others += (double)counters->wmma[kind];
    double extra = others * card->wmma_extra + fp8 * card->wmma_fp8_extra;
    double bytes = 64.0 * (double)counters->cache_pieces + (double)counters->bytes_read[EMU_SPACE_SCRATCH] +
                   (double)counters->bytes_written[EMU_SPACE_SCRATCH];
    e.launch = (double)counters->launches * card->launch_seconds;
    e.wmma = (extra + others + fp8) / card->wave_rate;
    e.part[HIPEMU_BOUND_ISSUE] = ((double)counters->instructions + extra) / card->wave_rate;
    e.part[HIPEMU_BOUND_LDS] =
        (double)(counters->lds_accesses + counters->lds_conflict_cycles) / card->lds_rate;
    e.part[HIPEMU_BOUND_L2] = bytes / card->l2_rate;
    e.part[HIPEMU_BOUND_MEMORY] = memory_bytes / card->memory_rate;
    for (int i = 1; i < HIPEMU_BOUND_COUNT; i++)
        if (e.part[i] > e.part[e.bound]) e.bound = (hipemu_bound)i;
    e.seconds = e.launch + e.part[e.bound];
    return e;
}
