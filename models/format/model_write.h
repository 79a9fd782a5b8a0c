/* Writing a model directory: only the tools need this. */
#ifndef D4R_MODELS_FORMAT_MODEL_WRITE_H
#define D4R_MODELS_FORMAT_MODEL_WRITE_H

#include "models/format/k_pack.h"
#include "models/format/k_tables.h"
#include "models/format/m_pack.h"

/* Writes the preset's files and model.json into a temporary directory beside `directory` and renames it. `directory` must
 * not exist or be empty; with `replace` it may also be a model directory that holds nothing else than a model's files.
 * Errors: D4R_ERROR_ARGUMENT (name, licence), D4R_ERROR_IO, D4R_ERROR_MEMORY; nothing is left behind and an existing
 * model is untouched then. */
d4r_status d4r_m_model_write(const char *directory, bool replace, const d4r_m_weights *weights,
                             const char *name, const char *licence, const d4r_log *log);
/* tables: D4R_K_TABLES_BYTES, checked by the caller. */
d4r_status d4r_k_model_write(const char *directory, bool replace, const d4r_k_weights *weights,
                             const uint8_t *tables, const char *name, const char *licence,
                             const d4r_log *log);

#endif
