/* d4r: temporal super resolution for games.
 *
 * This header holds what needs neither Vulkan nor HIP types: status codes, logging, sizes and jitter, the
 * frame settings with every convention, models, and the upscaler (the level for runners and simple programs,
 * which owns its device). Engines that own a VkDevice use d4r_vulkan.h.
 *
 * Conventions, used everywhere unless a setting says otherwise: x right, y down, pixel (0, 0) at the top
 * left. "Render" is the low-resolution side, "output" the high-resolution one, "reconstruction" the size of the internal
 * history (preset M: ceil(1.5 * output)). The sample of render pixel (x, y) lies at (x + 0.5 + jitter.x, y + 0.5 +
 * jitter.y) of the unjittered image. previous position = current position + motion.
 *
 * Every function is safe to call from any thread on different objects; calls on one object must be serialised
 * by the caller except where a function says otherwise. No function prints, aborts or exits.
 */
#ifndef D4R_D4R_H
#define D4R_D4R_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(D4R_STATIC)
#define D4R_API
#else
#define D4R_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define D4R_VERSION_MAJOR 0
#define D4R_VERSION_MINOR 1
#define D4R_VERSION_PATCH 0

/* ---- status and log
 * ------------------------------------------------------------------------------------------- */

typedef enum d4r_status {
    D4R_OK = 0,
    D4R_PENDING = 1,          /* not finished yet; not an error */
    D4R_ERROR_ARGUMENT = -1,  /* a parameter is out of its documented range */
    D4R_ERROR_MEMORY = -2,    /* host or device memory is exhausted */
    D4R_ERROR_IO = -3,        /* a file or system call failed */
    D4R_ERROR_MODEL = -4,     /* a model file is missing, damaged or of another preset */
    D4R_ERROR_INPUT = -5,     /* frame data does not fit its description */
    D4R_ERROR_NO_DEVICE = -6, /* no device, driver, library or code object that can be used */
    D4R_ERROR_FEATURE = -7,   /* the device lacks a needed feature (named in the log) */
    D4R_ERROR_DEVICE = -8,    /* the device was lost or a driver call failed */
    D4R_ERROR_NETWORK = -9,   /* the external network failed for this frame */
    D4R_ERROR_TIMEOUT = -10,  /* the watchdog's bound passed */
    D4R_ERROR_STATE = -11     /* called in the wrong order */
} d4r_status;

/* A short English name, never NULL. */
D4R_API const char *d4r_status_name(d4r_status status);

typedef enum d4r_log_level {
    D4R_LOG_ERROR = 0,
    D4R_LOG_WARNING = 1,
    D4R_LOG_INFO = 2,
    D4R_LOG_DEBUG = 3
} d4r_log_level;

/* One line of text without a newline. May be called from the library's own threads. */
typedef void (*d4r_log_fn)(void *user, d4r_log_level level, const char *line);

/* Copied wherever it is passed in. fn NULL: silent. Lines above `level` are not delivered. */
typedef struct d4r_log {
    d4r_log_fn fn;
    void *user;
    d4r_log_level level;
} d4r_log;

/* "0.1.0" of the library that is loaded, which may differ from D4R_VERSION_*. */
D4R_API const char *d4r_version_string(void);

/* ---- sizes and jitter
 * ----------------------------------------------------------------------------------------- */

typedef struct d4r_size {
    uint32_t width, height; /* pixels */
} d4r_size;

typedef struct d4r_vec2 {
    float x, y;
} d4r_vec2;

typedef enum d4r_preset { D4R_PRESET_M = 0, D4R_PRESET_K = 1 } d4r_preset;

#define D4R_MIN_DIMENSION 64u    /* smallest render and output width and height */
#define D4R_MAX_DIMENSION 16384u /* largest output width and height; a device's own limit may be lower */

