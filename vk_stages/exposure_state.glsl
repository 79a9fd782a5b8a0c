// The exposure of this and of the previous frame, written by exposure.comp.
layout(set = 0, binding = D4R_BIND_EXPOSURE, std430) readonly buffer exposure_block {
    float current_exposure;
    float previous_exposure;
    float mean_luma;
    float pixel_count;
};
