#include "runtime/cli/given.h"

#include <string.h>

#define MAX_GIVEN 96
#define MAX_TEXT 48

static char given[MAX_GIVEN][MAX_TEXT];
static unsigned given_count;

void cli_given(const char *what)
{
    if (given_count < MAX_GIVEN) snprintf(given[given_count++], MAX_TEXT, "%s", what);
}

void cli_given_option(const struct option *option, const char *value)
{
    char text[MAX_TEXT];
    snprintf(text, sizeof text, "--%s", option->name);
    cli_given(text);
    if (!value) return;
    snprintf(text, sizeof text, "--%s=%s", option->name, value);
    cli_given(text);
}

static const char *find(const char *pattern)
{
    size_t length = strlen(pattern);
    bool open = length && pattern[length - 1] == '*';
    for (unsigned i = 0; i < given_count; i++)
        if (open ? !strncmp(given[i], pattern, length - 1) : !strcmp(given[i], pattern)) return given[i];
    return NULL;
}

int cli_check_conflicts(const cli_conflict *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *first = find(table[i].first), *second = find(table[i].second);
        if (first && second)
            return cli_usage_error("%s and %s contradict each other: %s", first, second, table[i].reason);
    }
    return CLI_OK;
}

int cli_option_error(int answer, char **arguments)
{
    const char *text = arguments[optind - 1];
    if (answer == ':') return cli_usage_error("'%s': its value is missing", text);
    if (optopt && !strncmp(text, "--", 2)) return cli_usage_error("'%s': this option takes no value", text);
    return cli_usage_error("'%s': unknown option", text);
}
