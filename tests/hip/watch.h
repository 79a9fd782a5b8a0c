/* A vkGetInstanceProcAddr between the engine and the device: records what the engine puts into command buffers, and
 * leaves out one kind of host call or command. */
#ifndef D4R_TESTS_HIP_WATCH_H
#define D4R_TESTS_HIP_WATCH_H

#include "tests/vk_test.h"

typedef enum watch_without {
    WATCH_ALL = 0,
    WATCH_WITHOUT_WAIT,   /* vkWaitSemaphores returns at once */
    WATCH_WITHOUT_SIGNAL, /* vkSignalSemaphore does nothing */
    WATCH_WITHOUT_FILL,   /* vkCmdFillBuffer of one word does nothing: the marker is not written */
    WATCH_WITHOUT_RELEASE,
    WATCH_WITHOUT_ACQUIRE
} watch_without;

typedef enum watch_kind { WATCH_DISPATCH, WATCH_BARRIER, WATCH_FILL } watch_kind;

typedef struct watch_command {
    watch_kind kind;
    VkPipelineStageFlags from, to;
    uint32_t memory_count, buffer_count;
    VkMemoryBarrier memory;
    VkBufferMemoryBarrier buffers[2];
    VkBuffer filled;
    VkDeviceSize fill_size;
    uint32_t value;
} watch_command;

void watch_init(const vk_test *t);
void watch_leave_out(watch_without what);
/* Starts recording; the list is of the commands since then. */
void watch_record(void);
const watch_command *watch_commands(uint32_t *count);
PFN_vkVoidFunction VKAPI_CALL watch_get_instance_proc_addr(VkInstance instance, const char *name);

#endif
