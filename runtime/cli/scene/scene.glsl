// The scene as both passes see it: primitives, their intersection, procedural materials, light and sky.
//
// Lists of primitives come from the host, one a tile of 8x8 pixels, grouped by kind: llvmpipe executes every branch of
// every lane, so a loop over one kind costs a quarter of a loop that chooses.
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 8, local_size_y = 8) in;

struct primitive {
    vec4 a, b, c, p; // box: centre, half size; quad: centre, half axes; capsule: ends (radius in a.w); sphere: centre, radius
    uvec4 meta;      // material, object, kind, 0
};
struct material {
    vec4 color0, color1, color2; // rgb; w: emission, specular, gloss
    vec4 size, more;
    uvec4 meta; // pattern, text offset, text columns, text rows
};
struct object {
    vec4 now[3], previous[3]; // rows of object -> world
};
struct camera {
    vec4 position, right, up, forward; // w: near, tan of half the field of view x, y, 0
};

layout(std430, set = 0, binding = 0) readonly buffer frame_block {
    camera now, previous;
    vec4 sun_direction, sun_color; // w: cosine of its radius, radiance of the disc
    vec4 zenith, horizon, bounce;  // sky colours and light from below; w: cloud cover, fog density, ambient
    vec4 light_position[4], light_color[4];
}
frame;
layout(std430, set = 0, binding = 1) readonly buffer primitive_block { primitive primitives[]; };
layout(std430, set = 0, binding = 2) readonly buffer object_block { object objects[]; };
layout(std430, set = 0, binding = 3) readonly buffer material_block { material materials[]; };
layout(std430, set = 0, binding = 4) readonly buffer list_block { uint lists[]; };
layout(std430, set = 0, binding = 5) readonly buffer text_block { uint texts[]; }; // 2 words a glyph, then codes

layout(push_constant) uniform push_block {
    uvec2 size;      // of this pass, pixels
    uint tiles_x;    // tiles a row
    uint tile_y;     // first tile row of this dispatch
    vec2 jitter;
    uint samples;
    uint shadow_list; // where the list of shadow casters starts
    uint glyphs;      // words before the codes in texts
    uint wide_motion; // f32 vectors instead of f16
}
push;

const float FAR = 1e6;
const float PI = 3.14159265358979;

// A quad is a sheet (whole, or a mesh of bars), a wheel (rim, hub, spokes) or leaves.
const uint KIND_BOX = 0, KIND_SHEET = 1, KIND_WHEEL = 2, KIND_LEAVES = 3, KIND_CAPSULE = 4, KIND_SPHERE = 5, KINDS = 6;
const uint PATTERN_PLAIN = 0, PATTERN_BRICK = 1, PATTERN_TILES = 2, PATTERN_STRIPES = 3, PATTERN_FACADE = 4,
           PATTERN_TEXT = 5, PATTERN_PRINT = 6, PATTERN_ZONES = 7, PATTERN_STAR = 8;

// ---- small helpers

uint hash(uint v)
{
    v = v * 747796405u + 2891336453u;
    v = ((v >> ((v >> 28) + 4u)) ^ v) * 277803737u;
    return (v >> 22) ^ v;
}

float random(ivec2 cell, uint salt)
{
    return float(hash(uint(cell.x) * 0x9e3779b1u ^ hash(uint(cell.y) + salt * 0x85ebca6bu)) >> 8) * (1.0 / 16777216.0);
}

float noise(vec2 p, uint salt)
{
    ivec2 i = ivec2(floor(p));
    vec2 f = fract(p);
    f = f * f * (3.0 - 2.0 * f);
    return mix(mix(random(i, salt), random(i + ivec2(1, 0), salt), f.x),
               mix(random(i + ivec2(0, 1), salt), random(i + ivec2(1, 1), salt), f.x), f.y);
}

vec3 to_world(vec4 rows[3], vec3 p)
{
    vec4 q = vec4(p, 1.0);
    return vec3(dot(rows[0], q), dot(rows[1], q), dot(rows[2], q));
}

vec3 turn_to_object(vec4 rows[3], vec3 d)
{
    return rows[0].xyz * d.x + rows[1].xyz * d.y + rows[2].xyz * d.z;
}

