/* Core of the emulated gfx11/gfx12 device: code objects, memory map, execution, counters.
 *
 * The layer above (the HIP API in libhipemu.so, hipemu-run) uses this header alone. The core knows no HIP
 * types, never prints, never aborts, and holds no global state that a caller can see.
 *
 * A device address is a host pointer: what a kernel loads is the host memory at that address, after the
 * address has been found in an emu_memory (the table of live allocations).
 *
 * Thread safety, unless stated otherwise: a module and its kernels are immutable once loaded and may be used
 * by any number of threads; an emu_memory and an emu_pool may be used by any number of threads at once;
 * destroying an object while another thread uses it is the caller's error.
 */
#ifndef HIPEMU_CORE_H
#define HIPEMU_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdatomic.h>

/* ------------------------------------------------------------------ status */

typedef enum emu_status {
    EMU_OK = 0,
    EMU_INVALID,     /* a bad argument of the caller (block too large, kernarg too small, ...) */
    EMU_NO_MEMORY,   /* a host allocation failed */
    EMU_MALFORMED,   /* not a code object, or one whose structure or metadata is broken */
    EMU_WRONG_ARCH,  /* a well-formed code object of another architecture */
    EMU_UNSUPPORTED, /* well-formed, but uses what the core does not have (wave64, an unknown note version) */
    EMU_FAULT,       /* a kernel faulted: see emu_fault */
    EMU_CANCELLED,   /* the cancel flag was raised */
} emu_status;

/* A status with one line of text that names what was wrong. Zeroed = no error. */
typedef struct emu_error {
    emu_status status;
    char text[256];
} emu_error;

const char *emu_status_name(emu_status status); /* "ok", "malformed code object", ... */

/* ------------------------------------------------------------------ architectures */

typedef enum emu_class { EMU_GFX11, EMU_GFX11_5, EMU_GFX12 } emu_class;

typedef struct emu_arch {
    const char *name; /* "gfx1201" */
    uint32_t mach;    /* EF_AMDGPU_MACH value in e_flags & 0xff */
    emu_class cls;
    /* Figures for occupancy, wave32. */
    uint32_t vgprs_per_lane; /* physical VGPRs of a SIMD, a lane: 1536 or 1024 */
    uint32_t vgpr_granule;   /* allocation granule: 24 or 16 */
    uint32_t waves_per_simd; /* 16 */
    uint32_t lds_per_wgp;    /* 131072 bytes, shared by the four SIMDs of a workgroup processor */
    /* Typical boards, for device attributes; properties of the largest product with this architecture. */
    uint32_t compute_units;
    const char *product; /* "AMD Radeon RX 9070 XT" */
} emu_arch;

/* By name ("gfx1201"; anything after ':' is ignored) or by e_flags; NULL when unknown. */
const emu_arch *emu_arch_find(const char *name);
const emu_arch *emu_arch_from_flags(uint32_t e_flags);
/* All ten in order; NULL past the end. */
const emu_arch *emu_arch_at(size_t index);

/* ------------------------------------------------------------------ code objects */

typedef enum emu_arg_kind {
    EMU_ARG_BY_VALUE,
    EMU_ARG_GLOBAL_BUFFER,  /* a pointer into global memory */
    EMU_ARG_DYNAMIC_SHARED, /* a pointer into LDS */
    EMU_ARG_HIDDEN,         /* filled by emu_launch: block counts, group sizes, remainders, offsets, ... */
    EMU_ARG_OTHER, /* an explicit argument of another kind (image, sampler, queue): 8 bytes of value */
} emu_arg_kind;

typedef struct emu_arg {
    const char *name;       /* may be "" */
    const char *value_kind; /* metadata text, e.g. "hidden_block_count_x" */
    uint32_t offset, size;  /* within the kernarg segment; offset + size <= kernarg_size */
    emu_arg_kind kind;
} emu_arg;

typedef struct emu_module emu_module;

