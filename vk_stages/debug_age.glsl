// The age pass of every preset: the mean age in frames of what the history holds. Every frame ages it by one and blends in
// the current colour, whose age is 0. The preset has, before this file: age_size, age_origin, age_texel, history_share.
layout(local_size_x = D4R_PIXEL_GROUP, local_size_y = D4R_PIXEL_GROUP) in;
layout(set = 3, binding = 0, r32f) uniform readonly image2D age_previous;
layout(set = 3, binding = 1, r32f) uniform writeonly image2D age_now;

void main()
{
    ivec2 texel = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(texel, age_size()))) return;
    vec2 q = age_origin(texel);
    float age = 0.0;
    if (has_history(q)) {
        age = history_share(texel).x;
        if (age_known != 0u) age *= imageLoad(age_previous, age_texel(q)).r + 1.0;
    }
    imageStore(age_now, texel, vec4(age, 0.0, 0.0, 0.0));
}
