/* A street before sunset: brick facades, cobbles, tram wires, festoon lights, fences, a tram, a turning sign, a wheel. */
#include <math.h>

#include "runtime/cli/scene/scene.h"

#define V(x, y, z) ((vec3){x, y, z})

static void sky_and_light(scene *s)
{
    scene_frame *f = &s->frame;
    scene_sun(s, 0.44, 0.27, V(5.4, 3.2, 1.45), 160);
    const float zenith[4] = {0.10f, 0.22f, 0.56f, 0.40f}, horizon[4] = {0.78f, 0.50f, 0.36f, 0.0022f};
    const float bounce[4] = {0.20f, 0.14f, 0.10f, 0.50f};
    for (int i = 0; i < 4; i++) {
        f->zenith[i] = zenith[i];
        f->horizon[i] = horizon[i];
        f->bounce[i] = bounce[i];
    }
}

static void ground(scene *s)
{
    s->shadow = false;
    scene_material *m = scene_paint(s, SCENE_BRICK, V(0.16, 0.15, 0.15), V(0.27, 0.25, 0.23)); /* cobbles */
    m->size[0] = 0.19f, m->size[1] = 0.13f, m->size[2] = 0.012f;
    m->color2[0] = m->color2[1] = m->color2[2] = 0.05f;
    m->color1[3] = 0.12f, m->color2[3] = 60;
    scene_box(s, V(-3.6, -0.5, -95), V(3.6, 0, 12));
    m = scene_paint(s, SCENE_TILES, V(0.34, 0.32, 0.30), V(0.29, 0.28, 0.27));
    m->size[0] = m->size[1] = 0.42f, m->size[2] = 0.006f, m->size[3] = 0;
    m->color2[0] = m->color2[1] = m->color2[2] = 0.10f;
    scene_box(s, V(-6.2, -0.5, -95), V(-3.6, 0.14, 12));
    scene_box(s, V(3.6, -0.5, -95), V(6.2, 0.14, 12));
    scene_paint(s, SCENE_PLAIN, V(0.09, 0.16, 0.05), V(0, 0, 0)); /* grass of the park */
    scene_box(s, V(6.2, -0.5, -95), V(60, 0.10, 12));
    m = scene_paint(s, SCENE_PLAIN, V(0.30, 0.30, 0.31), V(0, 0, 0)); /* rails */
    m->color1[3] = 2.5f, m->color2[3] = 300;
    for (int side = -1; side <= 1; side += 2) {
        double x = -0.5 + side * 0.72;
        scene_box(s, V(x - 0.03, -0.1, -95), V(x + 0.03, 0.012, 12));
    }
    scene_paint(s, SCENE_PLAIN, V(0.62, 0.60, 0.55), V(0, 0, 0)); /* a zebra crossing */
    for (int i = 0; i < 7; i++) scene_box(s, V(-3.3 + i, -0.1, -6.4), V(-2.8 + i, 0.006, -3.6));
    s->shadow = true;
}

