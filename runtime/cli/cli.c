#include "runtime/cli/cli.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#define MAX_REMEMBERED 64

static struct {
    const char *tool;
    pthread_mutex_t lock;
    bool progress_shown;
    unsigned errors;
    char *seen[MAX_REMEMBERED];
    unsigned seen_count;
} state = {.tool = "d4r", .lock = PTHREAD_MUTEX_INITIALIZER};

int cli_exit_code(d4r_status status)
{
    switch (status) {
    case D4R_OK:
    case D4R_PENDING:
        return CLI_OK;
    case D4R_ERROR_NO_DEVICE:
    case D4R_ERROR_FEATURE:
        return CLI_NO_DEVICE;
    case D4R_ERROR_MODEL:
        return CLI_BAD_MODEL;
    case D4R_ERROR_ARGUMENT:
    case D4R_ERROR_INPUT:
    case D4R_ERROR_IO:
        return CLI_BAD_INPUT;
    case D4R_ERROR_MEMORY:
    case D4R_ERROR_DEVICE:
    case D4R_ERROR_NETWORK:
    case D4R_ERROR_TIMEOUT:
    case D4R_ERROR_STATE:
        break;
    }
    return CLI_DEVICE;
}

/* ---- messages */

static bool seen_before(const char *line)
{
    for (unsigned i = 0; i < state.seen_count; i++)
        if (!strcmp(state.seen[i], line)) return true;
    if (state.seen_count < MAX_REMEMBERED) {
        char *copy = strdup(line);
        if (copy) state.seen[state.seen_count++] = copy;
    }
    return false;
}

static void clear_progress(void)
{
    if (state.progress_shown) fputs("\r\033[K", stderr);
    state.progress_shown = false;
}

static void write_line(void *user, d4r_log_level level, const char *line)
{
    static const char *const prefix[] = {"error: ", "warning: ", "", "debug: "};
    (void)user;
    pthread_mutex_lock(&state.lock);
    if (level == D4R_LOG_ERROR) state.errors++;
    if (level != D4R_LOG_WARNING || !seen_before(line)) {
        clear_progress();
        fprintf(stderr, "%s: %s%s\n", state.tool, prefix[level], line);
    }
    pthread_mutex_unlock(&state.lock);
}

static d4r_log log_state = {write_line, NULL, D4R_LOG_INFO};

void cli_start(const char *tool)
{
    state.tool = tool;
}
void cli_set_level(d4r_log_level level)
{
    log_state.level = level;
}
const d4r_log *cli_log(void)
{
    return &log_state;
}

unsigned cli_error_count(void)
{
    pthread_mutex_lock(&state.lock);
    unsigned errors = state.errors;
    pthread_mutex_unlock(&state.lock);
    return errors;
}

int cli_usage_error(const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    d4r_log_print(&log_state, D4R_LOG_ERROR, "%s; try '%s --help'", line, state.tool);
    return CLI_USAGE;
}

void cli_progress(const char *format, ...)
{
    static int terminal = -1;
    pthread_mutex_lock(&state.lock);
    if (terminal < 0) terminal = isatty(STDERR_FILENO);
    if (terminal && log_state.level >= D4R_LOG_INFO) {
        clear_progress();
        if (format) {
            va_list args;
            va_start(args, format);
            vfprintf(stderr, format, args);
            va_end(args);
            fflush(stderr);
            state.progress_shown = true;
        }
    }
    pthread_mutex_unlock(&state.lock);
}

/* ---- interruption */

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

void cli_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool cli_interrupted(void)
{
    return interrupted != 0;
}

/* ---- strings and numbers */

char *cli_format(const char *format, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0) text = NULL;
    va_end(args);
    return text;
}

char *cli_dirname(const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    if (slash == path) return strdup("/");
    return strndup(path, (size_t)(slash - path));
}

char *cli_join(const char *base, const char *relative)
{
    if (relative[0] == '/') return strdup(relative);
    if (!strcmp(base, ".")) return strdup(relative);
    return cli_format("%s/%s", base, relative);
}

bool cli_ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && !strcasecmp(text + length - tail, suffix);
}

bool cli_parse_uint(const char *text, uint32_t low, uint32_t high, uint32_t *value)
{
    char *end = NULL;
    if (!text || text[0] < '0' || text[0] > '9') return false;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno || *end || number < low || number > high) return false;
    *value = (uint32_t)number;
    return true;
}

bool cli_parse_number(const char *text, double *value)
{
    char *end = NULL;
    if (!text || !*text || strchr(" \t\n", *text)) return false;
    errno = 0;
    *value = strtod(text, &end);
    return !*end && isfinite(*value);
}

bool cli_parse_pair(const char *text, double *first, double *second)
{
    const char *comma = strchr(text, ',');
    if (!comma) {
        if (!cli_parse_number(text, first)) return false;
        *second = *first;
        return true;
    }
    char head[64];
    size_t length = (size_t)(comma - text);
    if (length >= sizeof head) return false;
    memcpy(head, text, length);
    head[length] = 0;
    return cli_parse_number(head, first) && cli_parse_number(comma + 1, second);
}

double cli_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