typedef struct emu_kernel {
    const emu_module *module;
    const emu_arch *arch;
    const char *name;       /* function name: "swin" */
    const char *symbol;     /* descriptor symbol: "swin.kd" */
    uint32_t kernarg_size;  /* bytes of the whole segment, hidden arguments included */
    uint32_t explicit_size; /* bytes up to the end of the last explicit argument */
    uint32_t kernarg_align;
    const emu_arg *args; /* explicit ones first, in order of offset */
    uint32_t arg_count, explicit_count;
    uint32_t vgprs, sgprs;  /* as the metadata counts them */
    uint32_t lds_bytes;     /* static LDS */
    uint32_t scratch_bytes; /* private segment, bytes a lane */
    bool dynamic_stack;
    uint32_t vgpr_spills, sgpr_spills;
    uint32_t max_workgroup;          /* work-items */
    uint32_t required_block[3];      /* reqd_workgroup_size, zeros when not given */
    uint32_t code_offset, code_size; /* bytes within the module's text */
} emu_kernel;

/* Parses `image` (any alignment; copied, need not outlive the call), applies relocations, decodes all code.
 * arch NULL accepts every known architecture. On failure *module is NULL and *error (if not NULL) is filled.
 */
emu_status emu_module_load(const void *image, size_t size, const emu_arch *arch, emu_module **module,
                           emu_error *error);
/* As above, for images whose size is not known (hipModuleLoadData): reads the size from the ELF header and
 * its tables; the caller vouches that the memory is there. Returns 0 when it is not an ELF64 image. */
size_t emu_module_image_size(const void *image);
void emu_module_destroy(emu_module **module); /* NULL content is fine; sets NULL */

const emu_arch *emu_module_arch(const emu_module *module);
size_t emu_module_kernel_count(const emu_module *module);
const emu_kernel *emu_module_kernel_at(const emu_module *module, size_t index);
const emu_kernel *emu_module_kernel(const emu_module *module, const char *name); /* NULL when absent */
/* A global variable of the module (__device__, __constant__): its address and size. */
bool emu_module_symbol(const emu_module *module, const char *name, void **address, size_t *size);

/* ------------------------------------------------------------------ memory map */

typedef struct emu_memory emu_memory;

/* What the shadow knows of the bytes of an allocation when it is added. */
typedef enum emu_memory_flags {
    EMU_MEMORY_DEFAULT = 0,       /* never written, if the map tracks writes */
    EMU_MEMORY_WRITTEN = 1 << 0,  /* contents count as written (imported, host registered) */
    EMU_MEMORY_READ_ONLY = 1 << 1 /* a kernel's store is a fault */
} emu_memory_flags;

typedef struct emu_allocation {
    uintptr_t base;
    size_t size;
    uint64_t id;    /* unique over the life of the map, from 1 */
    uint32_t flags; /* emu_memory_flags */
    void *user;     /* the caller's own */
} emu_allocation;

/* track_writes: keep a shadow bit for every byte so that reads of never-written memory can be reported. */
emu_memory *emu_memory_create(bool track_writes);
void emu_memory_destroy(emu_memory **memory);
/* Ranges must not overlap (EMU_INVALID). Adding or removing during a launch is allowed; a launch sees the
 * change at its next access. The caller keeps the memory itself alive until no launch can touch it. */
emu_status emu_memory_add(emu_memory *memory, void *base, size_t size, uint32_t flags, void *user);
/* base must be a range's exact start; EMU_INVALID otherwise. The last ranges removed are remembered, so that
 * a fault there can say "freed". */
emu_status emu_memory_remove(emu_memory *memory, void *base);
/* The allocation that holds [address, address + size); false when there is none. */
bool emu_memory_find(emu_memory *memory, const void *address, size_t size, emu_allocation *allocation);
/* Host writes (memcpy, memset to device memory): marks bytes as written; ignored without tracking. */
void emu_memory_mark_written(emu_memory *memory, const void *address, size_t size);
size_t emu_memory_count(emu_memory *memory);

/* ------------------------------------------------------------------ worker threads */

/* Threads that execute workgroups of any number of launches at once. The thread that calls emu_launch works
 * too, so every launch makes progress on its own. threads 0 = the number of processors. */
typedef struct emu_pool emu_pool;
emu_pool *emu_pool_create(unsigned threads);
void emu_pool_destroy(emu_pool **pool); /* no launch may be running */

/* ------------------------------------------------------------------ counters */

/* Classes of dynamic wave-instructions. Every issued instruction counts once in `instructions` and once in
 * exactly one class; a VOPD counts once as VALU_DUAL (its two halves are visible in valu_ops). */