vec3 to_object(vec4 rows[3], vec3 p)
{
    return turn_to_object(rows, p - vec3(rows[0].w, rows[1].w, rows[2].w));
}

vec3 turn_to_world(vec4 rows[3], vec3 d)
{
    return vec3(dot(rows[0].xyz, d), dot(rows[1].xyz, d), dot(rows[2].xyz, d));
}

// ---- intersection: all return the ray parameter, FAR for a miss. Rays are in object space, directions not normalised.

float hit_box(primitive k, vec3 o, vec3 d)
{
    vec3 inverse = 1.0 / d;
    vec3 middle = (k.a.xyz - o) * inverse, reach = abs(inverse) * k.b.xyz;
    vec3 t0 = middle - reach, t1 = middle + reach;
    float near = max(max(t0.x, t0.y), t0.z), far = min(min(t1.x, t1.y), t1.z);
    return near <= far && near > 0.0 ? near : FAR;
}

// The three kinds of quad have a function each: together they would cost every quad the sum of all three.

// p: bar spacing x, y, half widths; a spacing of 0: whole.
bool mesh_solid(primitive k, vec2 at, vec2 extent)
{
    vec2 cell = abs(fract(at / k.p.xy + 0.5) - 0.5) * k.p.xy;
    return k.p.x == 0.0 || cell.x < k.p.z || cell.y < k.p.w;
}

// p: spokes, rim width, spoke half width, hub radius
bool wheel_solid(primitive k, vec2 at, vec2 extent)
{
    float r = length(at), around = atan(at.y, at.x) * k.p.x / (2.0 * PI);
    return r < extent.x && (r > extent.x - k.p.y || r < k.p.w ||
                            abs(fract(around + 0.5) - 0.5) * 2.0 * PI / k.p.x * r < k.p.z);
}

// p: leaf size, threshold
bool leaves_solid(primitive k, vec2 at, vec2 extent)
{
    vec2 leaf = at / k.p.x;
    float cover = noise(leaf, 7u) + 0.35 * noise(leaf * 3.1, 8u);
    return cover > k.p.y + 0.55 * dot(at / extent, at / extent);
}

#define HIT_QUAD(name, solid)                                                                                          \
    float name(primitive k, vec3 o, vec3 d)                                                                            \
    {                                                                                                                  \
        vec3 n = cross(k.b.xyz, k.c.xyz), q = k.a.xyz - o;                                                             \
        float t = dot(n, q) / dot(n, d);                                                                               \
        vec3 at = d * t - q;                                                                                           \
        vec2 extent = vec2(length(k.b.xyz), length(k.c.xyz));                                                          \
        vec2 s = vec2(dot(at, k.b.xyz), dot(at, k.c.xyz)) / extent;                                                    \
        return t > 0.0 && abs(s.x) <= extent.x && abs(s.y) <= extent.y && solid(k, s, extent) ? t : FAR;               \
    }
HIT_QUAD(hit_sheet, mesh_solid)
HIT_QUAD(hit_wheel, wheel_solid)
HIT_QUAD(hit_leaves, leaves_solid)

float hit_sphere(vec3 centre, float radius, vec3 o, vec3 d)
{
    // From the point of closest approach: a small sphere far away keeps its precision.
    float dd = dot(d, d), t = dot(centre - o, d) / dd;
    vec3 off = o + d * t - centre;
    float inside = radius * radius - dot(off, off);
    t -= sqrt(max(inside, 0.0) / dd);
    return inside > 0.0 && t > 0.0 ? t : FAR;
}

float hit_capsule(primitive k, vec3 o, vec3 d)
{
    float dd = dot(d, d), start = dot(0.5 * (k.a.xyz + k.b.xyz) - o, d) / dd;
    vec3 axis = k.b.xyz - k.a.xyz, from = o + d * start - k.a.xyz; // start near it, for precision
    float aa = dot(axis, axis), ad = dot(axis, d), af = dot(axis, from), df = dot(d, from);
    float a = aa * dd - ad * ad, b = aa * df - af * ad;
    float c = aa * (dot(from, from) - k.a.w * k.a.w) - af * af, root = b * b - a * c;
    float t = (-b - sqrt(max(root, 0.0))) / a, along = af + t * ad;
    float side = root > 0.0 && along > 0.0 && along < aa && start + t > 0.0 ? start + t : FAR;
    float cap = hit_sphere(along <= 0.0 ? k.a.xyz : k.b.xyz, k.a.w, o, d);
    return side < FAR ? side : along <= 0.0 || along >= aa ? cap : FAR;
}