/* A house: shop below, windows above, cornice, chimneys. side -1: left, its face at x = -6.2; `windows` across. */
static void house(scene *s, int side, double z0, int windows, int floors, vec3 wall, vec3 wall2, vec3 shop)
{
    double face = 6.2 * side, back = 15.0 * side, spacing = 2.2, storey = 3.0;
    double z1 = z0 - windows * spacing, top = 3.7 + floors * storey;
    double low = fmin(face, back), high = fmax(face, back);
    s->shadow = side > 0; /* the sun is on the right: the left row's shadow is never seen */
    scene_material *m = scene_paint(s, SCENE_FACADE, wall, wall2);
    m->size[0] = 0.25f, m->size[1] = 0.075f, m->size[2] = 0.006f;
    m->color2[0] = 0.42f, m->color2[1] = 0.39f, m->color2[2] = 0.35f;
    m->more[0] = (float)spacing, m->more[1] = (float)storey, m->more[2] = 0.46f, m->more[3] = 0.85f;
    scene_box(s, V(low, 3.7, z1), V(high, top, z0));
    m = scene_paint(s, SCENE_STRIPES, shop, V(shop.x * 0.6, shop.y * 0.6, shop.z * 0.6));
    m->size[0] = 0.16f, m->size[1] = 0.86f, m->size[2] = 0.3f;
    scene_box(s, V(low, 0, z1 + 0.02), V(high, 3.7, z0 - 0.02));
    /* shop windows: lit, with shelves, a mullion every metre and a half */
    s->shadow = false;
    double lit = scene_random(s, 0.7, 1.3);
    m = scene_paint(s, SCENE_STRIPES, V(1.0, 0.66, 0.33), V(0.34, 0.17, 0.08));
    m->color0[3] = (float)lit, m->size[0] = 0.47f, m->size[1] = 0.84f, m->size[2] = 0, m->color1[3] = 0.6f;
    m->color2[3] = 400;
    double shop_face = face - side * 0.03;
    for (double z = z0 - 0.7; z - 1.25 > z1 + 0.3; z -= 1.6)
        scene_box(s, V(fmin(shop_face, face), 0.75, z - 1.25), V(fmax(shop_face, face), 2.7, z));
    scene_paint(s, SCENE_PLAIN, V(0.56, 0.53, 0.48), V(0, 0, 0));
    double out = face - side * 0.22, band = face - side * 0.10;
    scene_box(s, V(fmin(low, out), top, z1), V(fmax(high, out), top + 0.28, z0));
    scene_box(s, V(fmin(low, band), 3.55, z1), V(fmax(high, band), 3.75, z0));
    m = scene_paint(s, SCENE_BRICK, V(0.34, 0.15, 0.10), V(0.26, 0.11, 0.08));
    m->size[0] = 0.25f, m->size[1] = 0.075f, m->size[2] = 0.006f;
    for (int i = 0; i < 2; i++) {
        double z = z0 - scene_random(s, 1, windows * spacing - 1),
               x = face + side * scene_random(s, 1.2, 2.5);
        scene_box(s, V(x - 0.4, top, z - 0.4), V(x + 0.4, top + scene_random(s, 1.0, 1.7), z + 0.4));
    }
    s->shadow = z0 > -15;
    /* an awning */
    m = scene_paint(s, SCENE_STRIPES, V(0.72, 0.68, 0.60), V(0.50, 0.07, 0.06));
    m->size[0] = 0.24f, m->size[1] = 0.5f;
    double z = z0 - 0.5 - scene_random(s, 0, 1.5);
    scene_quad(s, V(face - side * 0.65, 2.95, z - 1.6), V(side * -0.65, -0.32, 0), V(0, 0, 1.6), SCENE_SHEET,
               0, 0, 0, 0);
}

