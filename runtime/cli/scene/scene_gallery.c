/* A gallery under a glass roof: marble floor, columns, pictures near the pixel pitch, a turning armillary sphere. */
#include <math.h>

#include "runtime/cli/scene/scene.h"

#define V(x, y, z) ((vec3){x, y, z})

static void sky_and_light(scene *s)
{
    scene_frame *f = &s->frame;
    scene_sun(s, 0.75, 0.98, V(9.5, 8.2, 6.3), 80);
    const float zenith[4] = {0.20f, 0.45f, 1.05f, 0.45f}, horizon[4] = {0.85f, 0.95f, 1.05f, 0.0008f};
    const float bounce[4] = {0.60f, 0.50f, 0.40f, 0.24f};
    for (int i = 0; i < 4; i++) {
        f->zenith[i] = zenith[i];
        f->horizon[i] = horizon[i];
        f->bounce[i] = bounce[i];
    }
}

static void room(scene *s)
{
    s->shadow = false;
    scene_material *m = scene_paint(s, SCENE_TILES, V(0.62, 0.58, 0.52), V(0.10, 0.10, 0.11));
    m->size[0] = m->size[1] = 0.5f, m->size[2] = 0.004f, m->size[3] = 0;
    m->color2[0] = m->color2[1] = m->color2[2] = 0.25f;
    m->color1[3] = 0.5f, m->color2[3] = 250;
    scene_box(s, V(-7, -0.3, -28), V(7, 0, 6));
    m = scene_paint(s, SCENE_BRICK, V(0.52, 0.22, 0.16), V(0.46, 0.18, 0.13));
    m->size[0] = 0.30f, m->size[1] = 0.085f, m->size[2] = 0.005f;
    m->color2[0] = 0.42f, m->color2[1] = 0.36f, m->color2[2] = 0.30f;
    scene_box(s, V(-7.4, 0, -28), V(-7, 6.2, 6));
    scene_box(s, V(7, 0, -28), V(7.4, 6.2, 6));
    s->shadow = true;
    scene_paint(s, SCENE_PLAIN, V(0.60, 0.57, 0.52), V(0, 0, 0));
    scene_box(s, V(-7, 0, -28.4), V(-2.6, 6.2, -28));
    scene_box(s, V(2.6, 0, -28.4), V(7, 6.2, -28));
    scene_box(s, V(-2.6, 0, -28.4), V(2.6, 1.0, -28));
    scene_box(s, V(-7.4, 6.2, -28.4), V(-2.6, 6.5, 6)); /* ceiling, open in the middle */
    scene_box(s, V(2.6, 6.2, -28.4), V(7.4, 6.5, 6));
    scene_paint(s, SCENE_PLAIN, V(0.055, 0.06, 0.065), V(0, 0, 0));
    scene_quad(s, V(0, 6.35, -11.2), V(2.6, 0, 0), V(0, 0, 17.2), SCENE_SHEET, 0.65, 0.86, 0.028, 0.028);
    scene_quad(s, V(0, 3.6, -28.2), V(2.6, 0, 0), V(0, 2.6, 0), SCENE_SHEET, 0.52, 0.65, 0.022, 0.022);
    s->shadow = false;
    scene_paint(s, SCENE_PLAIN, V(0.16, 0.12, 0.09), V(0, 0, 0)); /* skirting */
    scene_box(s, V(-7, 0, -28), V(-6.95, 0.22, 6));
    scene_box(s, V(6.95, 0, -28), V(7, 0.22, 6));
    s->shadow = true;
}

static void columns(scene *s)
{
    scene_material *m = scene_paint(s, SCENE_PLAIN, V(0.70, 0.68, 0.63), V(0, 0, 0));
    m->color1[3] = 0.25f, m->color2[3] = 60;
    uint32_t stone = s->material;
    m = scene_paint(s, SCENE_STRIPES, V(0.70, 0.68, 0.63), V(0.50, 0.48, 0.44));
    m->size[0] = 0.11f, m->size[1] = 0.55f, m->size[2] = 0.6f;
    uint32_t ribbed = s->material;
    for (int i = 0; i < 6; i++)
        for (int side = -1; side <= 1; side += 2) {
            double x = 3.7 * side, z = 1.5 - 5.4 * i;
            s->material = stone;
            s->shadow = true;
            scene_rod(s, V(x, 0.2, z), V(x, 5.9, z), 0.27);
            s->shadow = false;
            scene_box(s, V(x - 0.42, 0, z - 0.42), V(x + 0.42, 0.32, z + 0.42));
            s->material = ribbed;
            scene_box(s, V(x - 0.40, 5.55, z - 0.40), V(x + 0.40, 6.2, z + 0.40));
        }
    s->shadow = true;
}

