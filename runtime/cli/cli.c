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
#include "runtime/base/utf8.h"

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

/* Bytes of the printable UTF-8 character at `text`; 0: a control character, or not UTF-8. */
static size_t printable_length(const char *text)
{
    const unsigned char *t = (const unsigned char *)text;
    if (t[0] < 0x20 || t[0] == 0x7f) return 0;
    size_t length = d4r_utf8_length(text);
    if (length == 2 && t[0] == 0xc2 && t[1] < 0xa0) return 0; /* C1 controls */
    if (length != 3 || t[0] != 0xe2) return length;
    if (t[1] == 0x80 && (t[2] & 0xfe) == 0xa8) return 0;        /* line and paragraph separators */
    if (t[1] == 0x80 && t[2] >= 0xaa && t[2] <= 0xae) return 0; /* direction overrides */
    return t[1] == 0x81 && t[2] >= 0xa6 && t[2] <= 0xa9 ? 0 : length;
}

size_t cli_escape(const char *text, char *out, size_t size)
{
    size_t used = 0;
    while (*text) {
        size_t length = printable_length(text);
        char piece[8];
        if (length) {
            memcpy(piece, text, length);
            piece[length] = 0;
            text += length;
        } else {
            const char *name = strchr("\nn\tt\rr", *text); /* a control character and its letter */
            if (name)
                snprintf(piece, sizeof piece, "\\%c", name[1]);
            else
                snprintf(piece, sizeof piece, "\\x%02x", (unsigned char)*text);
            text++;
        }
        length = strlen(piece);
        if (used + length >= size) break;
        memcpy(out + used, piece, length);
        used += length;
    }
    if (size) out[used] = 0;
    return used;
}

static void write_line(void *user, d4r_log_level level, const char *line)
{
    static const char *const prefix[] = {"error: ", "warning: ", "", "debug: "};
    char safe[4200]; /* a line of 1023 bytes, each escaped */
    (void)user;
    cli_escape(line, safe, sizeof safe);
    line = safe;
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
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a failed write (cli_finish) and leaves nothing behind */
}

int cli_finish(int code)
{
    if (!fflush(stdout) && !ferror(stdout)) return code;
    d4r_log_print(&log_state, D4R_LOG_ERROR, "standard output: cannot be written: %s", strerror(errno));
    return code == CLI_OK || code == 1 ? CLI_BAD_INPUT : code;
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
    char line[256] = "", safe[1040];
    if (format) {
        va_list args;
        va_start(args, format);
        vsnprintf(line, sizeof line, format, args);
        va_end(args);
    }
    cli_escape(line, safe, sizeof safe);
    pthread_mutex_lock(&state.lock);
    if (terminal < 0) terminal = isatty(STDERR_FILENO);
    if (terminal && log_state.level >= D4R_LOG_INFO) {
        clear_progress();
        fputs(safe, stderr);
        fflush(stderr);
        state.progress_shown = format != NULL;
    }
    pthread_mutex_unlock(&state.lock);
}

/* ---- a step that takes long now and then */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    const char *text;
    bool running, ending;
} busy = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *show_busy(void *unused)
{
    struct timespec until;
    double start = cli_now();
    (void)unused;
    pthread_mutex_lock(&busy.lock);
    clock_gettime(CLOCK_REALTIME, &until);
    while (!busy.ending) {
        until.tv_nsec += 500000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (pthread_cond_timedwait(&busy.changed, &busy.lock, &until) != ETIMEDOUT) continue;
        cli_progress("%s (%.0f s)", busy.text, cli_now() - start);
    }
    pthread_mutex_unlock(&busy.lock);
    return NULL;
}

void cli_busy_begin(const char *text)
{
    if (!isatty(STDERR_FILENO) || log_state.level < D4R_LOG_INFO) return;
    busy.text = text;
    busy.ending = false;
    busy.running = !pthread_create(&busy.thread, NULL, show_busy, NULL);
}

void cli_busy_end(void)
{
    if (!busy.running) return;
    pthread_mutex_lock(&busy.lock);
    busy.ending = true;
    pthread_cond_signal(&busy.changed);
    pthread_mutex_unlock(&busy.lock);
    pthread_join(busy.thread, NULL);
    busy.running = false;
    cli_progress(NULL);
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
