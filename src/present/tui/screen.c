#include "present/tui/screen.h"

#include "base/num.h"
#include "base/strbuf.h"
#include "present/tui/terminfo.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define ESCAPE_PATIENCE_MS 25
#define INPUT_MAX 512
/* So many unchanged cells in between are cheaper written than jumped over. */
#define GAP_MAX 4
/* Longest that giving the terminal back may wait for one that does not read. */
#define RESTORE_PATIENCE_MS 200
#define FOREGROUND_CHECK_NS 100000000
#define COLOUR_MAX 24

struct key_text {
        char text[16];
        int key;
};

struct screen {
        struct screen_config config;
        enum depth depth;
        bool active;
        bool known; /* shown is what the terminal shows */
        struct canvas shown;
        struct strbuf out; /* what is composed, and not written up to sent */
        size_t sent;
        struct screen_counts counts;
        char fg[INK_COUNT][COLOUR_MAX], bg[INK_COUNT][COLOUR_MAX];
        uint8_t mono_fg[INK_COUNT], mono_bg[INK_COUNT];
        const char *cup, *cuf, *sgr0, *bold, *smul, *rev, *clear; /* terminfo's, borrowed */
        bool ansi;       /* cup and cuf are the usual ones: written without terminfo's help */
        struct cell pen; /* colours and attributes in force */
        bool pen_known;
        struct key_text keys[24];
        size_t n_keys;
        char input[INPUT_MAX];
        size_t n_input;
};

/* What a crash needs, where a signal handler can reach it. */
static struct {
        volatile sig_atomic_t active;
        int fd;   /* the terminal for writing; it does not block */
        bool own; /* it was opened for that, so that the shell's descriptor keeps its mode */
        struct termios before;
        char restore[160];
        size_t len;
} rescue;

