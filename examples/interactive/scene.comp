#version 450
// The interactive example's game: a small ray-traced scene that depends on the time alone. One sample a pixel at the
// jittered centre, as a rasteriser would give; colour (linear HDR), depth (near / z) and motion (to the previous position,
// render pixels, without jitter) of what the sample hit.
layout(local_size_x = 8, local_size_y = 8) in;
layout(binding = 0, rgba16f) uniform writeonly image2D color_image;
layout(binding = 1, rgba16f) uniform writeonly image2D motion_image;
layout(binding = 2, r32f) uniform writeonly image2D depth_image;
layout(push_constant) uniform Push {
    ivec2 render;
    vec2 jitter;
    float time, before; // seconds, of this frame and of the previous one
} push;

const float NEAR = 0.1, FAR = 1e6;
const vec3 SUN = normalize(vec3(0.65, 0.5, 0.35));
const int SPHERES = 5, RODS = 14;

struct Hit {
    float t;
    vec3 normal, albedo;
    float gloss;
    vec3 previous; // where the surface point was
};

mat3 turn(float a, float b) {
    float s = sin(a), c = cos(a), u = sin(b), v = cos(b);
    return mat3(c, 0, -s, 0, 1, 0, s, 0, c) * mat3(1, 0, 0, 0, v, u, 0, -u, v);
}

vec3 eye(float t) { return vec3(4.6 * sin(0.21 * t + 0.4), 1.25 + 0.2 * sin(0.5 * t), 4.6 * cos(0.21 * t + 0.4)); }

// Columns: right, down, forward.
mat3 view(float t) {
    vec3 f = normalize(vec3(0, 0.7, 0) - eye(t));
    vec3 r = normalize(cross(f, vec3(0, 1, 0)));
    return mat3(r, cross(f, r), f);
}

float focal() { return 0.85 * float(push.render.y); }

// Render pixels, and the depth along the axis.
vec3 project(vec3 d, float t) {
    vec3 v = transpose(view(t)) * d;
    return vec3(v.xy / v.z * focal() + 0.5 * vec2(push.render), v.z);
}

vec3 center(int i, float t) {
    float a = 1.2566 * float(i) + 0.35 * t;
    return vec3(1.7 * cos(a), 0.6 + 0.3 * abs(sin(1.1 * t + float(i) * 1.3)), 1.7 * sin(a));
}
float radius(int i) { return 0.46 + 0.07 * float(i % 3); }

vec3 rod(int i) {
    float a = 6.2832 * (float(i) + 0.5) / float(RODS);
    return vec3(3.1 * cos(a), 0.022, 3.1 * sin(a));
}

const vec3 HORIZON = vec3(0.95, 0.72, 0.52);

vec3 sky(vec3 d) {
    vec3 c = mix(HORIZON, vec3(0.08, 0.2, 0.55), pow(clamp(d.y, 0, 1), 0.42));
    vec2 p = d.xz / (d.y + 0.15);
    float cloud = sin(2.1 * p.x + sin(1.7 * p.y)) * sin(1.3 * p.y + 1.1 * sin(0.9 * p.x)) + 0.4 * sin(5 * p.x + 3 * p.y);
    c = mix(c, vec3(1.5, 1.25, 1.1), 0.75 * smoothstep(0.1, 0.9, cloud) * smoothstep(0.02, 0.3, d.y));
    return c + vec3(8, 6, 4) * pow(max(dot(d, SUN), 0), 900);
}

float sphere(vec3 o, vec3 d, vec3 c, float r) {
    vec3 q = o - c;
    float b = dot(q, d), h = b * b - dot(d, d) * (dot(q, q) - r * r);
    float t = h < 0 ? -1 : (-b - sqrt(h)) / dot(d, d);
    return t > 1e-3 ? t : FAR;
}

float cylinder(vec3 o, vec3 d, vec3 c, float height) {
    vec2 q = o.xz - c.xz;
    float a = dot(d.xz, d.xz), b = dot(q, d.xz), h = b * b - a * (dot(q, q) - c.y * c.y);
    float t = h < 0 ? -1 : (-b - sqrt(h)) / a;
    float y = o.y + t * d.y;
    return t > 1e-3 && y > 0 && y < height ? t : FAR;
}

bool shadowed(vec3 p) {
    for (int i = 0; i < SPHERES; i++)
        if (sphere(p, SUN, center(i, push.time), radius(i)) < FAR) return true;
    for (int i = 0; i < RODS; i++)
        if (cylinder(p, SUN, rod(i), 1.25) < FAR) return true;
    return false;
}