typedef enum emu_count {
    EMU_COUNT_VALU,       /* vector ALU that is none of the below */
    EMU_COUNT_VALU_DUAL,  /* VOPD pairs */
    EMU_COUNT_VALU_TRANS, /* exp, log, rcp, rsq, sqrt, sin, cos */
    EMU_COUNT_VALU_F64,
    EMU_COUNT_CONVERT,   /* v_cvt_* */
    EMU_COUNT_CROSSLANE, /* permlane, readlane, writelane, DPP forms */
    EMU_COUNT_WMMA,
    EMU_COUNT_SALU,
    EMU_COUNT_SMEM,
    EMU_COUNT_VMEM_LOAD,
    EMU_COUNT_VMEM_STORE,
    EMU_COUNT_VMEM_ATOMIC,
    EMU_COUNT_SCRATCH,
    EMU_COUNT_LDS, /* all DS instructions */
    EMU_COUNT_BRANCH,
    EMU_COUNT_BARRIER,
    EMU_COUNT_WAIT,  /* s_waitcnt and s_wait_* */
    EMU_COUNT_DELAY, /* s_delay_alu, s_nop, s_clause, hints */
    EMU_COUNT_OTHER,
    EMU_COUNT_CLASSES
} emu_count;

typedef enum emu_wmma_kind {
    EMU_WMMA_F16, /* f16 operands, f32 or f16 accumulator */
    EMU_WMMA_BF16,
    EMU_WMMA_IU8,
    EMU_WMMA_IU4,
    EMU_WMMA_FP8, /* any mix of fp8 and bf8 */
    EMU_WMMA_KINDS
} emu_wmma_kind;

typedef enum emu_space {
    EMU_SPACE_GLOBAL,
    EMU_SPACE_LDS,
    EMU_SPACE_SCRATCH,
    EMU_SPACE_SCALAR,
    EMU_SPACES
} emu_space;

typedef struct emu_counters {
    uint64_t launches, workgroups, waves;
    uint64_t instructions; /* wave-instructions issued */
    uint64_t by_class[EMU_COUNT_CLASSES];
    uint64_t wmma[EMU_WMMA_KINDS];
    uint64_t valu_ops;               /* vector operations, both halves of a VOPD counted */
    uint64_t bytes_read[EMU_SPACES]; /* bytes of active lanes */
    uint64_t bytes_written[EMU_SPACES];
    /* Distinct 128-byte lines and 64-byte pieces of them that an instruction touches, summed over global instructions:
     * lanes that want the same bytes ask the caches once. */
    uint64_t cache_lines, cache_pieces;
    uint64_t lds_accesses;        /* LDS cycles without conflicts: 32 banks of 4 bytes, 32 lanes a pass */
    uint64_t lds_conflict_cycles; /* extra cycles by bank conflicts */
} emu_counters;

const char *emu_count_name(emu_count count);        /* "valu", "valu_dual", ... (JSON keys) */
const char *emu_wmma_kind_name(emu_wmma_kind kind); /* "f16", ... */
const char *emu_space_name(emu_space space);        /* "global", ... */
void emu_counters_add(emu_counters *sum, const emu_counters *more);

/* Mnemonics, for maps of what was executed: index < emu_mnemonic_count(). LLVM's names without the _e32,
 * _e64, _dpp suffixes; VOPD halves count under their v_dual_* names. */
size_t emu_mnemonic_count(void);
const char *emu_mnemonic_name(size_t index);

/* Counts each instruction of a kernel's code once, as if executed by one wave (no bytes): a static mix. Adds
 * to `mnemonics` (emu_mnemonic_count() entries) when not NULL. */
void emu_kernel_mix(const emu_kernel *kernel, emu_counters *counters, uint64_t *mnemonics);

typedef struct emu_occupancy {
    uint32_t waves_by_vgprs, waves_by_lds, waves_by_limit; /* waves a SIMD */
    uint32_t waves;                                        /* the minimum */
    uint32_t vgprs_allocated;                              /* rounded to the granule */
} emu_occupancy;
/* Waves a SIMD holds for this kernel with workgroups of block_items work-items and dynamic LDS. */
emu_occupancy emu_kernel_occupancy(const emu_kernel *kernel, uint32_t block_items, uint32_t dynamic_lds);

/* ------------------------------------------------------------------ launching */

