#include "models/format/neutral.h"

#include <math.h>
#include <string.h>

#include "models/format/fp8.h"
#include "runtime/base/log.h"

#define PRECISION_RANGE 8.0 /* precision a = 8 * sigmoid(v14) in 1 / render pixels */
/* Saturating logits: gates are stored with 8 bits, so that sigmoid(-8) = 0.0003 is already 0. */
#define LOGIT_LIMIT 16.0

d4r_m_neutral d4r_m_neutral_default(void)
{
    /* sigma and weight: simulated best on static and moving sequences. The floors are zero in effect: without
     * a trained network a floor only blurs what has converged. */
    return (d4r_m_neutral){.sigma = 0.3f,
                           .weight = 0.2f,
                           .history_floor = 0.0003f,
                           .output_floor = 0.0003f,
                           .candidate = 0.9999f,
                           .recurrent = 0.0003f};
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* The expansion's outputs are rounded to FP8, so a bias that is an FP8 value already is what the stages will
 * see. */
static float fp8_logit(double p)
{
    double logit = fmax(-LOGIT_LIMIT, fmin(LOGIT_LIMIT, log(p / (1 - p))));
    return d4r_e4m3_to_float(d4r_float_to_e4m3((float)logit));
}

/* softmax over (A, C, B) = (s, (1 - s) / 2, (1 - s) / 2): the logits differ by ln(2 s / (1 - s)), half of it
 * each. */
static float half_apart(double share)
{
    return d4r_e4m3_to_float(d4r_float_to_e4m3((float)(0.5 * log(2 * share / (1 - share)))));
}

static d4r_status check_range(const char *field, float value, float low, float high, const d4r_log *log)
{
    if (value > low && value < high) return D4R_OK;
    return d4r_fail(log, D4R_ERROR_ARGUMENT, "neutral model: %s: %g is outside (%g, %g)", field,
                    (double)value, (double)low, (double)high);
}

static d4r_status check_params(const d4r_m_neutral *p, const d4r_log *log)
{
    d4r_status status = check_range("sigma", p->sigma, (float)(1 / PRECISION_RANGE), 16, log);
    if (status == D4R_OK) status = check_range("weight", p->weight, 0, 1, log);
    if (status == D4R_OK) status = check_range("history floor", p->history_floor, 0, 1, log);
    if (status == D4R_OK) status = check_range("output floor", p->output_floor, 0, 1, log);
    if (status == D4R_OK) status = check_range("candidate", p->candidate, 0, 1, log);
    if (status == D4R_OK) status = check_range("recurrent", p->recurrent, 0, 1, log);
    return status;
}

d4r_status d4r_m_neutral_fill(d4r_m_neutral *params, const d4r_log *log, d4r_m_weights *weights)
{
    float values[D4R_M_VALUES] = {0}, bias[D4R_M_EXPANSION_OUT];
    d4r_status status = check_params(params, log);
    if (status != D4R_OK) return status;
    values[0] = fp8_logit(params->weight);
    values[1] = fp8_logit(params->history_floor);
    values[10] = fp8_logit(params->output_floor);
    for (int i = 6; i < 10; i++) values[i] = fp8_logit(params->recurrent);
    values[11] = half_apart(params->candidate);
    values[12] = values[13] = -values[11];
    values[14] = values[15] = fp8_logit(1 / (params->sigma * PRECISION_RANGE));
    for (int i = 0; i < D4R_M_EXPANSION_OUT; i++) bias[i] = values[i % D4R_M_VALUES];
    memcpy(weights->data + weights->offset[d4r_m_tensor_index("expansion.bias")], bias, sizeof bias);
    params->weight = (float)sigmoid(values[0]);
    params->history_floor = (float)sigmoid(values[1]);
    params->output_floor = (float)sigmoid(values[10]);
    params->recurrent = (float)sigmoid(values[6]);
    params->candidate = (float)(1 / (1 + 2 * exp(-2.0 * values[11])));
    params->sigma = (float)(1 / (PRECISION_RANGE * sigmoid(values[14])));
    return D4R_OK;
}

/* ---- preset K ---- */

d4r_k_neutral d4r_k_neutral_default(void)
{
    return (d4r_k_neutral){.column = 2.5f,
                           .row = 1.0f,
                           .gain = 1.0f,
                           .keep = 0.95f,
                           .show = 0.001f,
                           .own = 0.001f,
                           .clip = 0.5f,
                           .box = 2.5f};
}

static float logit(float value, float range)
{
    const double p = (double)value / (double)range;
    return (float)fmax(-LOGIT_LIMIT, fmin(LOGIT_LIMIT, log(p / (1 - p))));
}

/* Precisions by column; rows: longer in x, round, longer in y, along the diagonal. */
static d4r_k_gaussian neutral_shape(int shape)
{
    static const double precisions[4] = {3, 6, 12, 24};
    const double p = precisions[shape % 4];
    const d4r_k_gaussian rows[4] = {{p / 2, 2 * p, 0}, {p, p, 0}, {2 * p, p / 2, 0}, {p, p, p / 2}};
    return rows[shape / 4];
}

static void fill_head(const float values[8], d4r_k_weights *weights)
{
    int index = 0;
    float bias[D4R_K_HEAD] = {0};
    while (strcmp(d4r_k_tensor_at(index).name, "head.bias")) index++;
    for (int sub_block = 0; sub_block < 4; sub_block++)
        memcpy(bias + 8 * sub_block, values, 8 * sizeof *values);
    memcpy(weights->data + weights->offset[index], bias, sizeof bias);
}

d4r_status d4r_k_neutral_fill(const d4r_k_neutral *p, const d4r_log *log, d4r_k_weights *weights,
                              uint8_t *tables)
{
    const struct {
        const char *name;
        float value, range;
    } fields[8] = {{"column", p->column, 3}, {"row", p->row, 3}, {"gain", p->gain, 4}, {"keep", p->keep, 1},
                   {"show", p->show, 1},     {"own", p->own, 1}, {"clip", p->clip, 1}, {"box", p->box, 4}};
    d4r_k_gaussian shapes[D4R_K_SHAPES];
    float values[8];
    for (int i = 0; i < 8; i++) {
        d4r_status status = check_range(fields[i].name, fields[i].value, 0, fields[i].range, log);
        if (status != D4R_OK) return status;
        values[i] = logit(fields[i].value, fields[i].range);
    }
    fill_head(values, weights);
    for (int i = 0; i < D4R_K_SHAPES; i++) shapes[i] = neutral_shape(i);
    d4r_k_tables_fill(shapes, tables);
    return D4R_OK;
}