vec3 tiles(vec2 p) {
    vec2 f = abs(fract(p * 1.6) - 0.5), fine = abs(fract(p * 12.8) - 0.5);
    float check = mod(floor(p.x * 1.6) + floor(p.y * 1.6), 2);
    vec3 c = mix(vec3(0.16, 0.17, 0.2), vec3(0.5, 0.46, 0.4), check);
    if (max(fine.x, fine.y) > 0.45) c *= 0.72;
    return max(f.x, f.y) > 0.48 ? vec3(0.05) : c;
}

vec3 paint(int i, vec3 n) {
    vec2 a = vec2(atan(n.z, n.x) / 6.2832, n.y);
    if (i % 3 == 0) return mix(vec3(0.85, 0.15, 0.08), vec3(0.9), step(0.5, fract(a.y * 7)));
    if (i % 3 == 1) return mix(vec3(0.1, 0.3, 0.75), vec3(0.95, 0.8, 0.2), mod(floor(a.x * 24) + floor(a.y * 9), 2));
    return mix(vec3(0.12, 0.55, 0.25), vec3(0.85), step(0.75, fract(a.x * 20 + a.y * 2)));
}

Hit trace(vec3 o, vec3 d) {
    Hit hit = Hit(FAR, vec3(0), vec3(0), 0, vec3(0));
    if (d.y < 0) {
        float t = -o.y / d.y;
        vec3 p = o + t * d;
        if (t > 1e-3) hit = Hit(t, vec3(0, 1, 0), tiles(p.xz), 0, p);
    }
    for (int i = 0; i < RODS; i++) {
        vec3 c = rod(i);
        float t = cylinder(o, d, c, 1.25);
        if (t < hit.t) {
            vec3 p = o + t * d;
            hit = Hit(t, vec3((p - c).x, 0, (p - c).z) / c.y, mod(floor(p.y * 8), 2) > 0 ? vec3(0.8) : vec3(0.7, 0.1, 0.1), 0.2, p);
        }
    }
    for (int i = 0; i < SPHERES; i++) {
        vec3 c = center(i, push.time);
        float t = sphere(o, d, c, radius(i));
        if (t < hit.t) {
            float spin = 0.7 + 0.2 * float(i);
            vec3 n = (o + t * d - c) / radius(i);
            vec3 local = transpose(turn(spin * push.time, 0.4)) * n;
            hit = Hit(t, n, paint(i, local), 0.5,
                      center(i, push.before) + radius(i) * (turn(spin * push.before, 0.4) * local));
        }
    }
    return hit;
}

vec3 shade(Hit hit, vec3 p, vec3 d) {
    float sun = max(dot(hit.normal, SUN), 0);
    if (sun > 0 && shadowed(p + 2e-3 * hit.normal)) sun = 0;
    vec3 ambient = mix(vec3(0.16, 0.14, 0.12), vec3(0.26, 0.33, 0.48), 0.5 + 0.5 * hit.normal.y);
    for (int i = 0; i < SPHERES; i++) { // contact shadows
        vec3 q = center(i, push.time) - p;
        float near = max(dot(normalize(q), hit.normal), 0) * radius(i) * radius(i) / dot(q, q);
        ambient *= 1 - 0.8 * clamp(near, 0, 1);
    }
    vec3 c = hit.albedo * (ambient + sun * vec3(3.4, 2.8, 2.1));
    vec3 r = reflect(d, hit.normal);
    float fresnel = hit.gloss * (0.08 + 0.92 * pow(1 - max(dot(-d, hit.normal), 0), 5));
    return c + fresnel * sky(vec3(r.x, abs(r.y), r.z)) + hit.gloss * sun * 5 * pow(max(dot(r, SUN), 0), 80);
}

void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy);
    if (any(greaterThanEqual(at, push.render))) return;
    vec2 sampled = vec2(at) + 0.5 + push.jitter;
    vec3 d = view(push.time) * vec3((sampled - 0.5 * vec2(push.render)) / focal(), 1);
    vec3 o = eye(push.time), color;
    Hit hit = trace(o, d);
    vec2 before;
    if (hit.t < FAR) {
        vec3 p = o + hit.t * d;
        color = shade(hit, p, normalize(d));
        color = mix(color, HORIZON, 1 - exp(-0.02 * hit.t)); // haze
        before = project(hit.previous - eye(push.before), push.before).xy;
    } else {
        color = sky(normalize(d));
        before = project(d, push.before).xy;
    }
    imageStore(color_image, at, vec4(color, 1));
    imageStore(motion_image, at, vec4(before - sampled, 0, 0));
    imageStore(depth_image, at, vec4(hit.t < FAR ? NEAR / hit.t : 0)); // d has length 1 along the axis
}
