#include "runtime/cli/hip_options.h"

#include <string.h>
#include "runtime/cli/cli.h"

const char cli_hip_help[] =
    "HIP network:\n"
    "  --hip-platform amd|nvidia   whose runtime; nvidia runs the same kernels through NVIDIA's driver\n"
    "  --hip-library FILE        default $D4R_HIP_LIBRARY, else libamdhip64.so.7, .6, .5, libamdhip64.so\n"
    "  --hip-device N|pci:DDDD:BB:DD.F   default the Vulkan device's own card, by PCI address\n"
    "  --hip-kernels DIR         code objects, one folder an architecture; default $D4R_KERNELS, else beside "
    "the\n"
    "                            library\n"
    "  --hip-handoff host|marker   who waits for the tokens: a host thread, or the stream itself\n"
    "  --hip-completion event|callback   how the end of the network is noticed\n"
    "  --hip-graphs auto|off|on  one graph launch a frame instead of ten (K: eleven) kernel launches\n";

static const char *const platforms[] = {"amd", "nvidia", NULL};
static const char *const handoffs[] = {"host", "marker", NULL};
static const char *const completions[] = {"event", "callback", NULL};
static const char *const graphs[] = {"auto", "off", "on", NULL};

cli_hip_names cli_hip_names_of(const d4r_hip_network_params *params)
{
    return (cli_hip_names){platforms[params->platform], handoffs[params->strategy],
                           completions[params->completion], graphs[params->graphs]};
}

/* Index of `value` in the NULL-ended list. */
static bool pick(const char *option, const char *value, const char *const *names, int *choice)
{
    for (int i = 0; names[i]; i++)
        if (!strcmp(value, names[i])) {
            *choice = i;
            return true;
        }
    char list[64] = "";
    for (int i = 0; names[i]; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", names[i]);
    }
    cli_usage_error("--%s: '%s' is none of %s", option, value, list);
    return false;
}

bool cli_hip_option(int option, const char *value, d4r_hip_network_params *params, bool *good)
{
    int choice = 0;
    *good = true;
    switch (option) {
    case CLI_HIP_PLATFORM:
        *good = pick("hip-platform", value, platforms, &choice);
        params->platform = (d4r_hip_platform)choice;
        return true;
    case CLI_HIP_LIBRARY:
        params->library = value;
        return true;
    case CLI_HIP_DEVICE:
        params->device = value;
        return true;
    case CLI_HIP_KERNELS:
        params->kernels = value;
        return true;
    case CLI_HIP_HANDOFF:
        *good = pick("hip-handoff", value, handoffs, &choice);
        params->strategy = (d4r_handoff_strategy)choice;
        return true;
    case CLI_HIP_COMPLETION:
        *good = pick("hip-completion", value, completions, &choice);
        params->completion = (d4r_hip_completion)choice;
        return true;
    case CLI_HIP_GRAPHS:
        *good = pick("hip-graphs", value, graphs, &choice);
        params->graphs = (d4r_hip_graphs)choice;
        return true;
    default:
        return false;
    }
}