static const int crashes[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

/* Writes to a descriptor that does not block, as long as there is patience. How much was written.
 * Signal handlers use it. */
static size_t write_within(int fd, const char *text, size_t len, int patience_ms)
{
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        size_t done = 0;
        while (done < len) {
                ssize_t n = write(fd, text + done, len - done);
                if (n > 0)
                        done += (size_t)n;
                else if (n < 0 && errno == EINTR)
                        continue;
                else if (n < 0 && errno != EAGAIN)
                        return len; /* it is gone */
                else if (patience_ms <= 0 || poll(&p, 1, patience_ms) <= 0)
                        return done;
        }
        return done;
}

static void set_blocking(int fd, bool block)
{
        int flags = fcntl(fd, F_GETFL);
        if (flags >= 0)
                fcntl(fd, F_SETFL, block ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
}

/* A terminal that is not the session's has no foreground, and nobody else's either. */
static bool in_foreground(void)
{
        pid_t group = tcgetpgrp(rescue.fd);
        return group <= 0 || group == getpgrp();
}

/* In the background the modes are the shell's, and what is written may not stop who wants to end.
 */
static void give_back_now(void)
{
        sigset_t stops, before;
        sigemptyset(&stops);
        sigaddset(&stops, SIGTTOU);
        pthread_sigmask(SIG_BLOCK, &stops, &before);
        write_within(rescue.fd, rescue.restore, rescue.len, RESTORE_PATIENCE_MS);
        if (in_foreground())
                tcsetattr(rescue.fd, TCSANOW, &rescue.before);
        if (!rescue.own)
                set_blocking(rescue.fd, true);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/*
 * In the background we stop, as a shell expects, until the terminal is ours. The kernel would do
 * the same to who sets modes, but then a signal to end, which is taken by a descriptor, would never
 * be seen: 'timeout 5 assay' would not end. False when there is one.
 */
static bool wait_for_foreground(void)
{
        static const int ends[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
        const struct timespec pause = {.tv_nsec = FOREGROUND_CHECK_NS};
        while (!in_foreground()) {
                sigset_t pending;
                sigpending(&pending);
                for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
                        if (sigismember(&pending, ends[i]) > 0)
                                return false;
                }
                raise(SIGTTOU);
                nanosleep(&pause, NULL); /* who ignores it, or has no shell, is not stopped */
        }
        return true;
}

static void on_crash(int sig)
{
        if (rescue.active)
                give_back_now();
        rescue.active = 0;
        signal(sig, SIG_DFL);
        raise(sig);
}

/* --- capabilities -------------------------------------------------------------------------- */

static void colour_text(const struct screen *s, char buf[COLOUR_MAX], const char *name, bool back,
                        int32_t colour)
{
        struct strbuf b = {0};
        buf[0] = '\0';
        if (s->depth == DEPTH_MONO)
                return;
        if (colour < 0)
                strbuf_puts(&b, back ? "\033[49m" : "\033[39m");
        else if (s->depth == DEPTH_TRUE)
                strbuf_putf(&b, "\033[%d;2;%d;%d;%dm", back ? 48 : 38, colour >> 16 & 0xff,
                            colour >> 8 & 0xff, colour & 0xff);
        else
                terminfo_put_with(&b, terminfo_text(name), colour, 0);
        snprintf(buf, COLOUR_MAX, "%s", strbuf_str(&b));
        strbuf_finish(&b);
}

void screen_set_theme(struct screen *s, enum theme theme)
{
        s->config.theme = theme;
        int colours = terminfo_number("colors");
        s->depth =
            theme == THEME_MONO ? DEPTH_MONO : theme_depth(colours, NULL, s->config.colorterm);
        s->depth = MIN(s->depth, s->config.depth_limit);
        for (enum ink i = 0; i < INK_COUNT; i++) {
                struct appearance appearance = theme_appearance(theme, s->depth, i);
                colour_text(s, s->fg[i], "setaf", false, appearance.colour);
                colour_text(s, s->bg[i], "setab", true, appearance.colour);
                s->mono_fg[i] = appearance.attr;
                s->mono_bg[i] = appearance.attr;
        }
        screen_invalidate(s);
}

static void detect_capabilities(struct screen *s)
{
        s->cup = terminfo_text("cup");
        s->cuf = terminfo_text("cuf");
        s->sgr0 = terminfo_text("sgr0");
        s->bold = terminfo_text("bold");
        s->smul = terminfo_text("smul");
        s->rev = terminfo_text("rev");
        s->clear = terminfo_text("clear");
        s->ansi = strcmp(s->cup, "\033[%i%p1%d;%p2%dH") == 0 && strcmp(s->cuf, "\033[%p1%dC") == 0;
}

static void detect_keys(struct screen *s)
{
        static const struct {
                const char *name;
                int key;
        } named[] = {
            {"kcuu1", INPUT_UP},     {"kcud1", INPUT_DOWN},    {"kcub1", INPUT_LEFT},
            {"kcuf1", INPUT_RIGHT},  {"kpp", INPUT_PAGE_UP},   {"knp", INPUT_PAGE_DOWN},
            {"khome", INPUT_HOME},   {"kend", INPUT_END},      {"kbs", INPUT_BACKSPACE},
            {"kdch1", INPUT_DELETE}, {"kcbt", INPUT_BACK_TAB}, {"kf1", INPUT_F1},
            {"kf9", INPUT_F9},       {"kich1", INPUT_INSERT},
        };
        for (size_t i = 0; i < ARRAY_LEN(named); i++) {
                const char *text = terminfo_text(named[i].name);
                size_t len = strlen(text);
                if (len > 0 && len < sizeof(s->keys[0].text)) {
                        memcpy(s->keys[s->n_keys].text, text, len + 1);
                        s->keys[s->n_keys++].key = named[i].key;
                }
        }
}

/* --- taking and giving the terminal -------------------------------------------------------- */

/* Writes what the terminal takes within that many milliseconds; true when nothing is left. */
static bool write_some(struct screen *s, int patience_ms)
{
        if (s->out.len == 0)
                return true;
        size_t n = write_within(rescue.fd, strbuf_str(&s->out) + s->sent, s->out.len - s->sent,
                                patience_ms);
        s->counts.bytes += n;
        s->sent += n;
        if (s->sent < s->out.len)
                return false;
        s->out.len = s->sent = 0;
        return true;
}

void screen_enter(struct screen *s)
{
        if (!wait_for_foreground())
                return;
        /* The shell may have changed modes while we were stopped. */
        if (!s->active)
                tcgetattr(s->config.in, &rescue.before);
        struct termios raw = rescue.before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
        raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        rescue.active = 1;
        s->active = true;
        tcsetattr(s->config.in, TCSANOW, &raw);
        if (!rescue.own)
                set_blocking(rescue.fd, false);
        terminfo_put(&s->out, terminfo_text("smcup"));
        terminfo_put(&s->out, terminfo_text("smkx"));
        terminfo_put(&s->out, terminfo_text("civis"));
        if (s->config.mouse)
                strbuf_puts(&s->out, "\033[?1000h\033[?1006h");
        write_some(s, 0);
        screen_invalidate(s);
}

void screen_leave(struct screen *s)
{
        if (!s->active)
                return;
        s->active = false;
        /* A sequence that was begun is completed, where the terminal takes it. */
        if (!write_some(s, RESTORE_PATIENCE_MS))
                s->out.len = s->sent = 0;
        give_back_now();
        rescue.active = 0;
}

/* The terminal once more, not blocking: flags of a descriptor are shared with the shell's. */
static void open_output(const struct screen_config *config)
{
        char path[40];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", config->out);
        int fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        rescue.own = fd >= 0;
        rescue.fd = fd >= 0 ? fd : config->out;
}

static void close_output(void)
{
        if (rescue.own)
                close(rescue.fd);
        rescue.own = false;
}

static void prepare_rescue(struct screen *s)
{
        struct strbuf b = {0};
        if (s->config.mouse)
                strbuf_puts(&b, "\033[?1006l\033[?1000l");
        terminfo_put(&b, terminfo_text("sgr0"));
        if (s->depth != DEPTH_MONO)
                terminfo_put(&b, terminfo_text("op"));
        terminfo_put(&b, terminfo_text("cnorm"));
        terminfo_put(&b, terminfo_text("rmkx"));
        terminfo_put(&b, terminfo_text("rmcup"));
        rescue.len = MIN(b.len, sizeof(rescue.restore));
        memcpy(rescue.restore, strbuf_str(&b), rescue.len);
        strbuf_finish(&b);
        struct sigaction action = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};
        for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
                sigaction(crashes[i], &action, NULL);
}

int screen_open(const struct screen_config *config, struct screen **ret, struct err *err)
{
        int r = terminfo_open(config->term, config->out, err);
        if (r < 0)
                return r;
        struct screen *s = calloc(1, sizeof(*s));
        if (!s)
                return err_set(err, -ENOMEM, "out of memory");
        s->config = *config;
        s->config.mouse = config->mouse && *terminfo_text("kmous");
        if (tcgetattr(config->in, &rescue.before) < 0) {
                free(s);
                return err_set(err, -errno, "cannot read the terminal's modes: %s",
                               strerror(errno));
        }
        detect_capabilities(s);
        screen_set_theme(s, config->theme);
        detect_keys(s);
        open_output(config);
        prepare_rescue(s);
        screen_enter(s);
        *ret = s;
        return 0;
}

void screen_close(struct screen *s)
{
        if (!s)
                return;
        screen_leave(s);
        for (size_t i = 0; i < ARRAY_LEN(crashes); i++)
                signal(crashes[i], SIG_DFL);
        close_output();
        canvas_finish(&s->shown);
        strbuf_finish(&s->out);
        terminfo_close();
        free(s);
}

void screen_size(const struct screen *s, int *ret_w, int *ret_h)
{
        struct winsize size;
        *ret_w = 80;
        *ret_h = 24;
        if (ioctl(s->config.out, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
                *ret_w = size.ws_col;
                *ret_h = size.ws_row;
        }
}

void screen_counts(const struct screen *s, struct screen_counts *ret)
{
        *ret = s->counts;
}

void screen_invalidate(struct screen *s)
{
        s->known = false;
        s->pen_known = false;
}

/* --- drawing ------------------------------------------------------------------------------- */

static uint8_t cell_attributes(const struct screen *s, const struct cell *c)
{
        return c->attr | s->mono_fg[c->fg] | s->mono_bg[c->bg];
}

/* Attributes can only be switched off together; colours go with them. */
static void set_pen(struct screen *s, const struct cell *c)
{
        uint8_t attr = cell_attributes(s, c);
        if (!s->pen_known || attr != s->pen.attr) {
                terminfo_put(&s->out, s->sgr0);
                if (attr & ATTR_BOLD)
                        terminfo_put(&s->out, s->bold);
                if (attr & ATTR_UNDERLINE)
                        terminfo_put(&s->out, s->smul);
                if (attr & ATTR_REVERSE)
                        terminfo_put(&s->out, s->rev);
                s->pen = (struct cell){.attr = attr};
                s->pen_known = true;
        }
        /* Inks that look alike are one ink; a blank shows no ink at all. */
        if (c->ch[0] != ' ' && strcmp(s->fg[c->fg], s->fg[s->pen.fg]) != 0) {
                strbuf_puts(&s->out, s->fg[c->fg]);
                s->pen.fg = c->fg;
        }
        if (strcmp(s->bg[c->bg], s->bg[s->pen.bg]) != 0) {
                strbuf_puts(&s->out, s->bg[c->bg]);
                s->pen.bg = c->bg;
        }
}

static void put_cell(struct screen *s, const struct cell *c)
{
        set_pen(s, c);
        strbuf_put(&s->out, c->ch, strnlen(c->ch, sizeof(c->ch)));
}

static bool cells_are_equal(const struct cell *a, const struct cell *b)
{
        return memcmp(a, b, sizeof(*a)) == 0;
}

static void put_number(struct strbuf *out, int v)
{
        char buf[20];
        strbuf_put(out, buf, num_format_u64(buf, (uint64_t)v));
}

static void move_cursor(struct screen *s, int x, int y)
{
        if (!s->ansi) {
                terminfo_put_with(&s->out, s->cup, y, x);
                return;
        }
        strbuf_put(&s->out, "\033[", 2);
        put_number(&s->out, y + 1);
        strbuf_putc(&s->out, ';');
        put_number(&s->out, x + 1);
        strbuf_putc(&s->out, 'H');
}

/* at is the column the cursor is in, or -1 when it is elsewhere. */
static void move_to(struct screen *s, const struct cell *row, int y, int at, int x)
{
        if (at >= 0 && x - at <= GAP_MAX) {
                for (int i = at; i < x; i++)
                        put_cell(s, &row[i]);
        } else if (at >= 0 && s->ansi) {
                strbuf_put(&s->out, "\033[", 2);
                put_number(&s->out, x - at);
                strbuf_putc(&s->out, 'C');
        } else {
                move_cursor(s, x, y);
        }
}

static void flush_row(struct screen *s, const struct canvas *c, int y)
{
        const struct cell *row = canvas_at(c, 0, y);
        struct cell *shown = canvas_at(&s->shown, 0, y);
        int at = -1;
        if (memcmp(row, shown, (size_t)c->w * sizeof(*row)) == 0)
                return;
        for (int x = 0; x < c->w; x++) {
                if (cells_are_equal(&row[x], &shown[x]))
                        continue;
                move_to(s, row, y, at, x);
                put_cell(s, &row[x]);
                /* After the last column terminals differ on where the cursor is. */
                at = x + 1 < c->w ? x + 1 : -1;
        }
        memcpy(shown, row, (size_t)c->w * sizeof(*row));
}

bool screen_flush(struct screen *s, const struct canvas *c)
{
        /* While the terminal has not taken one frame, others are left out. */
        if (!s->active || !write_some(s, 0))
                return false;
        if (!s->known || s->shown.w != c->w || s->shown.h != c->h) {
                if (canvas_resize(&s->shown, c->w, c->h) < 0)
                        return false;
                s->pen_known = false;
                terminfo_put(&s->out, s->sgr0);
                terminfo_put(&s->out, s->clear);
                s->known = true;
        }
        for (int y = 0; y < c->h; y++)
                flush_row(s, c, y);
        s->counts.frames += s->out.len > 0;
        /* The rest of a frame that the terminal took in part is sent at the next beat. */
        return write_some(s, 0);
}

/* --- keys ---------------------------------------------------------------------------------- */

static void screen_take(struct screen *s, size_t n)
{
        s->n_input -= n;
        memmove(s->input, s->input + n, s->n_input);
}

/* "ESC [ < button ; x ; y M": a press; m is a release. */
static bool parse_mouse(const char *text, struct key_event *ret)
{
        int button, x, y;
        char end;
        if (sscanf(text, "\033[<%d;%d;%d%c", &button, &x, &y, &end) != 4 || end != 'M')
                return false;
        *ret = (struct key_event){.key = INPUT_MOUSE,
                                  .x = x - 1,
                                  .y = y - 1,
                                  .button = button == 0    ? MOUSE_LEFT
                                            : button == 64 ? MOUSE_WHEEL_UP
                                            : button == 65 ? MOUSE_WHEEL_DOWN
                                                           : MOUSE_OTHER};
        return true;
}

/* How long the sequence at the start of the input is; 0 when it is not complete. */
static size_t sequence_length(const struct screen *s)
{
        if (s->n_input < 2)
                return 0;
        if (s->input[1] == 'O')
                return s->n_input >= 3 ? 3 : 0;
        if (s->input[1] != '[')
                return 1; /* a lone escape before another key */
        for (size_t i = 2; i < s->n_input; i++) {
                if (s->input[i] >= 0x40 && s->input[i] <= 0x7e)
                        return i + 1;
        }
        return 0;
}

static int sequence_key(const struct screen *s, const char *text)
{
        /* What terminals send whatever terminfo says. */
        static const struct key_text usual[] = {
            {"\033[A", INPUT_UP},         {"\033[B", INPUT_DOWN},     {"\033[C", INPUT_RIGHT},
            {"\033[D", INPUT_LEFT},       {"\033OA", INPUT_UP},       {"\033OB", INPUT_DOWN},
            {"\033OC", INPUT_RIGHT},      {"\033OD", INPUT_LEFT},     {"\033[H", INPUT_HOME},
            {"\033[F", INPUT_END},        {"\033OH", INPUT_HOME},     {"\033OF", INPUT_END},
            {"\033[1~", INPUT_HOME},      {"\033[4~", INPUT_END},     {"\033[5~", INPUT_PAGE_UP},
            {"\033[6~", INPUT_PAGE_DOWN}, {"\033[Z", INPUT_BACK_TAB}, {"\033OP", INPUT_F1},
            {"\033[11~", INPUT_F1},       {"\033[20~", INPUT_F9},
        };
        for (size_t i = 0; i < s->n_keys; i++) {
                if (strcmp(s->keys[i].text, text) == 0)
                        return s->keys[i].key;
        }
        for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
                if (strcmp(usual[i].text, text) == 0)
                        return usual[i].key;
        }
        return INPUT_UNKNOWN;
}

static int read_more(struct screen *s)
{
        ssize_t n = read(s->config.in, s->input + s->n_input, sizeof(s->input) - s->n_input);
        if (n < 0 && errno != EAGAIN && errno != EINTR)
                return -EIO;
        if (n > 0)
                s->n_input += (size_t)n;
        return n > 0;
}

static int escape_key(struct screen *s, struct key_event *ret)
{
        struct pollfd p = {.fd = s->config.in, .events = POLLIN};
        size_t len;
        while ((len = sequence_length(s)) == 0 && s->n_input < sizeof(s->input)) {
                if (poll(&p, 1, ESCAPE_PATIENCE_MS) <= 0 || read_more(s) <= 0) {
                        /* Nobody types that fast: it was the key itself. */
                        len = s->n_input < 2 ? 1 : s->n_input;
                        break;
                }
        }
        len = MAX(len, (size_t)1);
        char text[64];
        snprintf(text, sizeof(text), "%.*s", (int)MIN(len, sizeof(text) - 1), s->input);
        screen_take(s, len);
        *ret = (struct key_event){.key = INPUT_ESCAPE};
        if (len > 1 && !parse_mouse(text, ret))
                ret->key = sequence_key(s, text);
        return 0;
}

int screen_key(struct screen *s, struct key_event *ret)
{
        *ret = (struct key_event){.key = INPUT_NONE};
        if (!s->active)
                return 0; /* the keys are someone else's */
        int r = s->n_input == 0 ? read_more(s) : 0;
        if (r < 0)
                return r;
        if (s->n_input == 0)
                return 0;
        if (s->input[0] == '\033')
                return escape_key(s, ret);
        unsigned char c = (unsigned char)s->input[0];
        screen_take(s, 1);
        ret->key = c == '\r' || c == '\n'  ? INPUT_ENTER
                   : c == 0x7f || c == 0x8 ? INPUT_BACKSPACE
                   : c >= 0x80             ? INPUT_UNKNOWN
                                           : c;
        return 0;
}