// Several rays at once: on llvmpipe a load from a buffer costs as much as dozens of operations, so every primitive that was
// loaded is tried against RAYS rays. Arrays are indexed by constants only, so that they stay in registers.
#if RAYS == 1
#define EACH(X) X(0)
#elif RAYS == 8
#define EACH(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#endif

struct rays {
    vec3 origin[RAYS], direction[RAYS];
    float nearest[RAYS]; // ray parameter, FAR: nothing
    int found[RAYS];     // primitive, -1: nothing
};

#define TAKE(i, expression)                                                                                            \
    {                                                                                                                  \
        float t = expression;                                                                                          \
        r.found[i] = t < r.nearest[i] ? int(index) : r.found[i];                                                       \
        r.nearest[i] = min(t, r.nearest[i]);                                                                           \
    }
#define LOOP(kind, X)                                                                                                  \
    for (uint end = at + lists[list + 1u + kind]; at < end; at++) {                                                    \
        uint index = lists[at];                                                                                        \
        primitive k = primitives[index];                                                                               \
        EACH(X)                                                                                                        \
    }
#define LOOP_MOVING(kind, X)                                                                                           \
    for (uint end = at + lists[list + 1u + KINDS + kind]; at < end; at++) {                                            \
        uint index = lists[at];                                                                                        \
        primitive k = primitives[index];                                                                               \
        object m = objects[k.meta.y];                                                                                  \
        EACH(X)                                                                                                        \
    }
#define AS_IS(i) r.origin[i], r.direction[i]
#define IN_OBJECT(i) to_object(m.now, r.origin[i]), turn_to_object(m.now, r.direction[i])
#define BOX(i) TAKE(i, hit_box(k, AS_IS(i)))
#define SHEET(i) TAKE(i, hit_sheet(k, AS_IS(i)))
#define WHEEL(i) TAKE(i, hit_wheel(k, AS_IS(i)))
#define LEAVES(i) TAKE(i, hit_leaves(k, AS_IS(i)))
#define CAPSULE(i) TAKE(i, hit_capsule(k, AS_IS(i)))
#define SPHERE(i) TAKE(i, hit_sphere(k.a.xyz, k.a.w, AS_IS(i)))
#define MOVING_BOX(i) TAKE(i, hit_box(k, IN_OBJECT(i)))
#define MOVING_SHEET(i) TAKE(i, hit_sheet(k, IN_OBJECT(i)))
#define MOVING_WHEEL(i) TAKE(i, hit_wheel(k, IN_OBJECT(i)))
#define MOVING_CAPSULE(i) TAKE(i, hit_capsule(k, IN_OBJECT(i)))
#define MOVING_SPHERE(i) TAKE(i, hit_sphere(k.a.xyz, k.a.w, IN_OBJECT(i)))
#define CLEAR(i)                                                                                                       \
    r.nearest[i] = FAR;                                                                                                \
    r.found[i] = -1;

// A list: offset of its indices, then for every kind the number of primitives that stand still, then of those that move.
// Leaves do not move.
void trace(uint list, inout rays r)
{
    uint at = lists[list];
    EACH(CLEAR)
    LOOP(KIND_BOX, BOX)
    LOOP(KIND_SHEET, SHEET)
    LOOP(KIND_WHEEL, WHEEL)
    LOOP(KIND_LEAVES, LEAVES)
    LOOP(KIND_CAPSULE, CAPSULE)
    LOOP(KIND_SPHERE, SPHERE)
    LOOP_MOVING(KIND_BOX, MOVING_BOX)
    LOOP_MOVING(KIND_SHEET, MOVING_SHEET)
    LOOP_MOVING(KIND_WHEEL, MOVING_WHEEL)
    LOOP_MOVING(KIND_CAPSULE, MOVING_CAPSULE)
    LOOP_MOVING(KIND_SPHERE, MOVING_SPHERE)
}