/* Sizes of a preset's images, all derived from render and output size. */
typedef struct d4r_sizes {
    d4r_size render;
    d4r_size output;
    d4r_size reconstruction; /* M: ceil(1.5 * output), K: output; the history has this size */
    d4r_size half;           /* ceil(reconstruction / 2): M's half-resolution history, K's sub-blocks */
    d4r_size token_grid;     /* M: render rounded up to multiples of 32, halved: tokens of 2x2 render pixels. K: ceil(output / 4)
                                rounded up to multiples of 32, at least 256: tokens of 4x4 output pixels */
    uint64_t token_bytes;    /* of all tokens: M 64 bytes each (FP8), K 64 (f16) */
    float render_scale_x;    /* render / (history_scale * output), per axis */
    float render_scale_y;
    float history_scale;     /* M 1.5, K 1 */
    uint64_t head_bytes;     /* of the network's output: M 64 bytes a token (FP8), K 80 (f16) */
} d4r_sizes;

/* Fills *sizes. D4R_ERROR_ARGUMENT when the preset is unknown, a dimension is outside [D4R_MIN_DIMENSION, D4R_MAX_DIMENSION],
 * or render is larger than output on an axis. */
D4R_API d4r_status d4r_preset_sizes(d4r_preset preset, d4r_size render, d4r_size output, d4r_sizes *sizes);
/* Those of preset M. */
D4R_API d4r_status d4r_sizes_compute(d4r_size render, d4r_size output, d4r_sizes *sizes);
/* "M", "K"; NULL for an unknown value. */
D4R_API const char *d4r_preset_name(d4r_preset preset);

typedef enum d4r_quality {
    D4R_QUALITY_NATIVE = 0,           /* 1.0x */
    D4R_QUALITY_ULTRA_QUALITY = 1,    /* 1.3x */
    D4R_QUALITY_QUALITY = 2,          /* 1.5x */
    D4R_QUALITY_BALANCED = 3,         /* 1.7x */
    D4R_QUALITY_PERFORMANCE = 4,      /* 2.0x */
    D4R_QUALITY_ULTRA_PERFORMANCE = 5 /* 3.0x */
} d4r_quality;

/* output / render per axis; 0 for an unknown value. */
D4R_API float d4r_quality_ratio(d4r_quality quality);
/* Render size for an output size: round(output / ratio), at least D4R_MIN_DIMENSION, at most output. */
D4R_API d4r_size d4r_render_size(d4r_size output, d4r_quality quality);
/* Number of jitter phases that covers an output pixel well: ceil(8 * ratio_x * ratio_y), at least 8. */
D4R_API uint32_t d4r_jitter_phase_count(d4r_size render, d4r_size output);
/* Jitter of a frame: Halton(2, 3) of index (frame mod phases) + 1, minus 0.5; render pixels in (-0.5, 0.5).
 * phases 0 gives (0, 0). To apply it, move the image content by -jitter: add (-2 jx / width, -2 jy / height)
 * to the projection's clip-space offset (y down). */
D4R_API d4r_vec2 d4r_jitter(uint64_t frame, uint32_t phases);
/* Mip bias for textures of the render pass: log2(render.width / output.width) (negative or 0). */
D4R_API float d4r_mip_bias(d4r_size render, d4r_size output);

/* ---- frame settings
 * ------------------------------------------------------------------------------------------- */

/* Unit of the motion vectors as stored, before motion_scale. */
typedef enum d4r_motion_unit {
    D4R_MOTION_RENDER_PIXELS = 0,
    D4R_MOTION_OUTPUT_PIXELS = 1,
    D4R_MOTION_UV = 2, /* 1 = the whole image */
    D4R_MOTION_NDC = 3 /* 2 = the whole image; y down unless motion_flip_y */
} d4r_motion_unit;

typedef enum d4r_exposure_mode {
    D4R_EXPOSURE_AUTO = 0,   /* measured on the GPU every frame: 0.23547077 / max(mean luma, 0.005) */
    D4R_EXPOSURE_SCALAR = 1, /* d4r_frame_settings.exposure */
    D4R_EXPOSURE_TEXTURE = 2 /* texel (0, 0) of the exposure image */
} d4r_exposure_mode;

