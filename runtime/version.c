#include "d4r/d4r.h"

#define TEXT(x) #x
#define VERSION(major, minor, patch) TEXT(major) "." TEXT(minor) "." TEXT(patch)

const char *d4r_version_string(void)
{
    return VERSION(D4R_VERSION_MAJOR, D4R_VERSION_MINOR, D4R_VERSION_PATCH);
}
