/* Architectures: e_flags values and the figures that occupancy needs. */
#include "core.h"

#include <string.h>

/* VGPR figures: LLVM's AMDGPU target description (Feature1_5xVGPRs: 1536 a lane in granules of 24, else 1024
 * in granules of 16, wave32). Compute units: the largest product sold with the architecture. */
static const emu_arch archs[] = {
    {"gfx1100", 0x41, EMU_GFX11, 1536, 24, 16, 131072, 96, "AMD Radeon RX 7900 XTX"},
    {"gfx1101", 0x46, EMU_GFX11, 1536, 24, 16, 131072, 60, "AMD Radeon RX 7800 XT"},
    {"gfx1102", 0x47, EMU_GFX11, 1024, 16, 16, 131072, 32, "AMD Radeon RX 7600"},
    {"gfx1103", 0x44, EMU_GFX11, 1024, 16, 16, 131072, 12, "AMD Radeon 780M Graphics"},
    {"gfx1150", 0x43, EMU_GFX11_5, 1024, 16, 16, 131072, 16, "AMD Radeon 890M Graphics"},
    {"gfx1151", 0x4a, EMU_GFX11_5, 1536, 24, 16, 131072, 40, "AMD Radeon 8060S Graphics"},
    {"gfx1152", 0x55, EMU_GFX11_5, 1024, 16, 16, 131072, 8, "AMD Radeon 860M Graphics"},
    {"gfx1153", 0x58, EMU_GFX11_5, 1024, 16, 16, 131072, 4, "AMD Radeon 820M Graphics"},
    {"gfx1200", 0x48, EMU_GFX12, 1536, 24, 16, 131072, 32, "AMD Radeon RX 9060 XT"},
    {"gfx1201", 0x4e, EMU_GFX12, 1536, 24, 16, 131072, 64, "AMD Radeon RX 9070 XT"},
};

enum { ARCH_COUNT = sizeof(archs) / sizeof(archs[0]) };

const emu_arch *emu_arch_find(const char *name)
{
    if (!name) return NULL;
    size_t length = strcspn(name, ":");
    for (size_t i = 0; i < ARCH_COUNT; i++) {
        if (strlen(archs[i].name) == length && memcmp(archs[i].name, name, length) == 0) return &archs[i];
    }
    return NULL;
}

const emu_arch *emu_arch_from_flags(uint32_t e_flags)
{
    for (size_t i = 0; i < ARCH_COUNT; i++) {
        if (archs[i].mach == (e_flags & 0xff)) return &archs[i];
    }
    return NULL;
}

const emu_arch *emu_arch_at(size_t index)
{
    return index < ARCH_COUNT ? &archs[index] : NULL;
}