/* Conventions of a whole sequence. All zero is d4r's own convention: see the top of this file. */
typedef struct d4r_conventions {
    bool ldr;              /* colour is display-referred [0, 1], gamma 2.2; exposure is ignored */
    bool depth_regular;    /* depth grows with distance; default: inverted (near = 1) */
    bool motion_reversed;  /* current = previous + motion; default: previous = current + motion */
    bool motion_flip_y;    /* the stored y component points up */
    bool motion_at_output; /* motion image has output size (display-resolution vectors) */
    bool motion_jittered;  /* vectors contain the difference of the two frames' jitter */
    d4r_motion_unit motion_unit;
    d4r_exposure_mode exposure_mode;
} d4r_conventions;

/* One frame's settings. Start from d4r_frame_settings_default(). */
typedef struct d4r_frame_settings {
    d4r_size render; /* size of the render rectangle; 64..output */
    d4r_vec2 jitter; /* render pixels, |j| <= 1 expected (larger: a warning) */
    d4r_vec2
        motion_scale; /* multiplies stored vectors (after unit conversion); non-zero, finite; default 1, 1 */
    float exposure;   /* for D4R_EXPOSURE_SCALAR; <= 0 or non-finite counts as 1 */
    float pre_exposure; /* what the colour was already multiplied by; > 0; default 1 */
    bool reset;         /* a cut: no history is sampled. The first frame resets by itself */
} d4r_frame_settings;

D4R_API d4r_frame_settings d4r_frame_settings_default(d4r_size render);

/* Checks ranges: D4R_OK, or D4R_ERROR_ARGUMENT with the field's name in the log. Warnings (|jitter| > 1,
 * pre-exposure outside [1e-4, 1e4]) only go to the log. */
D4R_API d4r_status d4r_frame_settings_check(const d4r_frame_settings *settings, d4r_size output,
                                            const d4r_log *log);

/* ---- model
 * ---------------------------------------------------------------------------------------------------- */

/* Weights, checked completely when loaded; immutable afterwards, so any number of engines and threads may
 * share one. Must outlive everything created from it. */
typedef struct d4r_model d4r_model;

typedef struct d4r_model_info {
    d4r_preset preset;
    const char *name;    /* from model.json; owned by the model */
    const char *licence; /* from model.json; owned by the model */
    uint64_t parameter_count;
    uint64_t packed_bytes; /* host memory held by the packed images */
    char sha256[65];       /* of model.json */
} d4r_model_info;

/* Loads a model directory (docs/model_format.md). Errors: D4R_ERROR_IO (unreadable), D4R_ERROR_MODEL
 * (anything wrong with the content: the log names file and field), D4R_ERROR_MEMORY. On error *model is NULL.
 */
D4R_API d4r_status d4r_model_load(const char *directory, const d4r_log *log, d4r_model **model);
D4R_API void d4r_model_destroy(d4r_model **model); /* NULL and NULL content are fine; sets *model to NULL */
D4R_API d4r_status d4r_model_get_info(const d4r_model *model, d4r_model_info *info);

/* ---- validation
 * --------------------------------------------------------------------------------------------- */

