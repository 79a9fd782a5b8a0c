/* A test chart, camera and everything else standing still: what accumulation alone can resolve. */
#include <math.h>

#include "runtime/cli/scene/scene.h"

#define V(x, y, z) ((vec3){x, y, z})

static void light(scene *s)
{
    const float sky[4] = {0.55f, 0.55f, 0.55f, 0};
    scene_sun(s, 2.5, 0.9, V(0.5, 0.5, 0.5), 0);
    for (int i = 0; i < 3; i++) s->frame.zenith[i] = s->frame.horizon[i] = s->frame.bounce[i] = sky[i];
    s->frame.bounce[3] = 1;
}

static void panel(scene *s, double x, double y, double half)
{
    scene_box(s, V(x - half, y - half, -4.02), V(x + half, y + half, -4));
}

void scene_chart(scene *s, double seconds, double step, d4r_size output)
{
    (void)seconds, (void)step;
    light(s);
    s->shadow = false;
    scene_paint(s, SCENE_PLAIN, V(0.30, 0.30, 0.31), V(0, 0, 0));
    scene_box(s, V(-2.2, -1.25, -4.2), V(2.2, 1.25, -4.03));
    scene_paint(s, SCENE_ZONES, V(0.02, 0.02, 0.02), V(0.85, 0.85, 0.85))->size[0] = 430;
    panel(s, -1.45, 0.55, 0.6);
    scene_paint(s, SCENE_STAR, V(0.02, 0.02, 0.02), V(0.85, 0.85, 0.85))->size[1] = 72;
    panel(s, -0.15, 0.55, 0.6);
    scene_material *m = scene_paint(s, SCENE_PRINT, V(0.85, 0.84, 0.80), V(0.02, 0.02, 0.02));
    m->size[0] = m->size[1] = 0.0062f, m->more[0] = m->more[1] = 0.6f;
    panel(s, 1.15, 0.55, 0.6);
    m = scene_paint(s, SCENE_TILES, V(0.85, 0.85, 0.85), V(0.02, 0.02, 0.02));
    m->size[0] = m->size[1] = 0.021f, m->size[2] = 0, m->size[3] = 0;
    panel(s, -1.7, -0.6, 0.35);
    m = scene_paint(s, SCENE_STRIPES, V(0.85, 0.30, 0.05), V(0.02, 0.12, 0.40));
    m->size[0] = 0.024f, m->size[1] = 0.5f, m->size[2] = 0;
    panel(s, -0.9, -0.6, 0.35);
    scene_letters(s, "SUPER|RESOLUTION|0123456789", 0.0085, V(0.02, 0.03, 0.05), V(1, 0.9, 0.6), 1.0);
    scene_box(s, V(-0.45, -0.95, -4.02), V(0.25, -0.25, -4));
    scene_paint(s, SCENE_PLAIN, V(0.9, 0.9, 0.9), V(0, 0, 0));
    for (int i = 0; i < 14; i++) { /* hair lines, fanning out */
        double a = 0.06 + 0.11 * i;
        scene_rod(s, V(0.4, -0.95, -3.98), V(0.4 + 0.75 * sin(a), -0.95 + 0.72 * cos(a), -3.98), 0.0016);
    }
    for (int i = 0; i < 5; i++) { /* bright dots, 2 to 500 */
        scene_glow(s, V(1, 0.8, 0.5), pow(4, i + 0.5));
        scene_ball(s, V(1.32, -0.32 - 0.14 * i, -3.98), 0.011);
        scene_ball(s, V(1.52, -0.32 - 0.14 * i, -3.98), 0.005);
    }
    scene_paint(s, SCENE_PLAIN, V(0.75, 0.74, 0.70), V(0, 0, 0));
    scene_quad(s, V(1.85, -0.6, -3.98), V(0.16, 0.03, 0), V(-0.03, 0.35, 0), SCENE_SHEET, 0.030, 0.041,
               0.0022, 0.0022);
    const camera_pose still = {V(0.013, 0.011, 0), V(0.013, 0.011, -4), 0, 0.98};
    scene_camera_set(&s->frame.now, &still, 0.1, output);
    scene_camera_set(&s->frame.previous, &still, 0.1, output);
}
