#version 450
// What the window shows: left of the split the input, enlarged bilinearly (its jitter taken out), right of it d4r's output;
// both with the same tone curve and as sRGB.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0) uniform sampler2D input_image;
layout(binding = 1) uniform sampler2D output_image;
layout(binding = 2, rgba8) uniform writeonly image2D window_image;
layout(push_constant) uniform Push {
    ivec2 render, output_size;
    vec2 jitter;
    int split; // x of the line; 0: no input
} push;

vec3 fetch(ivec2 at) { return texelFetch(input_image, clamp(at, ivec2(0), push.render - 1), 0).rgb; }

// By fetches: the sampler would read beyond the render rectangle.
vec3 enlarged(vec2 at) {
    vec2 p = at * vec2(push.render) / vec2(push.output_size) - push.jitter - 0.5;
    ivec2 i = ivec2(floor(p));
    vec2 f = p - vec2(i);
    return mix(mix(fetch(i), fetch(i + ivec2(1, 0)), f.x), mix(fetch(i + ivec2(0, 1)), fetch(i + ivec2(1, 1)), f.x), f.y);
}

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, push.output_size))) return;
    vec3 c = at.x < push.split ? enlarged(vec2(at) + 0.5) : texelFetch(output_image, at, 0).rgb;
    c = 1 - exp(-1.1 * c);
    c = mix(12.92 * c, 1.055 * pow(c, vec3(1 / 2.4)) - 0.055, step(0.0031308, c));
    if (push.split > 0 && abs(at.x - push.split) < 1) c = vec3(1);
    imageStore(window_image, at, vec4(c, 1));
}
