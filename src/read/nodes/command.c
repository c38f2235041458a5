#include "read/nodes/command.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* A connection that is silent for this long is dead: the numbers are OpenSSH's. */
#define SSH_CONNECT "ConnectTimeout=8"
#define SSH_ALIVE "ServerAliveInterval=2"
#define SSH_ALIVE_COUNT "ServerAliveCountMax=3"

static void command_add(struct node_command *c, const char *word)
{
        size_t len = strlen(word) + 1;
        c->full = c->full || c->n >= COMMAND_WORDS_MAX || c->used + len > sizeof(c->text);
        if (c->full)
                return;
        memcpy(c->text + c->used, word, len);
        c->argv[c->n++] = c->text + c->used;
        c->used += len;
}

static void command_put(struct node_command *c, char letter)
{
        c->full = c->full || c->used + 1 >= sizeof(c->text);
        if (!c->full)
                c->text[c->used++] = letter;
}

/* One word up to a blank outside of quotes. NULL when a quote is not closed. */
static const char *take_word(struct node_command *c, const char *s)
{
        char quote = 0;
        if (c->n >= COMMAND_WORDS_MAX)
                c->full = true;
        else
                c->argv[c->n++] = c->text + c->used;
        for (; *s && (quote || !isspace((unsigned char)*s)); s++) {
                if (quote && *s == quote)
                        quote = 0;
                else if (!quote && (*s == '\'' || *s == '"'))
                        quote = *s;
                else if (*s == '\\' && quote != '\'' && s[1])
                        command_put(c, *++s);
                else
                        command_put(c, *s);
        }
        if (c->used < sizeof(c->text))
                c->text[c->used++] = '\0';
        return quote ? NULL : s;
}

bool node_command_split(const char *text, struct node_command *ret)
{
        *ret = (struct node_command){0};
        for (const char *s = text;;) {
                s += strspn(s, " \t\r\n");
                if (!*s)
                        return !ret->full;
                s = take_word(ret, s);
                if (!s || ret->full)
                        return false;
        }
}

static void add_user_words(struct node_command *c, const char *words)
{
        struct node_command user;
        if (!node_command_split(words, &user)) {
                c->full = true;
                return;
        }
        for (size_t i = 1; i < user.n; i++)
                command_add(c, user.argv[i]);
}

/* A word that any shell takes for itself. ssh gives its words to the login shell as one line. */
static void add_quoted(struct node_command *c, const char *word)
{
        char quoted[1024];
        size_t n = 0;
        if (strspn(word,
                   "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+:,=~") ==
            strlen(word)) {
                command_add(c, word);
                return;
        }
        quoted[n++] = '\'';
        for (; *word && n + 8 < sizeof(quoted); word++) {
                static const char held[] = "'\\''";
                if (*word == '\'')
                        memcpy(quoted + n, held, sizeof(held) - 1), n += sizeof(held) - 1;
                else
                        quoted[n++] = *word;
        }
        c->full = c->full || *word;
        quoted[n++] = '\'';
        quoted[n] = '\0';
        command_add(c, quoted);
}

/* ssh never asks, forwards nothing, and makes no connection that outlives this one. What --ssh says
 * comes first, which is what counts to ssh. */
static void add_ssh_options(struct node_command *c)
{
        static const char *const options[] = {"-T",
                                              "-x",
                                              "-a",
                                              "-o",
                                              "BatchMode=yes",
                                              "-o",
                                              SSH_CONNECT,
                                              "-o",
                                              SSH_ALIVE,
                                              "-o",
                                              SSH_ALIVE_COUNT,
                                              "-o",
                                              "ControlMaster=no",
                                              "-o",
                                              "ClearAllForwardings=yes",
                                              "-o",
                                              "LogLevel=ERROR",
                                              "--"};
        for (size_t i = 0; i < ARRAY_LEN(options); i++)
                command_add(c, options[i]);
}

static void add_srun_options(struct node_command *c, const struct node_command_for *f)
{
        char word[512];
        static const char *const options[] = {"--overlap",  "--nodes=1",       "--ntasks=1",
                                              "--mpi=none", "--cpu-bind=none", "--input=all"};
        for (size_t i = 0; i < ARRAY_LEN(options); i++)
                command_add(c, options[i]);
        snprintf(word, sizeof(word), "--jobid=%s", f->job);
        command_add(c, word);
        snprintf(word, sizeof(word), "--nodelist=%s", f->host);
        command_add(c, word);
}

static void add_remote(struct node_command *c, const struct node_command_for *f)
{
        if (f->is_ssh)
                add_quoted(c, f->remote);
        else
                command_add(c, f->remote);
        for (size_t i = 0; i < f->n_asks; i++)
                command_add(c, f->asks[i]);
}

bool node_command_make(const struct node_command_for *f, struct node_command *ret)
{
        *ret = (struct node_command){0};
        command_add(ret, f->program);
        if (f->words)
                add_user_words(ret, f->words);
        if (f->is_ssh)
                add_ssh_options(ret);
        if (f->job)
                add_srun_options(ret, f);
        else
                command_add(ret, f->host);
        add_remote(ret, f);
        return !ret->full;
}
