#include "test.h"

#include "base/attr.h"
#include "model/stack.h"

#include <stdio.h>
#include <string.h>

static struct stack_table *open_table(void)
{
        struct stack_table *t = NULL;
        assert_int_equal(stack_table_open(&t), 0);
        return t;
}

static uint32_t intern(struct stack_table *t, const char *s)
{
        return stack_intern_text(t, s, strlen(s));
}

/* A stack written from the outermost frame, a letter each: U user, L library, I interpreter. */
static uint32_t push(struct stack_table *t, const char *whose)
{
        uint32_t stack = STACK_EMPTY;
        for (uint32_t i = 0; whose[i]; i++) {
                struct stack_frame f = {.file = intern(t, "a.py"), .line = i + 1};
                f.whose = whose[i] == 'U'   ? STACK_USER
                          : whose[i] == 'L' ? STACK_LIBRARY
                                            : STACK_INTERPRETER;
                stack = stack_intern_call(t, stack, stack_intern_frame(t, &f));
        }
        return stack;
}

static void equal_things_have_equal_ids(void **state UNUSED)
{
        struct stack_table *t = open_table();
        assert_int_equal(intern(t, ""), STACK_TEXT_NONE);
        assert_int_equal(intern(t, "a"), intern(t, "a"));
        assert_int_not_equal(intern(t, "a"), intern(t, "b"));
        assert_int_equal(push(t, "UUL"), push(t, "UUL"));
        assert_int_not_equal(push(t, "UUL"), push(t, "UUI"));
        assert_int_equal(stack_node(t, push(t, "UUL"))->parent, push(t, "UU"));
        assert_int_equal(stack_node(t, push(t, "UUL"))->depth, 3);
        struct stack_counts before = stack_table_counts(t);
        push(t, "UUL");
        struct stack_counts after = stack_table_counts(t);
        assert_memory_equal(&before, &after, sizeof(before));
        assert_string_equal(stack_text(t, UINT32_MAX), "");
        assert_int_equal(stack_node(t, UINT32_MAX)->depth, 0);
        assert_int_equal(stack_frame(t, UINT32_MAX)->line, 0);
        assert_true(stack_table_lost(t) == 0);
        stack_table_close(t);
        stack_table_close(NULL);
}

/* Names come from programs that nobody trusts. */
static void names_are_cleaned_and_cut(void **state UNUSED)
{
        struct stack_table *t = open_table();
        assert_string_equal(stack_text(t, intern(t, "a\033[31m\n\xff.py")), "a?[31m??.py");
        assert_string_equal(stack_text(t, stack_intern_text(t, "ab\0cd", 5)), "ab");
        char *name = malloc(1 << 20);
        assert_non_null(name);
        memset(name, 'x', 1 << 20);
        memcpy(name, "/begin", 6);
        memcpy(name + (1 << 20) - 7, "end.py", 7);
        const char *cut = stack_text(t, stack_intern_text(t, name, (1 << 20) - 1));
        assert_int_equal(strlen(cut), STACK_NAME_MAX - 1);
        assert_memory_equal(cut, "/begin", 6);
        assert_string_equal(cut + strlen(cut) - 6, "end.py");
        assert_non_null(strstr(cut, "x...x"));
        free(name);
        stack_table_close(t);
}

static void the_place_that_people_act_on(void **state UNUSED)
{
        static const struct {
                const char *whose;
                uint32_t own, inner, called; /* lines, 0 for none; outermost frame is line 1 */
                const char *why;
        } cases[] = {
            {"", 0, 0, 0, "no frames"},
            {"U", 1, 0, 0, "the innermost is the user's"},
            {"IUULI", 3, 5, 4, "the innermost of the user's, in a library"},
            {"ULUI", 3, 4, 4, "called back by a library"},
            {"IILLI", 3, 5, 4, "all are libraries': the outermost of them"},
            {"III", 1, 3, 2, "the interpreter alone"},
            {"ILI", 2, 3, 3, "a library counts before the interpreter"},
            {"L", 1, 0, 0, "one frame"},
        };
        struct stack_table *t = open_table();
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                struct stack_place p = stack_find_place(t, push(t, cases[i].whose));
                uint32_t own = stack_frame(t, stack_node(t, p.own)->frame)->line;
                uint32_t inner = stack_frame(t, stack_node(t, p.inner)->frame)->line;
                uint32_t called = stack_frame(t, stack_node(t, p.called)->frame)->line;
                if (own != cases[i].own || inner != cases[i].inner || called != cases[i].called)
                        fail_msg("%s: %u, %u, %u", cases[i].why, own, inner, called);
        }
        uint32_t cut = stack_intern_call(t, STACK_EMPTY, STACK_FRAME_CUT);
        struct stack_place p = stack_find_place(t, cut);
        assert_int_equal(p.own, STACK_EMPTY);
        stack_table_close(t);
}

