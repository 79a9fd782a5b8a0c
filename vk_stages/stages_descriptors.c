/* Preset M's descriptor sets of its own resources, by frame parity: written once, before their first use. */
#include "vk_stages/stages_internal.h"

_Static_assert(D4R_BIND_COUNT <= D4R_OWN_BINDINGS_MAX, "room for the bindings");
const d4r_own_bindings d4r_m_own_bindings = {D4R_BIND_MV_A_PREVIOUS, D4R_BIND_MV_A_OUT, D4R_BIND_COUNT};

/* The image behind a binding for frames of a parity. */
static const d4r_vk_image *image_of(const d4r_m_stages *stages, int binding, int now)
{
    static const uint8_t table[D4R_BIND_COUNT] = {
        [D4R_BIND_MV_A_PREVIOUS] = D4R_M_MV_A,
        [D4R_BIND_MV_A] = D4R_M_MV_A,
        [D4R_BIND_MV_A_OUT] = D4R_M_MV_A,
        [D4R_BIND_MV_B] = D4R_M_MV_B,
        [D4R_BIND_MV_B_OUT] = D4R_M_MV_B,
        [D4R_BIND_MV_C] = D4R_M_MV_C,
        [D4R_BIND_MV_C_OUT] = D4R_M_MV_C,
        [D4R_BIND_RECURRENT_PREVIOUS] = D4R_M_RECURRENT,
        [D4R_BIND_RECURRENT_OUT] = D4R_M_RECURRENT,
        [D4R_BIND_GATES] = D4R_M_GATES,
        [D4R_BIND_GATES_OUT] = D4R_M_GATES,
        [D4R_BIND_MIX] = D4R_M_MIX,
        [D4R_BIND_MIX_OUT] = D4R_M_MIX,
        [D4R_BIND_COVARIANCE] = D4R_M_COVARIANCE,
        [D4R_BIND_COVARIANCE_OUT] = D4R_M_COVARIANCE,
        [D4R_BIND_HISTORY_PREVIOUS] = D4R_M_HISTORY,
        [D4R_BIND_HISTORY_OUT] = D4R_M_HISTORY,
        [D4R_BIND_HALF] = D4R_M_HALF,
        [D4R_BIND_HALF_OUT] = D4R_M_HALF,
    };
    int image = table[binding];
    if (image <= D4R_M_HISTORY) { /* the pairs */
        const bool previous = binding == D4R_BIND_MV_A_PREVIOUS || binding == D4R_BIND_RECURRENT_PREVIOUS ||
                              binding == D4R_BIND_HISTORY_PREVIOUS;
        image += previous ? 1 - now : now;
    }
    return &stages->images[image];
}

static VkDescriptorBufferInfo buffer_of(const d4r_m_stages *stages, int binding)
{
    VkBuffer buffer = VK_NULL_HANDLE;
    switch (binding) {
    case D4R_BIND_PARAMS:
        buffer = stages->buffers[D4R_M_PARAMS].buffer;
        break;
    case D4R_BIND_WEIGHTS:
        buffer = stages->buffers[D4R_M_WEIGHTS].buffer;
        break;
    case D4R_BIND_PARTIALS:
        buffer = stages->buffers[D4R_M_PARTIALS].buffer;
        break;
    case D4R_BIND_EXPOSURE:
        buffer = stages->buffers[D4R_M_EXPOSURE_STATE].buffer;
        break;
    case D4R_BIND_TOKENS:
        buffer = stages->base.desc.tokens;
        break;
    case D4R_BIND_HEAD:
        buffer = stages->base.desc.head;
        break;
    case D4R_BIND_PACKED:
        buffer = stages->buffers[D4R_M_PACKED].buffer;
        break;
    default:
        break;
    }
    const bool shared = binding == D4R_BIND_TOKENS || binding == D4R_BIND_HEAD;
    return (VkDescriptorBufferInfo){buffer, 0, shared ? stages->base.desc.token_bytes : VK_WHOLE_SIZE};
}

d4r_status d4r_m_stages_create_descriptors(d4r_m_stages *stages)
{
    d4r_status status = d4r_own_sets_create(&stages->base, &stages->programs->base, &d4r_m_own_bindings);
    for (int parity = 0; parity < 2 && status == D4R_OK; parity++) {
        VkDescriptorBufferInfo buffers[D4R_BIND_MV_A_PREVIOUS];
        VkImageView views[D4R_BIND_COUNT];
        for (int i = 0; i < D4R_BIND_MV_A_PREVIOUS; i++) buffers[i] = buffer_of(stages, i);
        for (int i = D4R_BIND_MV_A_PREVIOUS; i < D4R_BIND_COUNT; i++)
            views[i] = image_of(stages, i, parity)->view;
        d4r_own_set_write(&stages->base, (uint32_t)parity, &d4r_m_own_bindings, buffers, views);
    }
    return status;
}
