/* d4r's HIP network on a stream of the embedder's for the loop of minimal.c, which is compiled with this header put in
 * front. */
#ifndef D4R_EXAMPLES_HIP_STREAM_H
#define D4R_EXAMPLES_HIP_STREAM_H

#include "d4r/d4r_vulkan.h"

d4r_status hip_stream_network(const d4r_model *model, const d4r_log *log, d4r_network **network);
#define NETWORK(model, log, network) hip_stream_network(model, log, network)

#endif
