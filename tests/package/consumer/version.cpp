#include <cstdio>
#include <cstring>
#include <d4r/d4r.h>

int main()
{
    char built[32];
    std::snprintf(built, sizeof built, "%d.%d.%d", D4R_VERSION_MAJOR, D4R_VERSION_MINOR, D4R_VERSION_PATCH);
    std::printf("%s\n", d4r_version_string());
    return std::strcmp(built, d4r_version_string()) != 0;
}