/* What the validation mode may find out about an integration: docs/debugging.md. */
typedef enum d4r_finding_code {
    D4R_FINDING_NONE = 0,
    /* from the images */
    D4R_FINDING_JITTER_SIGN = 1,      /* the image moves against the declared jitter */
    D4R_FINDING_JITTER_SCALE = 2,     /* ... by another share of it */
    D4R_FINDING_JITTER_ABSENT = 3,    /* ... not at all */
    D4R_FINDING_MOTION_SIGN = 4,      /* vectors point the other way, on one or both axes */
    D4R_FINDING_MOTION_SCALE = 5,     /* ... are too long or too short */
    D4R_FINDING_MOTION_UNIT = 6,      /* ... are in another unit than declared */
    D4R_FINDING_MOTION_UNRELATED = 7, /* the frames fit better without them */
    D4R_FINDING_DEPTH_CONVENTION = 8, /* inverted given as regular, or the other way round */
    D4R_FINDING_MISSING_RESET = 9,    /* a cut without a reset */
    D4R_FINDING_RENDER_RECTANGLE = 10, /* the rectangle holds borders that are not drawn */
    D4R_FINDING_EXPOSURE = 11,        /* the exposed colour is far too dark or too bright */
    D4R_FINDING_COLOR_ENCODED = 12,   /* display-referred colour given as linear */
    D4R_FINDING_COLOR_LINEAR = 13,    /* colour above 1 given as LDR */
    D4R_FINDING_COLOR_NOT_FINITE = 14,
    D4R_FINDING_MOTION_NOT_FINITE = 15,
    D4R_FINDING_DEPTH_NOT_FINITE = 16,
    /* from the arguments */
    D4R_FINDING_JITTER_RANGE = 32,
    D4R_FINDING_JITTER_CONSTANT = 33,
    D4R_FINDING_RESET_ALWAYS = 34,
    D4R_FINDING_RENDER_SIZE = 35, /* changes all the time */
    D4R_FINDING_EXPOSURE_VALUE = 36,
    D4R_FINDING_MOTION_SIZE = 37,
    D4R_FINDING_SAME_IMAGE = 38
} d4r_finding_code;

typedef struct d4r_finding {
    d4r_finding_code code;
    float confidence;   /* 0.5 .. 1 */
    uint64_t frame;     /* when it was first found, counted from 0 */
    uint64_t frames;    /* in how many frames so far */
    char sentence[448]; /* what is probably wrong, the evidence, what to do */
} d4r_finding;

/* "motion_sign", never NULL. */
D4R_API const char *d4r_finding_name(d4r_finding_code code);

/* ---- upscaler
 * ------------------------------------------------------------------------------------------------- */

typedef struct d4r_upscaler d4r_upscaler;

typedef enum d4r_network_kind {
    D4R_NETWORK_AUTO = 0,
    D4R_NETWORK_CPU = 1,
    D4R_NETWORK_VULKAN = 2, /* reserved: D4R_ERROR_FEATURE until it exists */
    D4R_NETWORK_HIP = 3
} d4r_network_kind;

typedef enum d4r_pixel_format {
    D4R_FORMAT_NONE = 0,
    D4R_FORMAT_RGBA16F, /* 8 bytes */
    D4R_FORMAT_RGBA32F, /* 16 bytes */
    D4R_FORMAT_RG16F,   /* 4 bytes */
    D4R_FORMAT_RG32F,   /* 8 bytes */
    D4R_FORMAT_R32F,    /* 4 bytes */
    D4R_FORMAT_RGB10A2  /* 4 bytes; red in the low bits; values clamped to [0, 1] */
} d4r_pixel_format;

/* Bytes a pixel; 0 for NONE or an unknown value. */
D4R_API size_t d4r_pixel_format_bytes(d4r_pixel_format format);

/* A plane in host memory, rows top to bottom. */
typedef struct d4r_plane {
    const void *data; /* NULL: absent */
    size_t size;      /* bytes readable at data; at least row_bytes * (height - 1) + width * pixel bytes */
    size_t row_bytes; /* 0: tightly packed */
    d4r_size extent;
    d4r_pixel_format format; /* colour RGBA16F|RGBA32F, motion RG16F|RG32F, depth R32F, exposure R32F 1x1 */
} d4r_plane;

typedef struct d4r_upscaler_frame {
    d4r_frame_settings settings;
    d4r_plane color, motion, depth; /* settings.render in size (motion: output when motion_at_output) */
    d4r_plane exposure;             /* only for D4R_EXPOSURE_TEXTURE */
} d4r_upscaler_frame;

/* How Vulkan and an external network on a GPU are ordered. */
typedef enum d4r_handoff_strategy {
    D4R_HANDOFF_HOST = 0, /* a host thread waits for the tokens, then launches */
    D4R_HANDOFF_MARKER =
        1 /* launched ahead: the stream waits for a number that the GPU writes after the tokens */
} d4r_handoff_strategy;