/* A stack as "m1 w2": functions, each with its line. */
static uint32_t push_calls(struct stack_table *t, const char *calls)
{
        uint32_t stack = STACK_EMPTY;
        for (const char *s = calls; *s; s += s[2] ? 3 : 2) {
                const struct stack_frame f = {.file = intern(t, "train.py"),
                                              .function = stack_intern_text(t, s, 1),
                                              .line = (uint32_t)(s[1] - '0'),
                                              .whose = STACK_USER};
                stack = stack_intern_call(t, stack, stack_intern_frame(t, &f));
        }
        return stack;
}

static void the_function_that_was_never_left(void **state UNUSED)
{
        static const struct {
                const char *a, *b, *common, *why;
        } cases[] = {
            {"m1 w2 r3", "m1 w2 r3", "m1 w2 r3", "it did not move"},
            {"m1 w2 r3", "m1 w2 r4", "m1 w2 r4", "another line of the innermost, which is named"},
            {"m1 w2 r3", "m1 w5", "m1 w5", "a loop and what it calls"},
            {"m1 w5", "m1 w2 r3", "m1 w2", "the same the other way round"},
            {"m1 w2 r3", "m1 x2 r3", "m1", "the same function called by another"},
            {"m1 w2 r3", "m4 w2 r3", "m4 w2 r3", "the caller's line moved on"},
            {"m1 w2", "n1 w2", "", "nothing in common"},
            {"", "m1", "", "no frames"},
            {"m1", "", "", "no frames any more"},
        };
        struct stack_table *t = open_table();
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
                uint32_t got =
                    stack_common(t, push_calls(t, cases[i].a), push_calls(t, cases[i].b));
                if (got != push_calls(t, cases[i].common))
                        fail_msg("%s", cases[i].why);
        }
        uint32_t stack = push_calls(t, "m1 w2 r3");
        assert_int_equal(stack_ancestor(t, stack, 2), push_calls(t, "m1 w2"));
        assert_int_equal(stack_ancestor(t, stack, 9), stack);
        assert_int_equal(stack_ancestor(t, stack, 0), STACK_EMPTY);
        stack_table_close(t);
}

/* A hostile program fills the table: it says so, gives ids that can be used, and keeps the rest. */
static void full_tables_say_so(void **state UNUSED)
{
        struct stack_table *t = open_table();
        uint32_t kept = push(t, "UU"), text = intern(t, "kept"), stack = STACK_EMPTY;
        char name[32];
        for (uint32_t i = 0; i < STACK_TEXTS_MAX + 10; i++) {
                snprintf(name, sizeof(name), "name %u", i);
                intern(t, name);
        }
        assert_int_equal(intern(t, "one more"), STACK_TEXT_NONE);
        assert_int_equal(intern(t, "kept"), text);
        for (uint32_t i = 0; i < STACK_FRAMES_MAX + 10; i++) {
                struct stack_frame f = {.line = i};
                stack_intern_frame(t, &f);
        }
        assert_int_equal(stack_intern_frame(t, &(struct stack_frame){.line = UINT32_MAX}),
                         STACK_FRAME_FULL);
        for (uint32_t i = 0; i < 2 * STACK_DEPTH_MAX; i++)
                stack = stack_intern_call(t, stack, STACK_FRAME_FULL);
        assert_int_equal(stack_node(t, stack)->depth, STACK_DEPTH_MAX + 1);
        for (uint32_t i = 0; i < STACK_NODES_MAX + 10; i++)
                stack_intern_call(t, kept, i);
        assert_int_equal(stack_intern_call(t, kept, STACK_NODES_MAX * 2), kept);
        assert_int_equal(push(t, "UU"), kept);
        assert_int_equal(stack_table_counts(t).nodes, STACK_NODES_MAX);
        assert_true(stack_table_lost(t) > 20);
        stack_table_close(t);
}

/* As JSON writes them. */
static void words(void **state UNUSED)
{
        assert_string_equal(stack_state_name(STACK_STATE_UNKNOWN), "unknown");
        assert_string_equal(stack_state_name(STACK_BLOCKED), "blocked");
        assert_string_equal(stack_whose_name(STACK_USER), "user");
        assert_string_equal(stack_whose_name(STACK_INTERPRETER), "interpreter");
        assert_string_equal(stack_access_name(STACK_PENDING), "pending");
        assert_string_equal(stack_access_name(STACK_GONE), "gone");
        for (int i = 0; i < STACK_ACCESS_COUNT; i++)
                assert_non_null(stack_access_name((enum stack_access)i));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(equal_things_have_equal_ids),
            cmocka_unit_test(names_are_cleaned_and_cut),
            cmocka_unit_test(the_place_that_people_act_on),
            cmocka_unit_test(the_function_that_was_never_left),
            cmocka_unit_test(full_tables_say_so),
            cmocka_unit_test(words),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
