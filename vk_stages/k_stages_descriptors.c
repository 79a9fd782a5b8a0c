/* Preset K's descriptor sets of its own resources, by frame parity: written once, before their first use. */
#include "vk_stages/k_stages_internal.h"

#define FIRST_IMAGE D4R_K_BIND_HISTORY_PREVIOUS

_Static_assert(D4R_K_BIND_COUNT <= D4R_OWN_BINDINGS_MAX, "room for the bindings");
const d4r_own_bindings d4r_k_own_bindings = {FIRST_IMAGE, D4R_K_BIND_MOTION_OUT, D4R_K_BIND_COUNT};

/* The image behind a binding for frames of a parity. */
static VkImageView view_of(const d4r_k_stages *stages, uint32_t binding, uint32_t parity)
{
    static const uint8_t table[D4R_K_BIND_COUNT] = {
        [D4R_K_BIND_RECURRENT_LOW] = D4R_K_RECURRENT_LOW,
        [D4R_K_BIND_RECURRENT_HIGH] = D4R_K_RECURRENT_HIGH,
        [D4R_K_BIND_MOTION] = D4R_K_MOTION,
        [D4R_K_BIND_MOTION_OUT] = D4R_K_MOTION,
        [D4R_K_BIND_RECURRENT_LOW_OUT] = D4R_K_RECURRENT_LOW,
        [D4R_K_BIND_RECURRENT_HIGH_OUT] = D4R_K_RECURRENT_HIGH,
    };
    uint32_t image = table[binding];
    if (binding == D4R_K_BIND_HISTORY_PREVIOUS) image = D4R_K_HISTORY + 1 - parity;
    if (binding == D4R_K_BIND_HISTORY_OUT) image = D4R_K_HISTORY + parity;
    return stages->images[image].view;
}

static VkDescriptorBufferInfo buffer_of(const d4r_k_stages *stages, uint32_t binding)
{
    const d4r_stages_desc *desc = &stages->base.desc;
    const VkDescriptorBufferInfo table[FIRST_IMAGE] = {
        [D4R_BIND_PARAMS] = {stages->buffers[D4R_K_PARAMS].buffer, 0, VK_WHOLE_SIZE},
        [D4R_K_BIND_TABLES] = {stages->buffers[D4R_K_TABLES].buffer, 0, VK_WHOLE_SIZE},
        [D4R_BIND_PARTIALS] = {stages->buffers[D4R_K_PARTIALS].buffer, 0, VK_WHOLE_SIZE},
        [D4R_BIND_EXPOSURE] = {stages->buffers[D4R_K_EXPOSURE_STATE].buffer, 0, VK_WHOLE_SIZE},
        [D4R_BIND_TOKENS] = {desc->tokens, 0, desc->token_bytes},
        [D4R_BIND_HEAD] = {desc->head, 0, desc->head_bytes},
    };
    return table[binding];
}

d4r_status d4r_k_create_descriptors(d4r_k_stages *stages)
{
    d4r_status status = d4r_own_sets_create(&stages->base, &stages->programs->base, &d4r_k_own_bindings);
    for (uint32_t parity = 0; parity < 2 && status == D4R_OK; parity++) {
        VkDescriptorBufferInfo buffers[FIRST_IMAGE];
        VkImageView views[D4R_K_BIND_COUNT];
        for (uint32_t i = 0; i < FIRST_IMAGE; i++) buffers[i] = buffer_of(stages, i);
        for (uint32_t i = FIRST_IMAGE; i < D4R_K_BIND_COUNT; i++) views[i] = view_of(stages, i, parity);
        d4r_own_set_write(&stages->base, parity, &d4r_k_own_bindings, buffers, views);
    }
    return status;
}
