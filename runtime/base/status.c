#include "d4r/d4r.h"

const char *d4r_status_name(d4r_status status)
{
    switch (status) {
    case D4R_OK:
        return "ok";
    case D4R_PENDING:
        return "pending";
    case D4R_ERROR_ARGUMENT:
        return "invalid argument";
    case D4R_ERROR_MEMORY:
        return "out of memory";
    case D4R_ERROR_IO:
        return "file or system error";
    case D4R_ERROR_MODEL:
        return "bad model";
    case D4R_ERROR_INPUT:
        return "bad input";
    case D4R_ERROR_NO_DEVICE:
        return "no suitable device";
    case D4R_ERROR_FEATURE:
        return "missing feature";
    case D4R_ERROR_DEVICE:
        return "device failure";
    case D4R_ERROR_NETWORK:
        return "network failure";
    case D4R_ERROR_TIMEOUT:
        return "timed out";
    case D4R_ERROR_STATE:
        return "wrong state";
    }
    return "unknown status";
}
