/* Devices: how many, what they are called, where they sit, and losing them. */
#include "hip_internal.h"

#include <limits.h>
#include <string.h>

static _Thread_local int current_device;

int hipemu_current_device(void)
{
    return current_device < hipemu.config.device_count ? current_device : 0;
}

hipemu_device *hipemu_device_current(void)
{
    return hipemu.config.device_count ? &hipemu.devices[hipemu_current_device()] : NULL;
}

void hipemu_device_lose(hipemu_device *device, hipError_t error, const char *why)
{
    if (device->lost) return;
    device->lost = true;
    device->sticky = error;
    atomic_store(&device->cancel, 1);
    hipemu_message("device %d (%s) lost: %s; later calls return %d", device->index, device->arch->name, why,
                   error);
    pthread_cond_broadcast(&hipemu.progress);
}

static int count(void)
{
    return hipemu.config.device_count;
}

static bool valid(int device)
{
    return device >= 0 && device < count();
}

/* ---- init and selection ---- */

HIPEMU_EXPORT hipError_t hipInit(unsigned flags);
hipError_t hipInit(unsigned flags)
{
    /* Without a device the real library answers 101 here and 100 from hipGetDeviceCount. */
    HIPEMU_CALL_AS(.usual = hipErrorInvalidDevice,
                   flags     ? hipErrorInvalidValue
                   : count() ? hipSuccess
                             : hipErrorInvalidDevice,
                   "%u", flags);
}