// ---- light and sky

vec3 sky_gradient(vec3 n)
{
    float up = clamp(n.y, 0.0, 1.0);
    return mix(frame.horizon.rgb, frame.zenith.rgb, pow(up, 0.45));
}

vec3 sky(vec3 direction)
{
    vec3 n = normalize(direction), s = frame.sun_direction.xyz;
    float towards = max(dot(n, s), 0.0);
    vec3 color = sky_gradient(n);
    vec2 p = n.xz / (max(n.y, 0.0) + 0.12) * 1.3;
    float cover = 0.5 * noise(p, 21u) + 0.28 * noise(p * 2.1 + 3.0, 22u) + 0.14 * noise(p * 4.3, 23u) + 0.08 * noise(p * 9.1, 24u);
    float cloud = smoothstep(1.0 - frame.zenith.w, 1.25 - frame.zenith.w, cover) * smoothstep(0.0, 0.15, n.y);
    vec3 lit = frame.sun_color.rgb * (0.10 + 0.35 * pow(towards, 6.0)) + frame.zenith.rgb * 0.5;
    color = mix(color, lit, cloud);
    color += frame.sun_color.rgb * (0.06 * pow(towards, 12.0) + 0.25 * pow(towards, 180.0)) * (1.0 - 0.7 * cloud);
    float disc = step(frame.sun_direction.w, towards) * (1.0 - cloud);
    return color + frame.sun_color.rgb * frame.sun_color.w * disc;
}

// ---- materials

struct surface {
    vec3 color, emission;
    float specular, gloss;
    float bump_x, bump_y; // slope along u, v
};

bool glyph_bit(uint code, ivec2 pixel)
{
    bool inside = pixel.x >= 0 && pixel.x < 5 && pixel.y >= 0 && pixel.y < 7 && code > 0u;
    int bit = pixel.y * 5 + pixel.x;
    uint word = texts[2u * min(code, push.glyphs / 2u - 1u) + (bit < 32 ? 0u : 1u)];
    return inside && ((word >> uint(bit & 31)) & 1u) != 0u;
}

surface plain_surface(material m, vec3 color)
{
    return surface(color, color * m.color0.w, m.color1.w, m.color2.w, 0.0, 0.0);
}

// Courses of bricks or tiles. size: cell, mortar half width, offset of every second row.
surface masonry(material m, vec2 uv, bool checker)
{
    vec2 p = uv / m.size.xy;
    float row = floor(p.y);
    p.x += m.size.w * mod(row, 2.0);
    ivec2 cell = ivec2(floor(p));
    vec2 edge = (0.5 - abs(fract(p) - 0.5)) * m.size.xy; // metres to the nearest joint
    bool joint = min(edge.x, edge.y) < m.size.z;
    float vary = random(cell, 3u);
    vec3 color = checker ? (((cell.x + cell.y) & 1) == 0 ? m.color0.rgb : m.color1.rgb)
                         : mix(m.color0.rgb, m.color1.rgb, vary);
    color *= 0.92 + 0.16 * random(cell, 4u) * (checker ? 0.6 : 1.0);
    surface s = plain_surface(m, joint ? m.color2.rgb : color);
    s.specular = joint ? 0.0 : s.specular * (0.6 + 0.8 * vary);
    vec2 f = fract(p) - 0.5;
    s.bump_x = joint ? 0.5 * sign(f.x) : 0.06 * (random(cell, 5u) - 0.5);
    s.bump_y = joint ? 0.5 * sign(f.y) : 0.06 * (random(cell, 6u) - 0.5);
    return s;
}

surface stripes(material m, vec2 uv)
{
    float p = fract(uv.y / m.size.x);
    surface s = plain_surface(m, mix(m.color0.rgb, m.color1.rgb, step(m.size.y, p)));
    s.bump_y = m.size.z * (p - 0.5);
    return s;
}