typedef enum emu_fault_kind {
    EMU_FAULT_NONE,
    EMU_FAULT_OUT_OF_BOUNDS, /* global or scalar access outside every live allocation */
    EMU_FAULT_LDS_BOUNDS,
    EMU_FAULT_SCRATCH_BOUNDS,
    EMU_FAULT_READ_ONLY,
    EMU_FAULT_MISALIGNED,
    EMU_FAULT_UNINITIALISED_LDS,    /* option check_uninitialised */
    EMU_FAULT_UNINITIALISED_MEMORY, /* option check_uninitialised, map with track_writes */
    EMU_FAULT_LDS_RACE,             /* option lds_race_check */
    EMU_FAULT_UNKNOWN_INSTRUCTION,
    EMU_FAULT_BAD_JUMP,  /* a jump to where no instruction starts */
    EMU_FAULT_TRAP,      /* s_trap (__builtin_trap) */
    EMU_FAULT_HANG,      /* max_instructions exceeded */
    EMU_FAULT_CANCELLED, /* the cancel flag was raised */
    EMU_FAULT_BARRIER,   /* waves of a workgroup wait at different barriers for ever */
    EMU_FAULT_WMMA, /* a matrix instruction with inactive lanes, or (gfx11) operands whose lanes 16..31 do not
                            repeat lanes 0..15 */
} emu_fault_kind;

/* The first fault of a launch. Which of several racing waves is reported first is not determined. */
typedef struct emu_fault {
    emu_fault_kind kind;
    char kernel[96];
    uint32_t workgroup[3], wave; /* wave within the workgroup */
    uint32_t lane;               /* 0..31; 32 = not one lane's */
    uint64_t pc;      /* byte offset within the module's text, as llvm-objdump minus the text address */
    uint64_t address; /* of the access (LDS: offset) */
    uint32_t bytes;
    bool is_store;
    char instruction[160]; /* text of the instruction */
    char text[512];        /* one line with all of the above, and the nearest allocation */
} emu_fault;

const char *emu_fault_kind_name(emu_fault_kind kind);

typedef struct emu_launch_options {
    bool check_uninitialised;  /* report reads of never-written LDS, and of memory if the map tracks writes */
    bool lds_race_check;       /* report conflicting LDS accesses of two waves between barriers */
    uint64_t max_instructions; /* a wave; 0 = no bound */
    const atomic_int *cancel;  /* polled every few thousand instructions; non-zero stops. May be NULL */
    /* Loads and stores of vectors and LDS must start at a multiple of their size, of 4 bytes at most. The hardware
     * takes any address, but a misaligned one is a bug unless the source said so (packed structures). An access
     * whose own constant offset is misaligned is one where the compiler knew, and is never reported. Atomics and
     * scalar loads need their alignment whatever this says. */
    bool allow_misaligned;
} emu_launch_options;

typedef struct emu_launch_params {
    const emu_kernel *kernel;
    emu_memory *memory;
    emu_pool *pool;       /* NULL = the calling thread alone */
    uint32_t grid[3];     /* workgroups; zeros are invalid */
    uint32_t block[3];    /* work-items */
    uint32_t dynamic_lds; /* bytes after the static LDS */
    /* The explicit arguments laid out as the kernarg segment; at least explicit_size bytes. The core copies
     * them and fills in the hidden arguments. */
    const void *kernarg;
    size_t kernarg_size;
    emu_launch_options options;
} emu_launch_params;

/* Runs the kernel to its end. counters (added to, not cleared), mnemonics (emu_mnemonic_count() entries,
 * added to) and fault may be NULL. Returns EMU_OK, EMU_FAULT (fault filled), EMU_CANCELLED (fault filled),
 * EMU_INVALID (error text in fault->text) or EMU_NO_MEMORY. After a fault the memory holds whatever was
 * written up to then. Workgroups must not wait for one another: only as many as there are threads run at
 * once. */
emu_status emu_launch(const emu_launch_params *params, emu_counters *counters, uint64_t *mnemonics,
                      emu_fault *fault);

/* Packs HIP's kernelParams (one pointer to each explicit argument) into `kernarg` (kernel->explicit_size
 * bytes); gaps are zeroed. */
void emu_kernarg_pack(const emu_kernel *kernel, void *const *arguments, void *kernarg);

/* ------------------------------------------------------------------ disassembly */

/* Text of the instruction at `offset` (bytes in the module's text), LLVM's syntax; unknown words give
 * ".long". Returns the instruction's size in bytes, 0 at the end of the text. */
uint32_t emu_disassemble(const emu_module *module, uint32_t offset, char *text, size_t size);

#endif
