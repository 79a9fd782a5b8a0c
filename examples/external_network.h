/* A network of the embedder's own for the loop of minimal.c, which is compiled with this header put in front. */
#ifndef D4R_EXAMPLES_EXTERNAL_NETWORK_H
#define D4R_EXAMPLES_EXTERNAL_NETWORK_H

#include "d4r/d4r_vulkan.h"

d4r_status external_network(const d4r_log *log, d4r_network **network);
#define NETWORK(model, log, network) external_network(log, network)

#endif