/* A picture on a side wall; the material of the canvas is made by the caller. */
static void picture(scene *s, int side, double z, double y, double half_w, double half_h, uint32_t canvas,
                    uint32_t frame)
{
    double wall = 7.0 * side, front = wall - 0.05 * side, rim = wall - 0.08 * side;
    s->material = canvas;
    scene_box(s, V(fmin(wall, front), y - half_h, z - half_w), V(fmax(wall, front), y + half_h, z + half_w));
    s->material = frame;
    for (int k = -1; k <= 1; k += 2) {
        scene_box(s, V(fmin(wall, rim), y - half_h - 0.07, z + k * (half_w + 0.035) - 0.035),
                  V(fmax(wall, rim), y + half_h + 0.07, z + k * (half_w + 0.035) + 0.035));
        scene_box(s, V(fmin(wall, rim), y + k * (half_h + 0.035) - 0.035, z - half_w),
                  V(fmax(wall, rim), y + k * (half_h + 0.035) + 0.035, z + half_w));
    }
}

static void pictures(scene *s)
{
    scene_material *m = scene_paint(s, SCENE_PLAIN, V(0.42, 0.27, 0.08), V(0, 0, 0));
    m->color1[3] = 0.8f, m->color2[3] = 80;
    uint32_t gold = s->material, canvases[8];
    m = scene_paint(s, SCENE_ZONES, V(0.03, 0.03, 0.04), V(0.85, 0.82, 0.72));
    m->size[0] = 110;
    canvases[0] = s->material;
    m = scene_paint(s, SCENE_STAR, V(0.70, 0.08, 0.05), V(0.88, 0.82, 0.66));
    m->size[1] = 40;
    canvases[1] = s->material;
    m = scene_paint(s, SCENE_PRINT, V(0.84, 0.80, 0.70), V(0.04, 0.04, 0.05));
    m->size[0] = m->size[1] = 0.0125f, m->more[0] = m->more[1] = 0.95f;
    canvases[2] = s->material;
    m = scene_paint(s, SCENE_TILES, V(0.85, 0.55, 0.08), V(0.05, 0.16, 0.34));
    m->size[0] = m->size[1] = 0.062f, m->size[2] = 0.003f, m->size[3] = 0;
    canvases[3] = s->material;
    scene_letters(s, "THE|PIXEL|IS NOT|A SQUARE", 0.031, V(0.05, 0.07, 0.10), V(0.92, 0.78, 0.42), 0);
    canvases[4] = s->material;
    m = scene_paint(s, SCENE_STRIPES, V(0.86, 0.83, 0.75), V(0.06, 0.22, 0.20));
    m->size[0] = 0.052f, m->size[1] = 0.5f;
    canvases[5] = s->material;
    m = scene_paint(s, SCENE_BRICK, V(0.10, 0.25, 0.50), V(0.75, 0.70, 0.60));
    m->size[0] = 0.12f, m->size[1] = 0.06f, m->size[2] = 0.006f;
    canvases[6] = s->material;
    m = scene_paint(s, SCENE_ZONES, V(0.75, 0.28, 0.10), V(0.06, 0.08, 0.20));
    m->size[0] = 55;
    canvases[7] = s->material;
    s->shadow = false;
    for (int i = 0; i < 6; i++) {
        double z = -1.2 - 5.4 * i;
        picture(s, -1, z, 2.4, 0.95, 0.95, canvases[i % 8], gold);
        picture(s, 1, z, 2.4, 0.95, 0.95, canvases[(i + 4) % 8], gold);
    }
    s->shadow = true;
}

static void ring(scene *s, double radius, double rim)
{
    scene_quad(s, V(0, 0, 0), V(radius, 0, 0), V(0, radius, 0), SCENE_WHEEL, 1, rim, 0, 0);
}

static void turning(scene *s, vec3 at, double yaw, double pitch, double roll, double yaw_speed,
                    double roll_speed, double seconds, double step)
{
    pose now = {at, yaw + yaw_speed * seconds, pitch, roll + roll_speed * seconds}, before = now;
    before.yaw -= yaw_speed * step;
    before.roll -= roll_speed * step;
    scene_moving(s, now, before);
}

