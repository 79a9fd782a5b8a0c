/* The device commands that the library loads into its VolkDeviceTable. Anything not listed here stays NULL in
 * the table: add a name before using it. REQUIRED ones exist in every Vulkan 1.2 device; OPTIONAL ones belong
 * to extensions and may be NULL. */
#ifndef D4R_RUNTIME_BASE_VK_FUNCTIONS_H
#define D4R_RUNTIME_BASE_VK_FUNCTIONS_H

#define D4R_VK_REQUIRED_FUNCTIONS(X)  \
    X(vkAllocateCommandBuffers)       \
    X(vkAllocateDescriptorSets)       \
    X(vkAllocateMemory)               \
    X(vkBeginCommandBuffer)           \
    X(vkBindBufferMemory)             \
    X(vkBindImageMemory)              \
    X(vkCmdBindDescriptorSets)        \
    X(vkCmdBindPipeline)              \
    X(vkCmdBlitImage)                 \
    X(vkCmdClearColorImage)           \
    X(vkCmdCopyBuffer)                \
    X(vkCmdCopyBufferToImage)         \
    X(vkCmdCopyImage)                 \
    X(vkCmdCopyImageToBuffer)         \
    X(vkCmdDispatch)                  \
    X(vkCmdDispatchIndirect)          \
    X(vkCmdExecuteCommands)           \
    X(vkCmdFillBuffer)                \
    X(vkCmdPipelineBarrier)           \
    X(vkCmdPushConstants)             \
    X(vkCmdResetEvent)                \
    X(vkCmdResetQueryPool)            \
    X(vkCmdSetEvent)                  \
    X(vkCmdUpdateBuffer)              \
    X(vkCmdWaitEvents)                \
    X(vkCmdWriteTimestamp)            \
    X(vkCreateBuffer)                 \
    X(vkCreateBufferView)             \
    X(vkCreateCommandPool)            \
    X(vkCreateComputePipelines)       \
    X(vkCreateDescriptorPool)         \
    X(vkCreateDescriptorSetLayout)    \
    X(vkCreateFence)                  \
    X(vkCreateImage)                  \
    X(vkCreateImageView)              \
    X(vkCreatePipelineCache)          \
    X(vkCreatePipelineLayout)         \
    X(vkCreateQueryPool)              \
    X(vkCreateSampler)                \
    X(vkCreateSemaphore)              \
    X(vkCreateShaderModule)           \
    X(vkDestroyBuffer)                \
    X(vkDestroyBufferView)            \
    X(vkDestroyCommandPool)           \
    X(vkDestroyDescriptorPool)        \
    X(vkDestroyDescriptorSetLayout)   \
    X(vkDestroyDevice)                \
    X(vkDestroyFence)                 \
    X(vkDestroyImage)                 \
    X(vkDestroyImageView)             \
    X(vkDestroyPipeline)              \
    X(vkDestroyPipelineCache)         \
    X(vkDestroyPipelineLayout)        \
    X(vkDestroyQueryPool)             \
    X(vkDestroySampler)               \
    X(vkDestroySemaphore)             \
    X(vkDestroyShaderModule)          \
    X(vkDeviceWaitIdle)               \
    X(vkEndCommandBuffer)             \
    X(vkFlushMappedMemoryRanges)      \
    X(vkFreeCommandBuffers)           \
    X(vkFreeDescriptorSets)           \
    X(vkFreeMemory)                   \
    X(vkGetBufferMemoryRequirements)  \
    X(vkGetBufferMemoryRequirements2) \
    X(vkGetDeviceQueue)               \
    X(vkGetFenceStatus)               \
    X(vkGetImageMemoryRequirements)   \
    X(vkGetImageMemoryRequirements2)  \
    X(vkGetQueryPoolResults)          \
    X(vkGetSemaphoreCounterValue)     \
    X(vkInvalidateMappedMemoryRanges) \
    X(vkMapMemory)                    \
    X(vkQueueSubmit)                  \
    X(vkQueueWaitIdle)                \
    X(vkResetCommandBuffer)           \
    X(vkResetCommandPool)             \
    X(vkResetDescriptorPool)          \
    X(vkResetFences)                  \
    X(vkResetQueryPool)               \
    X(vkSignalSemaphore)              \
    X(vkUnmapMemory)                  \
    X(vkUpdateDescriptorSets)         \
    X(vkWaitForFences)                \
    X(vkWaitSemaphores)

#define D4R_VK_OPTIONAL_FUNCTIONS(X)       \
    X(vkCmdWriteBufferMarkerAMD)           \
    X(vkGetMemoryFdKHR)                    \
    X(vkGetMemoryFdPropertiesKHR)          \
    X(vkGetMemoryHostPointerPropertiesEXT) \
    X(vkGetSemaphoreFdKHR)                 \
    X(vkImportSemaphoreFdKHR)

#endif