typedef enum d4r_hip_platform { D4R_HIP_AMD = 0, D4R_HIP_NVIDIA = 1 } d4r_hip_platform;

typedef enum d4r_hip_completion {
    D4R_HIP_COMPLETION_EVENT = 0,   /* a thread waits for an event */
    D4R_HIP_COMPLETION_CALLBACK = 1 /* the stream calls a host function */
} d4r_hip_completion;

typedef enum d4r_hip_graphs {
    D4R_HIP_GRAPHS_AUTO = 0, /* where the runtime's version has no known fault (docs/hip.md) */
    D4R_HIP_GRAPHS_OFF = 1,
    D4R_HIP_GRAPHS_ON = 2
} d4r_hip_graphs;

/* The network on a GPU through the HIP runtime. All zero is a good default. Strings are copied. */
typedef struct d4r_hip_network_params {
    d4r_hip_platform platform; /* NVIDIA: the same kernels through NVIDIA's driver */
    const char *library;       /* NULL: $D4R_HIP_LIBRARY, else libamdhip64.so.7, .6, .5, libamdhip64.so */
    const char *device;  /* NULL: the Vulkan device's own card by PCI address; "0", "pci:0000:03:00.0" */
    const char *kernels; /* folder of code objects; NULL: $D4R_KERNELS, else beside the library */
    d4r_handoff_strategy strategy;
    d4r_hip_completion completion;
    d4r_hip_graphs graphs;
    bool layer_times;     /* events between the layers (plain launches only) */
    uint32_t watchdog_ms; /* 0 = 2000 */
    /* NULL: a stream of the network's own, non-blocking, at the greatest priority. Else a hipStream_t (NVIDIA: CUstream
     * of the primary context) of the Vulkan device's card, created with the same HIP library in this process; a stream
     * of another device is refused when the engine is created. It stays the caller's: the network enqueues its launches
     * there, behind what is queued before them and ahead of what is queued after them, waits only for its own work, and
     * never destroys it. It must outlive the engine, and must not be captured while a frame is in flight. A frame's
     * launches are queued once its tokens are ready (host hand-off) or once it was submitted (marker), by a thread of
     * the network's; what is queued after the frame has ended comes after them. */
    void *stream;
} d4r_hip_network_params;

/* A stage's buffer or image as dumped for inspection; `data` is valid during the callback only. */
typedef struct d4r_dump_item {
    const char *stage;   /* "exposure", "input", "network", "expansion", "reconstruction", "downsample" */
    const char *name;    /* "tokens", "head", "mv_a", ... : docs/dump.md lists them */
    const char *dtype;   /* NumPy type string: "<f4", "<f2", "|u1", "|i1" */
    uint32_t dimensions; /* <= 4 */
    uint64_t shape[4];   /* row-major; images are [height, width, channels] */
    const void *data;
    size_t size;
} d4r_dump_item;
typedef void (*d4r_dump_fn)(void *user, uint64_t frame, const d4r_dump_item *item);

typedef struct d4r_upscaler_params {
    const d4r_model *model; /* required */
    d4r_size output;        /* required */
    d4r_size max_render;    /* largest render size that will be submitted; 0, 0: output */
    d4r_conventions conventions;
    d4r_pixel_format output_format; /* RGBA16F (default when NONE) or RGB10A2 */
    d4r_network_kind network;
    uint32_t frames_in_flight; /* 1..8; 0 = 3 */
    const char *device;        /* NULL: first suitable; else an index ("0") or a part of the device's name */
    bool validation;           /* enable the Khronos validation layer, messages go to the log as errors */
    bool validate;             /* check every frame's arguments and images: d4r_upscaler_validation_report */
    bool exact_filter;         /* bilinear filtering by four fetches in f32 instead of the hardware sampler */
    bool readback;             /* outputs can be read; false: timing only */
    bool profile;              /* GPU timestamps per stage */
    uint32_t watchdog_ms;      /* bound for one network evaluation; 0 = default of the network kind */
    uint32_t cpu_threads;      /* CPU network; 0 = all cores */
    d4r_hip_network_params hip; /* HIP network */
    d4r_dump_fn dump; /* not NULL: every stage of every frame is read back (slow, one frame at a time) */
    void *dump_user;
    d4r_log log;
} d4r_upscaler_params;