static void sculpture(scene *s, double seconds, double step)
{
    const vec3 at = V(0, 2.35, -8.2);
    scene_material *m = scene_paint(s, SCENE_PLAIN, V(0.55, 0.38, 0.14), V(0, 0, 0));
    m->color1[3] = 1.5f, m->color2[3] = 90;
    uint32_t brass = s->material;
    turning(s, at, 0.4, 0.2, 0, 0.9, 0, seconds, step);
    ring(s, 1.35, 0.075);
    scene_rod(s, V(-1.33, 0, 0), V(1.33, 0, 0), 0.014);
    turning(s, at, 1.2, 0.9, 0, -0.7, 0, seconds, step);
    ring(s, 1.15, 0.05);
    turning(s, at, 0.2, -0.8, 0, 0.5, 0, seconds, step);
    ring(s, 0.98, 0.05);
    turning(s, at, 0, 1.35, 0, 0, 1.2, seconds, step); /* a toothed wheel, nearly flat */
    scene_quad(s, V(0, 0, 0), V(1.55, 0, 0), V(0, 1.55, 0), SCENE_WHEEL, 24, 0.05, 0.006, 0.12);
    turning(s, at, 0, 0, 0, 1.8, 0, seconds, step);
    scene_glow(s, V(0.35, 0.6, 1.0), 8);
    scene_ball(s, V(0.8, 0.1, 0), 0.09);
    scene_glow(s, V(1.0, 0.35, 0.2), 8);
    scene_ball(s, V(-0.6, -0.15, 0.3), 0.06);
    scene_still(s);
    s->shadow = false;
    scene_glow(s, V(1.0, 0.82, 0.5), 45);
    scene_ball(s, at, 0.17);
    scene_light(s, 0, at, V(5.5, 4.2, 2.4));
    s->shadow = true;
    s->material = brass;
    scene_rod(s, V(0, 0.4, -8.2), V(0, 0.95, -8.2), 0.05);
    scene_paint(s, SCENE_PLAIN, V(0.07, 0.07, 0.075), V(0, 0, 0))->color1[3] = 0.6f;
    scene_box(s, V(-0.6, 0, -8.8), V(0.6, 0.42, -7.6));
    /* railing around it */
    scene_paint(s, SCENE_PLAIN, V(0.04, 0.04, 0.045), V(0, 0, 0))->color1[3] = 1.0f;
    for (int k = -1; k <= 1; k += 2) {
        scene_quad(s, V(0, 0.45, -8.2 + 2.1 * k), V(2.1, 0, 0), V(0, 0.42, 0), SCENE_SHEET, 0.09, 10, 0.0055,
                   0);
        scene_quad(s, V(2.1 * k, 0.45, -8.2), V(0, 0, 2.1), V(0, 0.42, 0), SCENE_SHEET, 0.09, 10, 0.0055, 0);
        scene_rod(s, V(-2.1, 0.9, -8.2 + 2.1 * k), V(2.1, 0.9, -8.2 + 2.1 * k), 0.022);
        scene_rod(s, V(2.1 * k, 0.9, -10.3), V(2.1 * k, 0.9, -6.1), 0.022);
    }
}

static void hanging(scene *s, double seconds, double step)
{
    scene_paint(s, SCENE_PLAIN, V(0.02, 0.02, 0.02), V(0, 0, 0));
    uint32_t black = s->material;
    scene_glow(s, V(1.0, 0.8, 0.55), 30);
    uint32_t bulb = s->material;
    s->shadow = false;
    for (int i = 0; i < 5; i++)
        for (int side = -1; side <= 1; side += 2) {
            double x = 5.4 * side, z = -1.2 - 5.4 * i;
            s->material = black;
            scene_rod(s, V(x, 6.2, z), V(x, 4.1, z), 0.008);
            scene_rod(s, V(x, 4.1, z), V(x, 4.02, z), 0.07);
            s->material = bulb;
            scene_ball(s, V(x, 3.95, z), 0.075);
        }
    scene_light(s, 1, V(-5.4, 3.9, -6.6), V(2.6, 2.1, 1.5));
    scene_light(s, 2, V(5.4, 3.9, -1.2), V(2.6, 2.1, 1.5));
    scene_light(s, 3, V(5.4, 3.9, -12), V(2.6, 2.1, 1.5));
    s->shadow = true;
    pose now = {V(-1.9, 6.2, -14), 0, 0, 0.5 * sin(1.8 * seconds)}, before = now; /* a pendulum */
    before.roll = 0.5 * sin(1.8 * (seconds - step));
    scene_moving(s, now, before);
    s->material = black;
    scene_rod(s, V(0, 0, 0), V(0, -4.2, 0), 0.007);
    scene_material *m = scene_paint(s, SCENE_STRIPES, V(0.75, 0.12, 0.08), V(0.85, 0.82, 0.75));
    m->size[0] = 0.09f, m->size[1] = 0.5f;
    scene_ball(s, V(0, -4.3, 0), 0.28);
    scene_still(s);
    scene_letters(s, "ROOM 4 -  LIGHT", 0.028, V(0.05, 0.05, 0.06), V(0.9, 0.85, 0.7), 1.5);
    scene_box(s, V(-1.6, 5.35, -27.9), V(1.6, 5.8, -27.8));
}

static camera_pose camera_at(double seconds)
{
    double a = -0.30 + 0.30 * seconds;
    return (camera_pose){V(4.6 * sin(a), 1.68, -3.0 + 3.6 * cos(a)), V(0.5 * sin(a), 2.15, -9), 0, 1.16};
}

void scene_gallery(scene *s, double seconds, double step, d4r_size output)
{
    sky_and_light(s);
    room(s);
    columns(s);
    pictures(s);
    sculpture(s, seconds, step);
    hanging(s, seconds, step);
    camera_pose now = camera_at(seconds), before = camera_at(seconds - step);
    scene_camera_set(&s->frame.now, &now, 0.1, output);
    scene_camera_set(&s->frame.previous, &before, 0.1, output);
}