// Windows in masonry. more: window spacing x, y, half width, half height (metres).
surface facade(material m, vec2 uv, vec3 reflected)
{
    surface s = masonry(m, uv, false);
    vec2 spacing = m.more.xy, half_size = m.more.zw;
    ivec2 cell = ivec2(floor(uv / spacing));
    vec2 at = (fract(uv / spacing) - 0.5) * spacing;
    vec2 into = half_size - abs(at);
    float lit = random(cell, 11u), inner = min(into.x, into.y);
    bool window = inner > 0.0;
    bool frame_bar = inner < 0.05 || abs(at.x) < 0.022 || abs(at.y - 0.25 * half_size.y) < 0.022;
    bool shutter = !window && abs(at.y) < half_size.y && into.x < 0.0 && into.x > -0.62 * half_size.x;
    bool sill = !window && !shutter && abs(at.x) < half_size.x + 0.12 && at.y < -half_size.y && at.y > -half_size.y - 0.10;
    bool floor_line = abs(fract(uv.y / spacing.y) * spacing.y) < 0.09;
    float louvre = fract(at.y / 0.06);
    if (shutter) {
        vec3 paint = mix(vec3(0.09, 0.17, 0.15), vec3(0.24, 0.09, 0.06), step(0.5, fract(m.more.x * 7.3)));
        s = surface(paint * (0.35 + 0.9 * louvre), vec3(0.0), 0.05, 20.0, 0.0, 0.8 * (louvre - 0.5));
    }
    if (sill || floor_line) s = surface(vec3(0.52, 0.49, 0.44), vec3(0.0), 0.02, 10.0, 0.0, 0.0);
    if (window) {
        float curtain = 0.55 + 0.45 * sin(at.x * 55.0 + lit * 40.0);
        bool on = lit < 0.34;
        vec3 warm = mix(vec3(1.0, 0.62, 0.28), vec3(0.95, 0.86, 0.62), random(cell, 12u));
        vec3 room = on ? warm * (0.9 + 2.2 * random(cell, 13u)) * mix(1.0, curtain, step(0.0, at.y) * 0.6) : vec3(0.008, 0.012, 0.016);
        vec3 sheen = sky_gradient(reflected) * (0.30 + 0.7 * random(cell, 14u)) * smoothstep(-0.1, 0.3, reflected.y);
        s = surface(vec3(0.01), room + sheen * 0.35, 0.9, 900.0, 0.01 * (lit - 0.5), 0.01 * (lit - 0.5));
        if (frame_bar) s = surface(vec3(0.62, 0.60, 0.55), vec3(0.0), 0.04, 20.0, 0.0, 0.0);
    }
    return s;
}

// Lettering centred at uv = 0. size: metres a glyph pixel x, y; border width, half height of the panel. Foreground
// color1 with emission color0.w.
surface lettering(material m, vec2 uv)
{
    ivec2 grid = ivec2(m.meta.zw);
    vec2 p = vec2(uv.x / m.size.x, -uv.y / m.size.y) + 0.5 * vec2(grid.x * 6 - 1, grid.y * 9 - 2);
    ivec2 pixel = ivec2(floor(p)), cell = ivec2(floor(p / vec2(6.0, 9.0)));
    bool inside = cell.x >= 0 && cell.x < grid.x && cell.y >= 0 && cell.y < grid.y;
    ivec2 safe = clamp(cell, ivec2(0), grid - 1);
    uint code = texts[push.glyphs + m.meta.y + uint(safe.y * grid.x + safe.x)];
    bool ink = inside && glyph_bit(code, pixel - cell * ivec2(6, 9));
    surface s = plain_surface(m, m.color0.rgb);
    s.emission = ink ? m.color1.rgb * m.color0.w : vec3(0.0);
    s.color = ink ? m.color1.rgb : m.color0.rgb;
    return s;
}

// A page of small print: words of random letters, ragged right. size as for lettering; more.xy half size of the page.
surface small_print(material m, vec2 uv)
{
    vec2 p = vec2(uv.x + m.more.x * 0.86, m.more.y * 0.88 - uv.y) / m.size.xy;
    ivec2 pixel = ivec2(floor(p)), cell = ivec2(floor(p / vec2(6.0, 11.0)));
    float columns = 1.72 * m.more.x / (6.0 * m.size.x), rows = 1.76 * m.more.y / (11.0 * m.size.y);
    bool inside = cell.x >= 0 && cell.y >= 0 && float(cell.y) < rows - 1.0 &&
                  float(cell.x) < columns * (0.80 + 0.2 * random(ivec2(cell.y, 1), 31u)) && cell.y % 9 != 8;
    uint code = random(cell, 32u) < 0.17 ? 0u : 1u + uint(random(cell, 33u) * 26.0);
    bool ink = inside && glyph_bit(code, pixel - cell * ivec2(6, 11));
    surface s = plain_surface(m, ink ? m.color1.rgb : m.color0.rgb);
    s.emission = vec3(0.0);
    return s;
}