static void houses(scene *s)
{
    house(s, -1, 10, 6, 3, V(0.42, 0.17, 0.11), V(0.31, 0.12, 0.08), V(0.05, 0.12, 0.10));
    house(s, -1, -3.2, 4, 4, V(0.62, 0.55, 0.42), V(0.56, 0.49, 0.37), V(0.20, 0.05, 0.05));
    house(s, -1, -12, 6, 3, V(0.36, 0.15, 0.10), V(0.45, 0.20, 0.13), V(0.05, 0.07, 0.16));
    house(s, -1, -25.2, 4, 5, V(0.50, 0.42, 0.34), V(0.44, 0.37, 0.30), V(0.08, 0.08, 0.08));
    house(s, -1, -34, 8, 4, V(0.40, 0.18, 0.12), V(0.33, 0.13, 0.09), V(0.16, 0.12, 0.05));
    house(s, -1, -51.6, 10, 3, V(0.55, 0.47, 0.38), V(0.50, 0.42, 0.35), V(0.05, 0.12, 0.10));
    house(s, 1, 10, 6, 4, V(0.52, 0.46, 0.38), V(0.46, 0.40, 0.34), V(0.06, 0.10, 0.16));
    house(s, 1, -42.4, 12, 3, V(0.42, 0.20, 0.14), V(0.36, 0.16, 0.11), V(0.05, 0.07, 0.16));
    s->shadow = false;
    /* a church tower closes the view, a row of houses the park */
    scene_material *far = scene_paint(s, SCENE_FACADE, V(0.44, 0.34, 0.28), V(0.40, 0.30, 0.25));
    far->size[0] = 0.5f, far->size[1] = 0.2f, far->more[0] = 2.2f, far->more[1] = 3, far->more[2] = 0.5f,
    far->more[3] = 0.8f;
    scene_box(s, V(14, 0, -93), V(26, 11, -88));
    scene_box(s, V(26, 0, -95), V(41, 8.5, -90));
    scene_box(s, V(41, 0, -96), V(70, 12, -91));
    scene_material *m = scene_paint(s, SCENE_BRICK, V(0.50, 0.45, 0.38), V(0.44, 0.40, 0.34));
    m->size[0] = 0.8f, m->size[1] = 0.4f, m->size[2] = 0.02f;
    scene_box(s, V(-5.5, 0, -92), V(0.5, 24, -86));
    m = scene_paint(s, SCENE_STRIPES, V(0.15, 0.26, 0.23), V(0.11, 0.20, 0.18));
    for (int i = 0; i < 5; i++) {
        double w = 3.2 - 0.6 * i;
        scene_box(s, V(-2.5 - w, 24 + 1.6 * i, -89 - w), V(-2.5 + w, 25.6 + 1.6 * i, -89 + w));
    }
    scene_glow(s, V(1.0, 0.9, 0.7), 1.2); /* its clock */
    scene_quad(s, V(-2.5, 19, -85.95), V(1.7, 0, 0), V(0, 1.7, 0), SCENE_WHEEL, 12, 0.25, 0.08, 1.2);
    s->shadow = true;
}

static void tree(scene *s, vec3 at, double height, double radius, vec3 leaf)
{
    scene_paint(s, SCENE_PLAIN, V(0.11, 0.075, 0.05), V(0, 0, 0));
    scene_rod(s, at, V(at.x + 0.2, height, at.z + 0.1), 0.12);
    scene_paint(s, SCENE_PLAIN, leaf, V(0, 0, 0));
    for (int k = 0; k < 3; k++) {
        double a = 0.5 + k * 1.05 + at.z;
        scene_quad(s, V(at.x + 0.2, height + radius * 0.45, at.z + 0.1),
                   V(radius * cos(a), 0, radius * sin(a)), V(0, radius * 0.9, 0), SCENE_LEAVES, 0.15, 0.42, 0,
                   0);
    }
}

static void park(scene *s)
{
    static const double places[6][2] = {{8.6, -9.5}, {7.9, -16}, {10.5, -21},
                                        {8.3, -27},  {12, -33},  {8.8, -38}};
    scene_paint(s, SCENE_PLAIN, V(0.02, 0.02, 0.022), V(0, 0, 0))->color1[3] = 0.5f;
    scene_quad(s, V(6.0, 0.85, -22.3), V(0, 0, 19.0), V(0, 0.72, 0), SCENE_SHEET, 0.13, 10, 0.011, 0);
    for (int i = 0; i < 2; i++)
        scene_rod(s, V(6.0, 0.32 + 1.1 * i, -3.3), V(6.0, 0.32 + 1.1 * i, -41.3), 0.018);
    s->shadow = false;
    for (int i = 0; i < 13; i++) {
        double z = -3.3 - 3.15 * i;
        scene_box(s, V(5.93, 0.1, z - 0.07), V(6.07, 1.75, z + 0.07));
    }
    for (int i = 0; i < 6; i++) {
        s->shadow = i < 2;
        double height = scene_random(s, 2.9, 4.2), radius = scene_random(s, 1.4, 1.9);
        tree(s, V(places[i][0], 0, places[i][1]), height, radius,
             V(scene_random(s, 0.10, 0.26), scene_random(s, 0.16, 0.22), 0.03));
    }
    s->shadow = true;
}

