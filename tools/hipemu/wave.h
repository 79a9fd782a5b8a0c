/* The state of waves, workgroups, workers and launches, and the internal form of instructions. Private. */
#ifndef HIPEMU_WAVE_H
#define HIPEMU_WAVE_H

#include "core.h"
#include "decode.h"

#include <pthread.h>

enum { EMU_LANES = 32, EMU_VGPRS = 256, EMU_SGPR_SINK = 128, EMU_SGPRS = 136 };

typedef struct emu_wave emu_wave;
typedef struct emu_op emu_op;
typedef void (*emu_fn)(emu_wave *w, const emu_op *op);

/* ------------------------------------------------------------------ internal form */

typedef enum emu_src_kind {
    EMU_SRC_VGPR,
    EMU_SRC_CONST, /* vector instructions: `row` holds the value in 32 lanes (64-bit: 32 low, 32 high words);
                      scalar ones: `value` */
    EMU_SRC_SGPR,
    EMU_SRC_SCC,
    EMU_SRC_OFF,
} emu_src_kind;

enum { EMU_MOD_NEG = 1, EMU_MOD_ABS = 2, EMU_MOD_HI = 4 };

typedef struct emu_src {
    union {
        const uint32_t *row;
        uint64_t value;
    };
    uint16_t reg;
    uint8_t kind; /* emu_src_kind */
    uint8_t mods; /* EMU_MOD_* */
} emu_src;

/* One instruction, everything resolved. A VOPD is three in a row: the pair, then its X and Y halves. */
struct emu_op {
    emu_fn fn;
    emu_fn inner; /* what a DPP form wraps */
    emu_src src[EMU_MAX_SRC];
    uint32_t pc; /* byte offset in the text */
    int32_t offset;
    uint32_t target; /* op index of a branch */
    uint32_t imm;    /* simm16; DPP16 control; DPP8 selectors; literal of s_setreg_imm32 */
    uint16_t row;
    uint16_t dst; /* VGPR, or SGPR (EMU_SGPR_SINK for null) */
    uint16_t sdst;
    uint8_t bytes;
    uint8_t precision; /* emu_precision */
    uint8_t flags;     /* EMU_OP_* */
    uint8_t omod;
    uint8_t op_sel, op_sel_hi, neg_lo, neg_hi;
    uint8_t cache;
    uint8_t space; /* emu_format of the memory segment */
    uint8_t offset0, offset1;
    uint8_t dpp;       /* emu_dpp */
    uint8_t dpp_masks; /* bank mask, row mask << 4 */
    uint8_t order;     /* VOPD: EMU_PAIR_* */
    bool dst_hi;
};

enum {
    EMU_OP_CLAMP = 1,
    EMU_OP_RETURNS = 2,
    EMU_OP_BOUND = 4,     /* DPP bound_ctrl */
    EMU_OP_INACTIVE = 8,  /* DPP fetch inactive */
    EMU_OP_COHERENT = 16, /* a scope beyond the compute unit: single-copy atomic accesses */
    EMU_OP_STRIDE64 = 32,
    EMU_OP_SADDR = 64,
    EMU_OP_CMPX = 128,
};

/* Order in which the halves of a VOPD may run so that both read before either writes. */
enum { EMU_PAIR_XY, EMU_PAIR_YX, EMU_PAIR_SAVE };

/* A module's text in internal form. */
typedef struct emu_code {
    emu_op *ops;
    size_t count;
    uint32_t *index; /* op index of each word of the text, UINT32_MAX where no instruction starts */
    size_t words;
    uint32_t (*constants)[EMU_LANES];
    size_t constant_count;
} emu_code;

/* ------------------------------------------------------------------ execution state */

typedef enum emu_stop {
    EMU_RUNNING,
    EMU_STOP_END,
    EMU_STOP_BARRIER,
    EMU_STOP_FAULT,
    EMU_STOP_SLICE, /* its share of instructions is used up */
} emu_stop;

typedef struct emu_range {
    uintptr_t lo, hi; /* [lo, hi) */
    uint8_t *shadow;  /* written bytes, or NULL */
    bool read_only;
} emu_range;

enum { EMU_RANGE_CACHE = 4 };

typedef struct emu_run emu_run;
typedef struct emu_group emu_group;

/* What one thread owns while it works on a launch. */
typedef struct emu_worker {
    emu_run *run;
    uint64_t *counts;      /* executions of each op */
    emu_counters counters; /* bytes, conflicts, waves: what counts[] does not give */
    emu_wave *waves;
    size_t wave_capacity;
    uint8_t *lds, *lds_written;
    struct emu_lds_cell *lds_cells;
    size_t lds_capacity;
    uint8_t *scratch;
    size_t scratch_capacity;
    uint32_t epoch; /* of lds_cells: never repeats, so that cells need no clearing */
    emu_range ranges[EMU_RANGE_CACHE];
    unsigned next_range;
    uint64_t generation; /* of the memory map when ranges[] was filled */
} emu_worker;

/* Who touched an LDS byte since the last barrier. */
typedef struct emu_lds_cell {
    uint32_t epoch;
    int16_t writer;   /* wave, -1: none */
    bool atomic;      /* the write was an atomic */
    uint32_t readers; /* waves, as a bit mask */
} emu_lds_cell;

