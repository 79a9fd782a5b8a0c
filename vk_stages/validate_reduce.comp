// Validation, last pass: the work groups' statistics become one slot of the ring, which the host reads.
#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_samplerless_texture_functions : require
#include "params.glsl"
#include "exposure_state.glsl"
#include "validate.glsl"
layout(local_size_x = 256) in;
layout(set = 0, binding = D4R_V_BIND_PARTIALS, std430) readonly buffer partial_block { vec4 partials[]; };
layout(set = 0, binding = D4R_V_BIND_LINES, std430) readonly buffer line_block { uint lines[]; };
layout(set = 0, binding = D4R_V_BIND_RING, std430) writeonly buffer ring_block { vec4 ring[]; };
shared vec4 sums_a[256];
shared vec4 sums_b[256];

void store(uint slice, vec4 a, vec4 b)
{
    uint at = (v.slot * D4R_V_SLOT_SLICES + slice) * 2u;
    ring[at] = a;
    ring[at + 1u] = b;
}

void reduce_slice(uint slice, uint index)
{
    vec4 a = vec4(0.0), b = vec4(0.0, 0.0, 0.0, -3e38);
    uint groups = slice < D4R_V_HYPOTHESES ? v.reading_groups : v.groups;
    if (slice < D4R_V_HYPOTHESES && (slice >= v.hypothesis_count || v.has_previous == 0u)) groups = 0u;
    for (uint i = index; i < groups; i += 256u) {
        uint at = (slice * v.groups + i) * 2u;
        vec4 other = partials[at + 1u];
        a += partials[at];
        b = vec4(b.xyz + other.xyz, max(b.w, other.w));
    }
    sums_a[index] = a;
    sums_b[index] = b;
    barrier();
    for (uint step = 128u; step > 0u; step >>= 1) {
        if (index < step) {
            sums_a[index] += sums_a[index + step];
            vec4 other = sums_b[index + step];
            sums_b[index] = vec4(sums_b[index].xyz + other.xyz, max(sums_b[index].w, other.w));
        }
        barrier();
    }
    if (index == 0u) store(slice, sums_a[0], sums_b[0]);
}

// First and last row and column with a changed pixel; -1 when nothing changed.
void reduce_lines(uint index)
{
    int rows = p.render.y, count = p.render.x + p.render.y;
    vec4 ends = vec4(1e9, -1.0, 1e9, -1.0);
    float changed = 0.0;
    for (int i = int(index); i < count; i += 256) {
        if (lines[i] == 0u) continue;
        float at = float(i < rows ? i : i - rows);
        if (i < rows) ends.xy = vec2(min(ends.x, at), max(ends.y, at));
        else ends.zw = vec2(min(ends.z, at), max(ends.w, at));
        if (i < rows) changed += float(lines[i]);
    }
    sums_a[index] = ends;
    sums_b[index].x = changed;
    barrier();
    if (index != 0u) return;
    for (int i = 1; i < 256; i++) {
        vec4 other = sums_a[i];
        ends = vec4(min(ends.x, other.x), max(ends.y, other.y), min(ends.z, other.z), max(ends.w, other.w));
        changed += sums_b[i].x;
    }
    vec4 there = vec4(0.0);
    if (ends.y >= 0.0)
        there = vec4(lines[int(ends.x)], lines[int(ends.y)], lines[rows + int(ends.z)], lines[rows + int(ends.w)]);
    store(D4R_V_SLICE_LINES, ends, there);
    float area = float(p.render.x) * float(p.render.y);
    store(D4R_V_SLICE_HEADER, vec4(float(v.sequence), current_exposure, mean_luma, changed / area), vec4(0.0));
}

void main()
{
    if (gl_WorkGroupID.x < D4R_V_SLICES) reduce_slice(gl_WorkGroupID.x, gl_LocalInvocationIndex);
    else reduce_lines(gl_LocalInvocationIndex);
}
