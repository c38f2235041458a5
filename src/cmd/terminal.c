#include "cmd/terminal.h"

#include "cmd/command.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define COLUMNS_MOST 1000

bool terminal_has_utf8(void)
{
        static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
                const char *value = get_env(names[i]);
                if (value && *value)
                        return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
        }
        return false;
}

int terminal_open_signals(sigset_t *ret_before)
{
        static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGCONT};
        sigset_t set;
        sigemptyset(&set);
        for (size_t i = 0; i < ARRAY_LEN(watched); i++)
                sigaddset(&set, watched[i]);
        pthread_sigmask(SIG_BLOCK, &set, ret_before);
        signal(SIGPIPE, SIG_IGN);
        return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int terminal_open_screen(const struct config *config, int tty, struct screen **ret, struct err *err)
{
        const char *no_color = get_env("NO_COLOR");
        struct screen_config sc = {
            .in = tty,
            .out = STDOUT_FILENO,
            .term = get_env("TERM"),
            .depth_limit = no_color && *no_color ? DEPTH_MONO : DEPTH_TRUE,
            .colorterm = get_env("COLORTERM"),
            .theme = theme_settle(theme_find(config_text(config, OPT_THEME)), get_env("COLORFGBG")),
            .mouse = true,
        };
        return screen_open(&sc, ret, err);
}

size_t terminal_columns(void)
{
        struct winsize size;
        const char *said = getenv("COLUMNS");
        long columns = said ? strtol(said, NULL, 10) : 0;
        if (columns > 0)
                return (size_t)MIN(columns, COLUMNS_MOST);
        if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
                return size.ws_col;
        return 0;
}