static hipError_t give_version(int *version)
{
    if (!version) return hipErrorInvalidValue;
    *version = hipemu.config.version;
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipDriverGetVersion(int *version);
hipError_t hipDriverGetVersion(int *version)
{
    HIPEMU_CALL(give_version(version), " ");
}

HIPEMU_EXPORT hipError_t hipRuntimeGetVersion(int *version);
hipError_t hipRuntimeGetVersion(int *version)
{
    HIPEMU_CALL(give_version(version), " ");
}

static hipError_t give_count(int *out)
{
    if (!out) return hipErrorInvalidValue;
    *out = count();
    return count() ? hipSuccess : hipErrorNoDevice;
}

HIPEMU_EXPORT hipError_t hipGetDeviceCount(int *out);
hipError_t hipGetDeviceCount(int *out)
{
    HIPEMU_CALL_AS(.usual = hipErrorNoDevice, give_count(out), "%d", out ? *out : -1);
}

static hipError_t get_device(int *out)
{
    if (!out) return hipErrorInvalidValue;
    if (!count()) return hipErrorNoDevice;
    *out = hipemu_current_device();
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipGetDevice(int *out);
hipError_t hipGetDevice(int *out)
{
    HIPEMU_CALL(get_device(out), "%d", out ? *out : -1);
}

static hipError_t set_device(int device)
{
    if (!count()) return hipErrorNoDevice;
    if (!valid(device)) return hipErrorInvalidDevice;
    current_device = device;
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipSetDevice(int device);
hipError_t hipSetDevice(int device)
{
    HIPEMU_CALL_AS(.usual = hipErrorInvalidDevice, set_device(device), "%d", device);
}

static hipError_t device_get(hipDevice_t *out, int ordinal)
{
    if (!out) return hipErrorInvalidValue;
    if (!valid(ordinal)) return hipErrorInvalidDevice;
    *out = ordinal;
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipDeviceGet(hipDevice_t *out, int ordinal);
hipError_t hipDeviceGet(hipDevice_t *out, int ordinal)
{
    HIPEMU_CALL_AS(.usual = hipErrorInvalidDevice, device_get(out, ordinal), "%d", ordinal);
}

/* ---- attributes ---- */

static hipError_t attribute(int *out, int which, int device)
{
    if (!out) return hipErrorInvalidValue;
    if (!valid(device)) return hipErrorInvalidDevice;
    const emu_arch *arch = hipemu.devices[device].arch;
    const int *pci = hipemu.config.pci[device];
    /* HIP counts two compute units as one multiprocessor on RDNA (WGP mode). */
    int processors = (int)arch->compute_units / 2;
    switch ((hipDeviceAttribute_t)which) {
    case hipDeviceAttributePciBusId:
        *out = pci[1];
        return hipSuccess;
    case hipDeviceAttributePciDeviceId:
        *out = pci[2];
        return hipSuccess;
    case hipDeviceAttributePciDomainID:
        *out = pci[0];
        return hipSuccess;
    case hipDeviceAttributeMultiprocessorCount:
    case hipDeviceAttributePhysicalMultiProcessorCount:
        *out = processors;
        return hipSuccess;
    case hipDeviceAttributeComputeCapabilityMajor:
        *out = arch->cls == EMU_GFX12 ? 12 : 11;
        return hipSuccess;
    case hipDeviceAttributeComputeCapabilityMinor:
        *out = arch->cls == EMU_GFX11_5 ? 5 : 0;
        return hipSuccess;
    case hipDeviceAttributeIntegrated:
        *out = arch->cls == EMU_GFX11_5 || strcmp(arch->name, "gfx1103") == 0;
        return hipSuccess;
    case hipDeviceAttributeWarpSize:
        *out = 32;
        return hipSuccess;
    case hipDeviceAttributeMaxThreadsPerBlock:
    case hipDeviceAttributeMaxBlockDimX:
    case hipDeviceAttributeMaxBlockDimY:
    case hipDeviceAttributeMaxBlockDimZ:
        *out = 1024;
        return hipSuccess;
    case hipDeviceAttributeMaxGridDimX:
        *out = INT_MAX;
        return hipSuccess;
    case hipDeviceAttributeMaxGridDimY:
    case hipDeviceAttributeMaxGridDimZ:
        *out = 65536;
        return hipSuccess;
    case hipDeviceAttributeMaxThreadsPerMultiProcessor:
        *out = 2048;
        return hipSuccess;
    case hipDeviceAttributeMaxSharedMemoryPerBlock:
    case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
        *out = 65536;
        return hipSuccess;
    case hipDeviceAttributeMaxRegistersPerBlock:
        *out = 65536;
        return hipSuccess;
    case hipDeviceAttributeTotalConstantMemory:
        *out = INT_MAX;
        return hipSuccess;
    case hipDeviceAttributeAsyncEngineCount:
    case hipDeviceAttributeCanMapHostMemory:
    case hipDeviceAttributeConcurrentKernels:
    case hipDeviceAttributeStreamPrioritiesSupported:
    case hipDeviceAttributeUnifiedAddressing:
    case hipDeviceAttributeIsLargeBar:
    case hipDeviceAttributeCanUseStreamWaitValue:
    case hipDeviceAttributeFineGrainSupport:
        *out = 1;
        return hipSuccess;
    case hipDeviceAttributeMemoryPoolsSupported:
    case hipDeviceAttributeAsicRevision:
        *out = 0;
        return hipSuccess;
    /* Clocks, caches and bus of the named card are not emulated: 0, "not known". */
    case hipDeviceAttributeClockRate:
    case hipDeviceAttributeMemoryClockRate:
    case hipDeviceAttributeMemoryBusWidth:
    case hipDeviceAttributeL2CacheSize:
        *out = 0;
        return hipSuccess;
    }
    return hipErrorInvalidValue;
}

HIPEMU_EXPORT hipError_t hipDeviceGetAttribute(int *out, int which, int device);
hipError_t hipDeviceGetAttribute(int *out, int which, int device)
{
    HIPEMU_CALL_AS(.usual = hipErrorInvalidDevice, attribute(out, which, device), "%d, device %d", which,
                   device);
}

static hipError_t get_name(char *name, int length, int device)
{
    if (!name || length <= 0) return hipErrorInvalidValue;
    if (!valid(device)) return hipErrorInvalidDevice;
    snprintf(name, (size_t)length, "%s (emulated)", hipemu.devices[device].arch->product);
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipDeviceGetName(char *name, int length, hipDevice_t device);
hipError_t hipDeviceGetName(char *name, int length, hipDevice_t device)
{
    HIPEMU_CALL_AS(.usual = hipErrorInvalidDevice, get_name(name, length, device), "device %d", device);
}

static hipError_t get_pci(char *text, int length, int device)
{
    if (!text || length < 13) return hipErrorInvalidValue;
    if (!valid(device)) return hipErrorInvalidDevice;
    const int *pci = hipemu.config.pci[device];
    snprintf(text, (size_t)length, "%04x:%02x:%02x.0", pci[0], pci[1], pci[2]);
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipDeviceGetPCIBusId(char *text, int length, int device);
hipError_t hipDeviceGetPCIBusId(char *text, int length, int device)
{
    HIPEMU_CALL_AS(.usual = hipErrorInvalidDevice, get_pci(text, length, device), "device %d", device);
}

static hipError_t total_memory(size_t *bytes, int device)
{
    if (!bytes) return hipErrorInvalidValue;
    if (!valid(device)) return hipErrorInvalidDevice;
    *bytes = hipemu.devices[device].memory_total;
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device);
hipError_t hipDeviceTotalMem(size_t *bytes, hipDevice_t device)
{
    HIPEMU_CALL_AS(.usual = hipErrorInvalidDevice, total_memory(bytes, device), "device %d", device);
}

/* Only the fields that programs read to tell devices apart are filled; layouts of HIP <= 5 and HIP >= 6. */
static hipError_t properties(char *out, int device, bool r0600)
{
    if (!out) return hipErrorInvalidValue;
    if (!valid(device)) return hipErrorInvalidDevice;
    memset(out, 0, r0600 ? HIPEMU_PROP_R0600_SIZE : HIPEMU_PROP_OLD_SIZE);
    const hipemu_device *d = &hipemu.devices[device];
    snprintf(out, 256, "%s (emulated)", d->arch->product);
    size_t total = d->memory_total;
    int warp = 32;
    memcpy(out + (r0600 ? HIPEMU_PROP_R0600_TOTAL_MEM : HIPEMU_PROP_OLD_TOTAL_MEM), &total, sizeof total);
    memcpy(out + (r0600 ? HIPEMU_PROP_R0600_WARP_SIZE : HIPEMU_PROP_OLD_WARP_SIZE), &warp, sizeof warp);
    snprintf(out + (r0600 ? HIPEMU_PROP_R0600_ARCH_NAME : HIPEMU_PROP_OLD_ARCH_NAME), 256, "%s",
             d->arch->name);
    return hipSuccess;
}

HIPEMU_EXPORT hipError_t hipGetDevicePropertiesR0600(void *out, int device);
hipError_t hipGetDevicePropertiesR0600(void *out, int device)
{
    HIPEMU_CALL_AS(.usual = hipErrorInvalidDevice, properties(out, device, true), "device %d", device);
}

HIPEMU_EXPORT hipError_t hipGetDeviceProperties(void *out, int device);
hipError_t hipGetDeviceProperties(void *out, int device)
{
    HIPEMU_CALL_AS(.usual = hipErrorInvalidDevice, properties(out, device, false), "device %d", device);
}
