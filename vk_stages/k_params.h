/* Preset K: its binding numbers and work groups. Parameters are struct d4r_m_params: `reconstruction` is the output size (that of
 * the history), `half_size` the sub-blocks, to_render and motion are in output pixels; `flags` holds the frame's table. */
#ifndef D4R_VK_STAGES_K_PARAMS_H
#define D4R_VK_STAGES_K_PARAMS_H

#include "params.h"

/* Set 0: parameters, partials, exposure, tokens and head have preset M's numbers, as the exposure stages are the same. */
#define D4R_K_BIND_TABLES 1
#define D4R_K_BIND_HISTORY_PREVIOUS 6
#define D4R_K_BIND_RECURRENT_LOW 7
#define D4R_K_BIND_RECURRENT_HIGH 8
#define D4R_K_BIND_MOTION 9
#define D4R_K_BIND_MOTION_OUT 10
#define D4R_K_BIND_RECURRENT_LOW_OUT 11
#define D4R_K_BIND_RECURRENT_HIGH_OUT 12
#define D4R_K_BIND_HISTORY_OUT 13
#define D4R_K_BIND_COUNT 14

/* flags: the number, among the tables on the device, of the frame's. */
#define D4R_K_FLAG_TABLE_SHIFT 8

/* Tables of lut.bin that a ratio of 1 or more can ask for: 4, 6, .. 14. */
#define D4R_K_FIRST_TABLE 4
#define D4R_K_TABLES_USED 6
#define D4R_K_TABLE_BYTES 32768 /* 64 phases x 16 shapes x 16 taps f16 */
#define D4R_K_TABLE_VEC4 2048

#define D4R_K_SUB_BLOCKS 8 /* a side of a work group of the reconstruction */

#endif
