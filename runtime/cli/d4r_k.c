/* d4r-k: upscales a frame sequence with preset K. */
#include "runtime/cli/run_main.h"

int main(int count, char **arguments)
{
    static const run_tool tool = {"d4r-k", D4R_PRESET_K, "reconstruction"};
    return run_main(&tool, count, arguments);
}
