/* The HIP entry points that d4r uses, once: X(need, member, "symbol", (parameters)). Every one returns a
 * d4r_hip_error except where the last column says otherwise. REQUIRED symbols exist in every runtime from 5.2
 * on; without an OPTIONAL one a feature is off and the log says which.
 *
 * Deliberately absent: the external semaphore calls (not implemented on Linux, an assert-enabled runtime
 * aborts inside them), hipFuncSetAttribute (fails for module functions), hipGetDeviceProperties for decisions
 * (two layouts behind one name). */
#ifndef D4R_HIP_REQUIRED
#error "define D4R_HIP_REQUIRED and D4R_HIP_OPTIONAL, both (member, symbol, parameters), before including"
#endif

D4R_HIP_REQUIRED(init, "hipInit", (unsigned flags))
D4R_HIP_REQUIRED(runtime_version, "hipRuntimeGetVersion", (int *version))
D4R_HIP_REQUIRED(device_count, "hipGetDeviceCount", (int *count))
D4R_HIP_REQUIRED(get_device, "hipGetDevice", (int *device))
D4R_HIP_REQUIRED(set_device, "hipSetDevice", (int device))
D4R_HIP_REQUIRED(device_attribute, "hipDeviceGetAttribute", (int *value, int attribute, int device))
D4R_HIP_REQUIRED(device_name, "hipDeviceGetName", (char *name, int size, int device))
D4R_HIP_REQUIRED(stream_priority_range, "hipDeviceGetStreamPriorityRange", (int *least, int *greatest))
D4R_HIP_REQUIRED(stream_create, "hipStreamCreateWithPriority",
                 (d4r_hip_stream * stream, unsigned flags, int priority))
D4R_HIP_REQUIRED(stream_destroy, "hipStreamDestroy", (d4r_hip_stream stream))
D4R_HIP_REQUIRED(stream_synchronize, "hipStreamSynchronize", (d4r_hip_stream stream))
D4R_HIP_REQUIRED(stream_query, "hipStreamQuery", (d4r_hip_stream stream))
D4R_HIP_REQUIRED(stream_wait_event, "hipStreamWaitEvent",
                 (d4r_hip_stream stream, d4r_hip_event event, unsigned flags))
D4R_HIP_REQUIRED(stream_callback, "hipStreamAddCallback",
                 (d4r_hip_stream stream, d4r_hip_callback callback, void *user, unsigned flags))
D4R_HIP_REQUIRED(event_create, "hipEventCreateWithFlags", (d4r_hip_event * event, unsigned flags))
D4R_HIP_REQUIRED(event_destroy, "hipEventDestroy", (d4r_hip_event event))
D4R_HIP_REQUIRED(event_record, "hipEventRecord", (d4r_hip_event event, d4r_hip_stream stream))
D4R_HIP_REQUIRED(event_synchronize, "hipEventSynchronize", (d4r_hip_event event))
D4R_HIP_REQUIRED(event_query, "hipEventQuery", (d4r_hip_event event))
D4R_HIP_REQUIRED(event_elapsed, "hipEventElapsedTime",
                 (float *milliseconds, d4r_hip_event start, d4r_hip_event end))
D4R_HIP_REQUIRED(module_load, "hipModuleLoadData", (d4r_hip_module * module, const void *image))
D4R_HIP_REQUIRED(module_unload, "hipModuleUnload", (d4r_hip_module module))
D4R_HIP_REQUIRED(module_function, "hipModuleGetFunction",
                 (d4r_hip_function * function, d4r_hip_module module, const char *name))
D4R_HIP_REQUIRED(launch, "hipModuleLaunchKernel",
                 (d4r_hip_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                  unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                  d4r_hip_stream stream, void **arguments, void **extra))
D4R_HIP_REQUIRED(device_malloc, "hipMalloc", (void **pointer, size_t size))
D4R_HIP_REQUIRED(device_free, "hipFree", (void *pointer))
D4R_HIP_REQUIRED(copy, "hipMemcpy", (void *to, const void *from, size_t size, int kind))
D4R_HIP_REQUIRED(memset_async, "hipMemsetAsync", (void *to, int value, size_t size, d4r_hip_stream stream))
D4R_HIP_REQUIRED(import_memory, "hipImportExternalMemory",
                 (d4r_hip_external * memory, const d4r_hip_memory_handle *handle))
D4R_HIP_REQUIRED(map_memory, "hipExternalMemoryGetMappedBuffer",
                 (void **pointer, d4r_hip_external memory, const d4r_hip_memory_range *range))
D4R_HIP_REQUIRED(destroy_memory, "hipDestroyExternalMemory", (d4r_hip_external memory))

D4R_HIP_OPTIONAL(stream_device, "hipStreamGetDevice", (d4r_hip_stream stream, int *device))
D4R_HIP_OPTIONAL(properties_r0600, "hipGetDevicePropertiesR0600", (void *properties, int device))
D4R_HIP_OPTIONAL(properties_old, "hipGetDeviceProperties", (void *properties, int device))
D4R_HIP_OPTIONAL(host_function, "hipLaunchHostFunc",
                 (d4r_hip_stream stream, d4r_hip_host_fn function, void *user))
D4R_HIP_OPTIONAL(host_register, "hipHostRegister", (void *pointer, size_t size, unsigned flags))
D4R_HIP_OPTIONAL(host_unregister, "hipHostUnregister", (void *pointer))
D4R_HIP_OPTIONAL(host_device_pointer, "hipHostGetDevicePointer", (void **device, void *host, unsigned flags))
D4R_HIP_OPTIONAL(stream_wait_value, "hipStreamWaitValue32",
                 (d4r_hip_stream stream, void *pointer, uint32_t value, unsigned flags, uint32_t mask))
D4R_HIP_OPTIONAL(graph_create, "hipGraphCreate", (d4r_hip_graph * graph, unsigned flags))
D4R_HIP_OPTIONAL(graph_add_kernel, "hipGraphAddKernelNode",
                 (d4r_hip_node * node, d4r_hip_graph graph, const d4r_hip_node *dependencies, size_t count,
                  const d4r_hip_kernel_node *kernel))
D4R_HIP_OPTIONAL(graph_instantiate, "hipGraphInstantiate",
                 (d4r_hip_exec * exec, d4r_hip_graph graph, d4r_hip_node *error_node, char *log,
                  size_t log_size))
D4R_HIP_OPTIONAL(graph_launch, "hipGraphLaunch", (d4r_hip_exec exec, d4r_hip_stream stream))
D4R_HIP_OPTIONAL(graph_exec_destroy, "hipGraphExecDestroy", (d4r_hip_exec exec))
D4R_HIP_OPTIONAL(graph_destroy, "hipGraphDestroy", (d4r_hip_graph graph))

#undef D4R_HIP_REQUIRED
#undef D4R_HIP_OPTIONAL
