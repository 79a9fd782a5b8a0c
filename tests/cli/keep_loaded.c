/* Part of the tools in address sanitizer builds. The Vulkan loader and the tools' libraries unload drivers and layers
 * before the leak check, whose report then has no module to name (and none to match with lsan.supp). So nothing is
 * unloaded. */
__attribute__((visibility("default"))) int dlclose(void *handle);
int dlclose(void *handle)
{
    (void)handle;
    return 0;
}
