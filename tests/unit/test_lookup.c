#include "test.h"

#include "base/attr.h"
#include "base/list.h"
#include "base/lookup.h"

#include <stdio.h>
#include <string.h>

#define MANY 3000

static uint32_t find(const struct lookup *l, uint32_t hash, const uint32_t *keys, uint32_t key)
{
        uint32_t id;
        for (size_t step = 0; (id = lookup_next(l, hash, &step)) != LOOKUP_END;) {
                if (keys[id] == key)
                        return id;
        }
        return LOOKUP_END;
}

/* Few hashes for many keys: what is found is compared, and nothing is lost when it grows. */
static void tables(void **state UNUSED)
{
        static uint32_t keys[MANY];
        struct lookup l = {0};
        assert_true(find(&l, 0, keys, 0) == LOOKUP_END);
        for (uint32_t i = 0; i < MANY; i++) {
                keys[i] = i * 7 + 1;
                assert_true(lookup_put(&l, keys[i] % 1000, i));
        }
        for (uint32_t i = 0; i < MANY; i++)
                assert_int_equal(find(&l, keys[i] % 1000, keys, keys[i]), i);
        assert_true(find(&l, 2 % 1000, keys, 2) == LOOKUP_END);
        lookup_clear(&l);
        assert_true(find(&l, keys[0] % 1000, keys, keys[0]) == LOOKUP_END);
        assert_true(lookup_put(&l, 5, 1));
        assert_int_equal(find(&l, 5, keys, keys[1]), 1);
        lookup_finish(&l);
}

static void hashes(void **state UNUSED)
{
        /* Published values of 64-bit FNV-1a: files hold them. */
        assert_true(hash_stable("", 0) == 0xcbf29ce484222325ULL);
        assert_true(hash_stable("a", 1) == 0xaf63dc4c8601ec8cULL);
        assert_true(hash_stable("foobar", 6) == 0x85944171f73967e8ULL);
        assert_int_equal(hash_text("abcdefghij", 10), hash_text("abcdefghijk", 10));
        assert_int_not_equal(hash_text("abcdefghij", 10), hash_text("abcdefghik", 10));
        assert_int_not_equal(hash_text("", 0), hash_text("\0", 1));
}

/*
 * Names whose bytes differ so that a hash of multiplications and shifts without a key gives all of
 * them one value: a table of such names is a list, and an exporter could fill it.
 */
static void chosen_names_have_hashes_of_their_own(void **state UNUSED)
{
        enum { PAIRS = 12, NAMES = 1 << PAIRS };
        uint32_t first = 0;
        size_t alike = 0;
        for (uint32_t i = 0; i < NAMES; i++) {
                unsigned char name[PAIRS * 16];
                memset(name, 'a', sizeof(name));
                for (int bit = 0; bit < PAIRS; bit++) {
                        unsigned char *pair = name + bit * 16;
                        if ((i >> bit & 1) == 0)
                                continue;
                        pair[7] ^= 0x80;
                        pair[12] ^= 0x04;
                        pair[15] ^= 0x80;
                }
                uint32_t hash = hash_text((const char *)name, sizeof(name));
                first = i == 0 ? hash : first;
                alike += i > 0 && hash == first;
        }
        assert_true(alike < 4);
}

static void lists(void **state UNUSED)
{
        struct pair {
                size_t a, b;
        } *list = NULL, *short_one = NULL;
        size_t cap = 0;
        for (size_t n = 0; n < MANY; n++) {
                assert_true(LIST_ROOM(list, n, cap));
                assert_true(n < cap);
                list[n] = (struct pair){n, ~n};
        }
        for (size_t n = 0; n < MANY; n++)
                assert_true(list[n].a == n && list[n].b == ~n);
        assert_true(LIST_ONE_MORE(short_one, 0));
        short_one[0] = list[1];
        assert_true(LIST_ONE_MORE(short_one, 1));
        assert_int_equal(short_one[0].a, 1);
        /* What can never be had leaves all as it is. */
        struct pair *before = short_one;
        assert_false(list_resize(&short_one, SIZE_MAX / 2, sizeof(*short_one)));
        assert_ptr_equal(short_one, before);
        free(list);
        free(short_one);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(tables),
            cmocka_unit_test(hashes),
            cmocka_unit_test(chosen_names_have_hashes_of_their_own),
            cmocka_unit_test(lists),
        };
        return cmocka_run_group_tests(tests, NULL, NULL);
}
