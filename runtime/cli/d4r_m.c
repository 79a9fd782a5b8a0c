/* d4r-m: upscales a frame sequence with preset M. */
#include "runtime/cli/run_main.h"

int main(int count, char **arguments)
{
    static const run_tool tool = {"d4r-m", D4R_PRESET_M, "downsample"};
    return run_main(&tool, count, arguments);
}