/* Far behind the park, turning. */
static void wheel(scene *s, double seconds, double step)
{
    const pose now = {V(19, 11.5, -52), -0.45, 0, 0.25 * seconds},
               before = {V(19, 11.5, -52), -0.45, 0, 0.25 * (seconds - step)};
    s->shadow = false;
    scene_moving(s, now, before);
    scene_paint(s, SCENE_PLAIN, V(0.55, 0.53, 0.52), V(0, 0, 0));
    scene_quad(s, V(0, 0, 0), V(10, 0, 0), V(0, 10, 0), SCENE_WHEEL, 24, 0.22, 0.045, 0.7);
    scene_quad(s, V(0, 0, 0.7), V(9, 0, 0), V(0, 9, 0), SCENE_WHEEL, 24, 0.16, 0.03, 0.6);
    scene_glow(s, V(1.0, 0.75, 0.4), 3.5);
    scene_glow(s, V(1.0, 0.25, 0.2), 3.5);
    for (int i = 0; i < 12; i++) {
        double a = i * 2 * 3.14159265358979 / 12;
        s->material = s->material_count - (i % 3 ? 2 : 1);
        scene_ball(s, V(10 * cos(a), 10 * sin(a), 0.35), 0.55);
    }
    scene_still(s);
    scene_paint(s, SCENE_PLAIN, V(0.35, 0.34, 0.34), V(0, 0, 0));
    scene_rod(s, V(19, 11.5, -52), V(15, 0, -50), 0.25);
    scene_rod(s, V(19, 11.5, -52), V(23, 0, -54), 0.25);
    s->shadow = true;
}

static void wires(scene *s)
{
    scene_paint(s, SCENE_PLAIN, V(0.015, 0.015, 0.018), V(0, 0, 0))->color1[3] = 0.8f;
    uint32_t black = s->material;
    s->shadow = false;
    scene_wire(s, V(-0.5, 5.6, 10), V(-0.5, 5.6, -30), 0.25, 0.011, 10); /* tram wire */
    scene_wire(s, V(-0.5, 5.6, -30), V(-0.5, 5.6, -70), 0.25, 0.011, 6);
    for (int i = 0; i < 6; i++) {
        double z = -1.5 - 9 * i;
        scene_wire(s, V(-6.2, 6.4, z), V(6.2, 6.4, z - 0.6), 0.75, 0.008, 6);
    }
    scene_wire(s, V(-6.2, 8.6, -4), V(6.2, 7.4, -19), 0.9, 0.012, 8);
    scene_wire(s, V(-6.2, 9.2, -4), V(6.2, 8.2, -17), 0.7, 0.012, 8);
    scene_glow(s, V(1.0, 0.70, 0.34), 26);
    uint32_t bulb = s->material;
    for (int k = 0; k < 3; k++) { /* festoons */
        vec3 a = V(-6.1, 5.2, -7.5 - 7 * k), b = V(6.1, 4.9, -9.5 - 7 * k);
        s->material = black;
        scene_wire(s, a, b, 1.0, 0.006, 8);
        s->material = bulb;
        for (int i = 1; i < 16; i++) {
            double f = i / 16.0;
            scene_ball(s,
                       V(a.x + (b.x - a.x) * f, a.y + (b.y - a.y) * f - 4.0 * f * (1 - f) - 0.06,
                         a.z + (b.z - a.z) * f),
                       0.042);
        }
    }
    s->shadow = true;
}

