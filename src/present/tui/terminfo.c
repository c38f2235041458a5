#include "present/tui/terminfo.h"

#include "base/attr.h"
#include "base/symbol.h"
#include "build_features.h"

#include <curses.h>
#include <stdint.h>
#include <term.h>

/* TERMINFO_FUNCTION(name): what is used of it. */
#define TERMINFO_FUNCTIONS(TERMINFO_FUNCTION)                                                      \
        TERMINFO_FUNCTION(setupterm)                                                               \
        TERMINFO_FUNCTION(set_curterm)                                                             \
        TERMINFO_FUNCTION(del_curterm)                                                             \
        TERMINFO_FUNCTION(tigetstr)                                                                \
        TERMINFO_FUNCTION(tigetnum)                                                                \
        TERMINFO_FUNCTION(tparm)                                                                   \
        TERMINFO_FUNCTION(tputs)

/* The library's own terminal is one for the process, so its functions may be too. */
static struct {
#define TERMINFO_FUNCTION(name) __typeof__(name) *name;
        TERMINFO_FUNCTIONS(TERMINFO_FUNCTION)
#undef TERMINFO_FUNCTION
} library;

#if FEATURE_PORTABLE
static bool library_load(void)
{
#define TERMINFO_FUNCTION(name) library.name = name;
        TERMINFO_FUNCTIONS(TERMINFO_FUNCTION)
#undef TERMINFO_FUNCTION
        return true;
}
#else
static bool library_load(void)
{
        /* ncurses may be built with terminfo apart or inside. */
        static const char *const names[] = {"libtinfo.so.6", "libtinfow.so.6", "libncursesw.so.6"};
        void *handle = NULL;
        bool all = true;
        for (size_t i = 0; !handle && i < ARRAY_LEN(names); i++)
                handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
#define TERMINFO_FUNCTION(name) all = symbol_find(handle, #name, &library.name) && all;
        TERMINFO_FUNCTIONS(TERMINFO_FUNCTION)
#undef TERMINFO_FUNCTION
        return all;
}
#endif

int terminfo_open(const char *term, int fd, struct err *err)
{
        int found;
        if (!library_load()) {
                err_set(err, ERR_NO_SOURCE, "cannot show the dashboard: ncurses is not installed");
                return err_hint_install(err, "libtinfo6", "ncurses-libs", NULL);
        }
        if (library.setupterm(term, fd, &found) != OK || !*terminfo_text("cup")) {
                err_set(err, ERR_USAGE, "the terminal '%s' cannot show the dashboard",
                        term ? term : "");
                return err_hint(err, "set TERM to what it is (xterm-256color, tmux-256color), or "
                                     "use 'assay once'");
        }
        return 0;
}

const char *terminfo_text(const char *name)
{
        const char *s = library.tigetstr(name);
        /* An absent one is NULL, an unknown one the pointer -1. */
        return (intptr_t)s + 1 > 1 ? s : "";
}

int terminfo_number(const char *name)
{
        return library.tigetnum(name);
}

/* tputs gives its output to a function without an argument. */
static struct strbuf *padded;

static int put_padded(int c)
{
        strbuf_putc(padded, (char)c);
        return c;
}

void terminfo_put(struct strbuf *out, const char *text)
{
        padded = out;
        if (*text)
                library.tputs(text, 1, put_padded);
}

void terminfo_put_with(struct strbuf *out, const char *text, long first, long second)
{
        terminfo_put(out, library.tparm(text, first, second, 0L, 0L, 0L, 0L, 0L, 0L, 0L));
}

void terminfo_close(void)
{
        library.del_curterm(library.set_curterm(NULL));
}
