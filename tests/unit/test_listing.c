#include "test.h"

#include "base/attr.h"
#include "read/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char root[] = "/tmp/assay-test-listing-XXXXXX";
static int root_fd;

static void put(const char *name)
{
        char path[32];
        snprintf(path, sizeof(path), "proc/%s", name);
        assert_int_equal(mkdirat(root_fd, path, 0755), 0);
}

static int make_root(void **state UNUSED)
{
        if (!mkdtemp(root) || (root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
                return -1;
        if (mkdirat(root_fd, "proc", 0755) < 0)
                return -1;
        put("1");
        put("self");
        put("0");
        return 0;
}

static int remove_root(void **state UNUSED)
{
        char command[64];
        close(root_fd);
        snprintf(command, sizeof(command), "rm -r %s", root);
        return system(command);
}

static bool has(const struct listed_processes *p, int32_t pid)
{
        for (size_t i = 0; i < p->n; i++) {
                if (p->list[i].pid == pid)
                        return true;
        }
        return false;
}

static void nobody_renews_so_each_lists(void **state UNUSED)
{
        struct listed_processes p = {0};
        struct listing *l = listing_open_root(root);
        assert_non_null(l);
        assert_int_equal(listing_take(l, &p), 0);
        assert_int_equal(p.n, 1);
        assert_true(has(&p, 1));
        put("20");
        assert_int_equal(listing_take(l, &p), 0);
        assert_int_equal(p.n, 2);
        assert_true(has(&p, 20));
        listing_close(l);
        listed_finish(&p);
}

static void followers_take_what_is_renewed(void **state UNUSED)
{
        struct listed_processes first = {0}, other = {0};
        struct listing *l = listing_open_root(root), *follower = listing_open_root(root);
        listing_follow(follower, l);
        listing_follow(follower, follower);
        assert_int_equal(listing_renew(l, &first), 0);
        put("300");
        assert_int_equal(listing_take(follower, &other), 0);
        assert_false(has(&other, 300));
        assert_int_equal(other.n, first.n);
        assert_int_equal(listing_renew(l, &first), 0);
        assert_true(has(&first, 300));
        struct listing *again = listing_share(follower);
        listing_close(l);
        listing_close(follower);
        assert_int_equal(listing_take(again, &other), 0);
        assert_true(has(&other, 300));
        listing_close(again);
        listed_finish(&first);
        listed_finish(&other);
}

static void no_proc_is_no_listing(void **state UNUSED)
{
        struct listing *l = NULL;
        int fd = open("/usr", O_PATH | O_DIRECTORY | O_CLOEXEC);
        assert_int_equal(listing_open(fd, &l), -ENOENT);
        assert_null(l);
        assert_null(listing_open_root("/nowhere"));
        assert_null(listing_share(NULL));
        listing_close(NULL);
        close(fd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
            cmocka_unit_test(nobody_renews_so_each_lists),
            cmocka_unit_test(followers_take_what_is_renewed),
            cmocka_unit_test(no_proc_is_no_listing),
        };
        return cmocka_run_group_tests(tests, make_root, remove_root);
}