// Rings whose frequency grows outwards (size.x: radians a square metre), or a star of size.y rays.
surface test_target(material m, vec2 uv, bool star)
{
    float wave = star ? sin(atan(uv.y, uv.x) * m.size.y) : sin(dot(uv, uv) * m.size.x);
    surface s = plain_surface(m, mix(m.color0.rgb, m.color1.rgb, star ? step(0.0, wave) : 0.5 + 0.5 * wave));
    s.emission = vec3(0.0);
    return s;
}

surface material_at(material m, vec2 uv, vec3 reflected)
{
    surface s = plain_surface(m, m.color0.rgb * (0.94 + 0.12 * noise(uv * 9.0, 2u)));
    uint pattern = m.meta.x;
    if (pattern == PATTERN_BRICK || pattern == PATTERN_TILES) s = masonry(m, uv, pattern == PATTERN_TILES);
    if (pattern == PATTERN_STRIPES) s = stripes(m, uv);
    if (pattern == PATTERN_FACADE) s = facade(m, uv, reflected);
    if (pattern == PATTERN_TEXT) s = lettering(m, uv);
    if (pattern == PATTERN_PRINT) s = small_print(m, uv);
    if (pattern == PATTERN_ZONES || pattern == PATTERN_STAR) s = test_target(m, uv, pattern == PATTERN_STAR);
    return s;
}

// ---- a whole ray

struct hit {
    float t;             // planar depth, FAR: sky
    int primitive_index; // -1: sky
    bool in_shadow;
    vec3 at;             // in the object's space
};

// Fills the rays of the camera and says which are in shadow.
#define SHADOW_RAY(i)                                                                                                  \
    s.origin[i] = r.origin[i] + r.direction[i] * (r.nearest[i] < FAR ? r.nearest[i] * 0.9999 - 1e-3 : 0.0);            \
    s.direction[i] = frame.sun_direction.xyz;

void trace_with_shadows(uint list, inout rays r, out rays s)
{
    trace(list, r);
    // Starting a little before the surface, on the viewer's side, which is the lit side wherever the shadow matters.
    EACH(SHADOW_RAY)
    trace(push.shadow_list, s);
}

hit hit_of(float t, int found, float blocked, vec3 direction)
{
    hit h = hit(t, found, blocked < FAR, vec3(0.0));
    uint which = primitives[max(found, 0)].meta.y;
    h.at = to_object(objects[which].now, frame.now.position.xyz + direction * min(t, 1e4));
    return h;
}

// Normal and surface coordinates (metres) at a hit, in the object's space.
void frame_of(hit h, primitive k, vec3 direction, out vec3 n, out vec3 tangent, out vec3 bitangent, out vec2 uv)
{
    vec3 q = h.at - k.a.xyz, scaled = q / max(k.b.xyz, vec3(1e-6)), size = abs(scaled);
    bool x = size.x >= size.y && size.x >= size.z, y = !x && size.y >= size.z;
    n = x ? vec3(sign(q.x), 0.0, 0.0) : y ? vec3(0.0, sign(q.y), 0.0) : vec3(0.0, 0.0, sign(q.z));
    tangent = x ? vec3(0.0, 0.0, -sign(q.x)) : y ? vec3(1.0, 0.0, 0.0) : vec3(sign(q.z), 0.0, 0.0);
    uv = x ? vec2(-sign(q.x) * q.z, q.y) : y ? vec2(q.x, -q.z) : vec2(sign(q.z) * q.x, q.y);
    if (k.meta.z >= KIND_SHEET && k.meta.z <= KIND_LEAVES) {
        n = normalize(cross(k.b.xyz, k.c.xyz));
        n *= dot(n, direction) > 0.0 ? -1.0 : 1.0;
        tangent = normalize(k.b.xyz);
        uv = vec2(dot(q, tangent), dot(q, normalize(k.c.xyz)));
    }
    if (k.meta.z >= KIND_CAPSULE) {
        vec3 axis = k.meta.z == KIND_CAPSULE ? k.b.xyz - k.a.xyz : vec3(0.0, 1.0, 0.0);
        float along = k.meta.z == KIND_CAPSULE ? clamp(dot(q, axis) / dot(axis, axis), 0.0, 1.0) : 0.0;
        n = normalize(q - axis * along);
        tangent = normalize(cross(axis, n) + vec3(1e-6, 0.0, 0.0));
        uv = k.meta.z == KIND_CAPSULE ? vec2(atan(n.z, n.x) * k.a.w, along * length(axis)) : vec2(atan(n.z, n.x), asin(n.y)) * k.a.w;
    }
    bitangent = cross(n, tangent);
}