D4R_API d4r_upscaler_params d4r_upscaler_params_default(void);

/* Creates the device and all memory. Errors: ARGUMENT, NO_DEVICE, FEATURE, MEMORY, DEVICE. *upscaler is NULL
 * then. */
D4R_API d4r_status d4r_upscaler_create(const d4r_upscaler_params *params, d4r_upscaler **upscaler);
/* Waits for submitted work (bounded by the watchdog) and frees everything. NULL is fine; sets *upscaler to
 * NULL. */
D4R_API void d4r_upscaler_destroy(d4r_upscaler **upscaler);

/* Copies the planes and starts the frame; returns when a slot is free, usually at once. *ticket numbers
 * frames from 0. Planes may be freed on return. Errors leave the upscaler usable: ARGUMENT/INPUT (frame not
 * submitted), DEVICE. */
D4R_API d4r_status d4r_upscaler_submit(d4r_upscaler *upscaler, const d4r_upscaler_frame *frame,
                                       uint64_t *ticket);

/* Waits for a frame and copies its output (tightly packed, output size and format) to `pixels` (NULL: only
 * wait). Each ticket can be waited for once, and only while fewer than frames_in_flight newer frames were
 * submitted (waiting in order, at most frames_in_flight behind, is always right). D4R_ERROR_NETWORK or
 * _TIMEOUT: this frame failed, the next one resets by itself. timeout_ms bounds the wait; 0 = default bound.
 */
D4R_API d4r_status d4r_upscaler_wait(d4r_upscaler *upscaler, uint64_t ticket, void *pixels, size_t size,
                                     uint32_t timeout_ms);

#define D4R_MAX_STAGES 16
typedef struct d4r_stage_time {
    const char *name; /* static storage */
    double start_us;  /* since the frame's first timestamp */
    double end_us;
    bool host; /* measured on the host clock (the external network), not by GPU timestamps */
} d4r_stage_time;
typedef struct d4r_frame_profile {
    uint32_t count;
    d4r_stage_time stages[D4R_MAX_STAGES];
    double frame_us; /* first to last timestamp */
} d4r_frame_profile;
/* Of a frame that was waited for (the most recent frames_in_flight ones). D4R_ERROR_STATE without
 * params.profile. */
D4R_API d4r_status d4r_upscaler_profile(d4r_upscaler *upscaler, uint64_t ticket, d4r_frame_profile *profile);

typedef struct d4r_memory_info {
    uint64_t device_bytes;  /* device memory allocated by the engine, shared buffers included */
    uint64_t shared_bytes;  /* tokens and head */
    uint64_t staging_bytes; /* host-visible upload and readback memory (upscaler only) */
    uint64_t weight_bytes;  /* front/back stage weights on the device */
    uint64_t network_bytes; /* memory held by the network itself */
} d4r_memory_info;
D4R_API d4r_status d4r_upscaler_memory(const d4r_upscaler *upscaler, d4r_memory_info *info);

/* What params.validate has found so far, in the order in which it was found: fills up to `capacity`, *count is how many
 * there are. Findings also go to the log, each once, as warnings. D4R_ERROR_STATE without params.validate. */
D4R_API d4r_status d4r_upscaler_validation_report(d4r_upscaler *upscaler, d4r_finding *findings, uint32_t capacity,
                                                  uint32_t *count);

/* "llvmpipe (LLVM 15.0.6, 256 bits), cpu network: 2 threads, mapped tokens by fd"; owned by the upscaler. */
D4R_API const char *d4r_upscaler_description(const d4r_upscaler *upscaler);

#ifdef __cplusplus
}
#endif

#endif