static void lamps(scene *s)
{
    static const double places[4][2] = {{-4.0, -5.5}, {4.0, -13.5}, {-4.0, -23}, {4.0, -33}};
    scene_paint(s, SCENE_PLAIN, V(0.02, 0.03, 0.028), V(0, 0, 0))->color1[3] = 0.6f;
    uint32_t iron = s->material;
    scene_glow(s, V(1.0, 0.74, 0.42), 42);
    uint32_t glass = s->material;
    for (int i = 0; i < 4; i++) {
        double x = places[i][0], z = places[i][1];
        s->material = iron;
        s->shadow = i < 2;
        scene_rod(s, V(x, 0, z), V(x, 3.55, z), 0.05);
        s->shadow = false;
        scene_rod(s, V(x, 0, z), V(x, 0.7, z), 0.10);
        scene_rod(s, V(x - 0.35, 3.3, z), V(x + 0.35, 3.3, z), 0.022);
        scene_ball(s, V(x, 4.05, z), 0.07);
        s->shadow = false;
        s->material = glass;
        scene_ball(s, V(x, 3.78, z), 0.17);
        s->shadow = true;
        scene_light(s, i, V(x, 3.78, z), V(5.0, 3.4, 1.8));
    }
}

static void signs(scene *s, double seconds, double step)
{
    s->shadow = false;
    scene_letters(s, "H|O|T|E|L", 0.052, V(0.03, 0.03, 0.04), V(1.0, 0.16, 0.12), 7);
    scene_box(s, V(-6.1, 4.3, -13.05), V(-5.45, 6.8, -12.95));
    scene_letters(s, "CAFE DU MIDI", 0.042, V(0.04, 0.10, 0.08), V(1.0, 0.80, 0.42), 1.3);
    scene_box(s, V(-6.3, 2.95, -7.9), V(-6.08, 3.5, -3.9));
    scene_letters(s, "BOOKS & MAPS", 0.036, V(0.10, 0.03, 0.03), V(0.95, 0.86, 0.66), 0.5);
    scene_box(s, V(-6.3, 2.95, -16.6), V(-6.08, 3.4, -13.2));
    scene_letters(s, "RUE 44", 0.012, V(0.02, 0.05, 0.22), V(0.9, 0.9, 0.9), 0);
    scene_box(s, V(-6.24, 2.5, -3.05), V(-6.16, 2.72, -2.55));
    scene_material *m =
        scene_paint(s, SCENE_PRINT, V(0.80, 0.76, 0.66), V(0.05, 0.05, 0.05)); /* a poster column */
    m->size[0] = m->size[1] = 0.011f, m->more[0] = 0.62f, m->more[1] = 0.8f;
    scene_box(s, V(3.95, 0.6, -8.6), V(4.75, 2.2, -7.8));
    scene_paint(s, SCENE_PLAIN, V(0.06, 0.12, 0.10), V(0, 0, 0));
    s->shadow = true;
    scene_box(s, V(3.92, 0, -8.63), V(4.78, 0.6, -7.77));
    scene_box(s, V(3.85, 2.2, -8.7), V(4.85, 2.4, -7.7));
    /* a sign that turns over the pavement */
    const pose now = {V(-4.55, 3.0, -9.2), 1.5 * seconds + 0.5, 0, 0};
    pose before = now;
    before.yaw -= 1.5 * step;
    scene_moving(s, now, before);
    scene_letters(s, "OPEN", 0.036, V(0.62, 0.60, 0.55), V(0.55, 0.05, 0.04), 0);
    scene_box(s, V(-0.5, -0.32, -0.09), V(0.5, 0.32, 0.09));
    scene_still(s);
    scene_paint(s, SCENE_PLAIN, V(0.03, 0.03, 0.03), V(0, 0, 0));
    scene_rod(s, V(-6.2, 3.45, -9.2), V(-4.5, 3.45, -9.2), 0.02);
    scene_rod(s, V(-4.55, 3.45, -9.2), V(-4.55, 3.2, -9.2), 0.012);
}