struct emu_group {
    emu_run *run;
    emu_worker *worker;
    uint8_t *lds, *lds_written;
    emu_lds_cell *lds_cells;
    uint32_t lds_size;
    uint32_t epoch;
    uint32_t id[3];
    uint32_t wave_count;
    uint32_t signalled;  /* gfx12 split barrier: waves that have signalled */
    uint32_t generation; /* completed barriers */
};

struct emu_wave {
    _Alignas(64) uint32_t vgpr[EMU_VGPRS][EMU_LANES];
    uint32_t broadcast[2 * EMU_MAX_SRC][EMU_LANES]; /* scalars spread over the lanes, by source */
    uint32_t modified[2 * EMU_MAX_SRC][EMU_LANES];  /* sources with neg or abs applied */
    uint32_t saved[4][EMU_LANES];                   /* VOPD, DPP */
    uint32_t lane_mask[EMU_LANES];                  /* EXEC, one word a lane */
    uint32_t sgpr[EMU_SGPRS];
    uint32_t exec; /* equals sgpr[EXEC] */
    bool scc;
    bool special_mode; /* MODE is not the default: see set_mode */
    bool clamp_nan;    /* DX10_CLAMP: a clamped NaN is 0 */
    bool ieee;
    uint32_t mode;                 /* MODE register */
    uint32_t pc;                   /* op index of the next instruction */
    uint32_t stop;                 /* emu_stop */
    uint32_t index;                /* within the workgroup */
    uint32_t barrier_target;       /* gfx12: the barrier generation waited for */
    uint32_t signalled_generation; /* gfx12: generation + 1 at this wave's last signal */
    uint64_t executed;
    uint8_t *scratch; /* bytes a lane * 32, lane major */
    uint32_t scratch_size;
    emu_group *group;
    emu_worker *worker;
    const emu_code *code;
};

/* A launch in progress. */
struct emu_run {
    const emu_launch_params *params;
    const emu_kernel *kernel;
    const emu_code *code;
    emu_memory *memory;
    emu_range local[3]; /* kernarg, module image, dispatch packet */
    const uint8_t *kernarg;
    const uint8_t *dispatch; /* the AQL packet */
    bool gfx12;
    bool check_uninitialised, check_races;
    uint32_t group_items, wave_count, lds_size, scratch_size;
    uint64_t group_count;
    atomic_uint_fast64_t next_group;
    atomic_bool stop;
    unsigned active;      /* workers inside, guarded by the pool's lock */
    pthread_mutex_t lock; /* fault, totals */
    emu_fault fault;
    emu_status status;
    uint64_t *counts;
    emu_counters counters;
};

/* MODE: bits 1:0 round f32, 3:2 round f16/f64 (0 even, 1 up, 2 down, 3 to zero); 5:4 denormals f32,
 * 7:6 f16/f64 (bit 0: keep inputs, bit 1: keep outputs). */
enum {
    EMU_MODE_DEFAULT = 0xf0,
    EMU_MODE_FP = 0xff,
    EMU_MODE_DX10_CLAMP = 1 << 8,
    EMU_MODE_IEEE = 1 << 9,
    EMU_MODE_FP16_OVFL = 1 << 23
};

/* ------------------------------------------------------------------ between the files */

/* launch.c */
void emu_raise(emu_wave *w, const emu_op *op, emu_fault_kind kind, unsigned lane, uint64_t address,
               uint32_t bytes, bool is_store);
void emu_set_mode(emu_wave *w, uint32_t mode);
uint64_t emu_hwreg_read(const emu_wave *w, unsigned id);

/* memory.c */
uint64_t emu_memory_generation(emu_memory *memory);
/* The range that holds [address, address + size); false when there is none. */
bool emu_memory_range(emu_memory *memory, uintptr_t address, size_t size, emu_range *range);
/* Describes where an address lies: in, before, after or formerly an allocation. */
void emu_memory_describe(emu_memory *memory, uintptr_t address, char *text, size_t size);

/* launch.c: as emu_memory_range, through the worker's cache and with the launch's own ranges; NULL: none. */
const emu_range *emu_worker_range(emu_worker *worker, uintptr_t address, size_t size);

/* translate.c */
emu_status emu_translate(emu_class cls, const uint32_t *text, size_t words, const uint32_t *starts,
                         size_t start_count, emu_code *code);
void emu_code_free(emu_code *code);

/* exec_run.c: one set of functions for each instruction-set level of the host; see levels.h. */
typedef void (*emu_run_fn)(emu_wave *w, uint64_t limit);
typedef struct emu_level {
    const char *name;
    emu_run_fn run;
    const emu_fn *handlers; /* by row */
    emu_fn dpp, pair;
} emu_level;
const emu_level *emu_level_get(void); /* the best this processor has; HIPEMU_LEVEL overrides downwards */

/* module.c */
const emu_code *emu_module_code(const emu_module *module);
emu_range emu_module_range(const emu_module *module);
const uint8_t *emu_kernel_descriptor(const emu_kernel *kernel);
uintptr_t emu_module_text_address(const emu_module *module);

/* disasm_llvm.c: the text of a word the tables do not know, if LLVM is on this machine; else the hex word. */
void emu_unknown_text(const emu_arch *arch, const uint32_t *words, size_t count, char *text, size_t size);

#endif
