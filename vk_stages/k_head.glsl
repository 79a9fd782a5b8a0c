// Preset K's head: what the network says of every sub-block, and the recurrent features of a token.
layout(set = 0, binding = D4R_BIND_HEAD, std430) readonly buffer head_block { uvec4 head[]; };

float head_value(float v) { return is_finite(v) ? v : 0.0; }
vec4 head_values(uint a, uint b)
{
    vec4 v = vec4(unpackHalf2x16(a), unpackHalf2x16(b));
    return vec4(head_value(v.x), head_value(v.y), head_value(v.z), head_value(v.w));
}
vec4 sigmoids(vec4 v) { return vec4(sigmoid(v.x), sigmoid(v.y), sigmoid(v.z), sigmoid(v.w)); }

int head_at(ivec2 token) { return (token.y * p.grid.x + token.x) * 5; }

// kernel: shape (column, row), gain, keep; gates: show, own, clip, box.
void read_sub_block(ivec2 sub_block, out vec4 kernel, out vec4 gates)
{
    uvec4 v = head[head_at(sub_block >> 1) + (sub_block.y & 1) * 2 + (sub_block.x & 1)];
    kernel = sigmoids(head_values(v.x, v.y)) * vec4(3.0, 3.0, 4.0, 1.0);
    gates = sigmoids(head_values(v.z, v.w)) * vec4(1.0, 1.0, 1.0, 4.0);
}