static void tram(scene *s, double seconds, double step)
{
    pose now = {V(-0.5, 0, -19.5 + 3.4 * seconds), 0, 0, 0}, before = now;
    before.position.z -= 3.4 * step;
    scene_moving(s, now, before);
    scene_material *m = scene_paint(s, SCENE_PLAIN, V(0.62, 0.58, 0.48), V(0, 0, 0));
    m->color1[3] = 0.5f, m->color2[3] = 120;
    scene_box(s, V(-1.18, 2.55, -12), V(1.18, 3.15, 0)); /* roof */
    m = scene_paint(s, SCENE_PLAIN, V(0.50, 0.055, 0.045), V(0, 0, 0));
    m->color1[3] = 0.6f, m->color2[3] = 160;
    scene_box(s, V(-1.2, 0.35, -12), V(1.2, 1.35, 0.03));                       /* lower body */
    m = scene_paint(s, SCENE_FACADE, V(0.62, 0.58, 0.48), V(0.62, 0.58, 0.48)); /* window band */
    m->size[0] = m->size[1] = 50;
    m->more[0] = 1.2f, m->more[1] = 6, m->more[2] = 0.52f, m->more[3] = 0.5f;
    scene_box(s, V(-1.17, 1.35, -11.98), V(1.17, 2.55, -0.03));
    m = scene_paint(s, SCENE_PLAIN, V(0.012, 0.016, 0.02), V(0, 0, 0)); /* windscreen */
    m->color1[3] = 1.2f, m->color2[3] = 700;
    scene_box(s, V(-1.05, 1.42, -0.05), V(1.05, 2.45, 0.04));
    s->shadow = false;
    scene_letters(s, "4 CENTRAL", 0.022, V(0.01, 0.01, 0.01), V(1.0, 0.62, 0.10), 5);
    scene_box(s, V(-0.75, 2.6, -0.05), V(0.75, 2.92, 0.05));
    scene_glow(s, V(1.0, 0.93, 0.78), 60);
    scene_ball(s, V(-0.75, 0.75, 0.02), 0.11);
    scene_ball(s, V(0.75, 0.75, 0.02), 0.11);
    scene_paint(s, SCENE_PLAIN, V(0.03, 0.03, 0.03), V(0, 0, 0));
    scene_rod(s, V(-0.5, 3.2, -4.5), V(-0.4, 4.4, -5.6), 0.02);
    scene_rod(s, V(0.5, 3.2, -4.5), V(0.4, 4.4, -5.6), 0.02);
    scene_rod(s, V(-0.4, 4.4, -5.6), V(-0.1, 5.5, -4.6), 0.015);
    scene_rod(s, V(0.4, 4.4, -5.6), V(0.1, 5.5, -4.6), 0.015);
    scene_rod(s, V(-0.8, 5.52, -4.6), V(0.8, 5.52, -4.6), 0.02);
    s->shadow = true;
    scene_box(s, V(-1.0, 0.05, -11.5), V(1.0, 0.35, -0.4));
    scene_still(s);
}

static camera_pose camera_at(double seconds)
{
    double x = 1.35 - 0.45 * seconds, z = 3.0 - 1.15 * seconds;
    return (camera_pose){V(x, 1.72 + 0.02 * sin(seconds * 5), z),
                         V(-0.1 + 0.9 * seconds, 2.75, -12 - 1.15 * seconds), 0, 1.02};
}

void scene_street(scene *s, double seconds, double step, d4r_size output)
{
    sky_and_light(s);
    ground(s);
    houses(s);
    park(s);
    wheel(s, seconds, step);
    wires(s);
    lamps(s);
    signs(s, seconds, step);
    tram(s, seconds, step);
    camera_pose now = camera_at(seconds), before = camera_at(seconds - step);
    scene_camera_set(&s->frame.now, &now, 0.1, output);
    scene_camera_set(&s->frame.previous, &before, 0.1, output);
}
