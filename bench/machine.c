#include "bench/machine.h"

#include <stdio.h>
#include <string.h>

void bench_cpu_model(char *name, size_t size)
{
    char line[256];
    snprintf(name, size, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    while (fgets(line, sizeof(line), file)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !colon) continue;
        colon[strcspn(colon, "\n")] = 0;
        for (char *c = colon; *c; c++)
            if (*c == '"' || *c == '\\') *c = ' ';
        snprintf(name, size, "%s", colon + 2);
        break;
    }
    fclose(file);
}