vec3 lamps(vec3 at, vec3 n)
{
    vec3 sum = vec3(0.0);
    for (int i = 0; i < 4; i++) {
        vec3 to = frame.light_position[i].xyz - at;
        float square = dot(to, to);
        sum += frame.light_color[i].rgb * max(dot(n, to) * inversesqrt(square), 0.0) / (square + 0.3);
    }
    return sum;
}

vec3 shade(hit h, vec3 direction)
{
    primitive k = primitives[max(h.primitive_index, 0)];
    object o = objects[k.meta.y];
    material m = materials[k.meta.x];
    vec3 n, tangent, bitangent;
    vec2 uv;
    frame_of(h, k, turn_to_object(o.now, direction), n, tangent, bitangent, uv);
    vec3 flat_n = turn_to_world(o.now, n), view = normalize(direction);
    surface s = material_at(m, uv, reflect(view, flat_n));
    n = normalize(turn_to_world(o.now, n + tangent * s.bump_x + bitangent * s.bump_y));
    vec3 at = frame.now.position.xyz + direction * min(h.t, 1e4), sun = frame.sun_direction.xyz;
    float facing = max(dot(n, sun), 0.0) * step(0.0, dot(flat_n, sun));
    float lit = h.in_shadow ? 0.0 : facing;
    vec3 ambient = mix(frame.bounce.rgb, mix(frame.horizon.rgb, frame.zenith.rgb, 0.6), 0.5 + 0.5 * n.y) * frame.bounce.w;
    float glint = pow(max(dot(reflect(view, n), sun), 0.0), s.gloss) * (s.gloss + 2.0) * 0.12;
    vec3 color = s.color * (frame.sun_color.rgb * lit + ambient + lamps(at, n)) + s.emission;
    color += frame.sun_color.rgb * min(lit, 1.0) * s.specular * glint;
    float fog = 1.0 - exp(-frame.horizon.w * h.t * length(direction));
    vec3 haze = sky_gradient(vec3(view.x, max(view.y, 0.02), view.z)) +
                frame.sun_color.rgb * 0.08 * pow(max(dot(view, sun), 0.0), 8.0);
    return mix(color, haze, fog);
}

vec3 radiance(hit h, vec3 direction)
{
    vec3 color = h.t < FAR ? shade(h, direction) : sky(direction);
    return clamp(color, vec3(0.0), vec3(60000.0));
}

vec3 camera_ray(camera v, vec2 pixel)
{
    vec2 at = pixel / vec2(push.size) * 2.0 - 1.0;
    return v.forward.xyz + v.right.xyz * (at.x * v.right.w) - v.up.xyz * (at.y * v.up.w);
}

// Pixel position of a direction or point relative to the camera; z: planar depth.
vec3 project(camera v, vec3 relative)
{
    float z = dot(relative, v.forward.xyz);
    vec2 at = vec2(dot(relative, v.right.xyz) / v.right.w, -dot(relative, v.up.xyz) / v.up.w) / z;
    return vec3((at * 0.5 + 0.5) * vec2(push.size), z);
}

uint tile_list()
{
    return ((gl_WorkGroupID.y + push.tile_y) * push.tiles_x + gl_WorkGroupID.x) * (1u + 2u * KINDS);
}
