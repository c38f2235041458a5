#include "read/host/energy.h"

#include "base/attr.h"
#include "base/clock.h"
#include "read/host/files.h"
#include "read/host/sysfiles.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POWERCAP "/sys/class/powercap"
#define HWMON "/sys/class/hwmon"
#define ZONES_MAX 128 /* 32 sockets of several dies, each with its memory */
#define METERS_MAX 64
/* More than any processor package draws: by it a counter starts over at the soonest. */
#define ZONE_WATTS_MAX 1000
#define METER_WATTS_MAX 1e6
/* Some meters ask a management controller, which takes many milliseconds. */
#define METER_EVERY_NS NS_PER_S
#define METER_TIME_SHARE 100 /* of the time, at most one part is spent on reading */

/* A counter of the processors: a package, or the memory beside one. */
struct zone {
        int fd; /* or a negative errno */
        uint64_t range_uj, last_uj;
        int64_t last_ns; /* when it was read last */
        bool was_read;
};

struct energy_reader {
        int root;
        struct zone zones[ZONES_MAX];
        size_t n_zones;
        double total_j;
        int meter; /* a descriptor, or a negative errno */
        int64_t meter_due_ns;
        struct value power;
};

bool energy_growth(uint64_t before, uint64_t now, uint64_t range, int64_t gap_ns, uint64_t *ret)
{
        if (now > range || before > range ||
            clock_to_seconds(gap_ns) * ZONE_WATTS_MAX >= (double)range / 1e6)
                return false;
        *ret = now >= before ? now - before : now + (range - before);
        return true;
}

/* A number that stands alone in a file. 0 or a negative errno. */
static int read_number(int fd, uint64_t *ret)
{
        char text[64];
        ssize_t n = files_reread_record(fd, text, sizeof(text));
        return n < 0 ? (int)n : sysfiles_number(text, (size_t)n, ret);
}

static int read_number_at(int dir, const char *folder, const char *name, const char *file,
                          uint64_t *ret)
{
        char path[sizeof(HWMON) + NAME_MAX + 64];
        snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
        CLEANUP(closep) int fd = files_open(dir, path);
        return fd < 0 ? fd : read_number(fd, ret);
}

static int open_at(int dir, const char *folder, const char *name, const char *file)
{
        char path[sizeof(HWMON) + NAME_MAX + 64];
        snprintf(path, sizeof(path), "%s/%s/%s", folder, name, file);
        return files_open(dir, path);
}

/* Whether the first line of folder/name/name begins so. */
static bool is_named(int dir, const char *folder, const char *name, const char *begin)
{
        char path[sizeof(HWMON) + NAME_MAX + 64], text[64];
        snprintf(path, sizeof(path), "%s/%s/name", folder, name);
        ssize_t n = files_read(dir, path, text, sizeof(text) - 1);
        return n > 0 && (size_t)n >= strlen(begin) && memcmp(text, begin, strlen(begin)) == 0;
}

static DIR *open_folder(int root, const char *folder)
{
        int fd = files_open(root, folder);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        if (!dir && fd >= 0)
                closep(&fd);
        return dir;
}

/*
 * Packages, and their memory, which is not in them; cores are. intel-rapl-mmio repeats the
 * packages. AMD's processors are under the same names.
 */
static void find_zones(struct energy_reader *e)
{
        static const char prefix[] = "intel-rapl:";
        DIR *dir = open_folder(e->root, POWERCAP);
        const struct dirent *d;
        while (dir && e->n_zones < ZONES_MAX && (d = readdir(dir))) {
                if (strncmp(d->d_name, prefix, sizeof(prefix) - 1) != 0)
                        continue;
                bool part = strchr(d->d_name + sizeof(prefix) - 1, ':') != NULL;
                struct zone z = {0};
                if (!is_named(e->root, POWERCAP, d->d_name, part ? "dram" : "package"))
                        continue;
                z.fd = open_at(e->root, POWERCAP, d->d_name, "energy_uj");
                int r = read_number_at(e->root, POWERCAP, d->d_name, "max_energy_range_uj",
                                       &z.range_uj);
                if (z.fd >= 0 && r < 0) {
                        closep(&z.fd);
                        z.fd = r;
                }
                e->zones[e->n_zones++] = z;
        }
        if (dir)
                closedir(dir);
}

/* Several meters are mostly parts of one another, so that none is the machine's for sure. */
static void find_meter(struct energy_reader *e)
{
        DIR *dir = open_folder(e->root, HWMON);
        const struct dirent *d;
        size_t n = 0;
        while (dir && n < METERS_MAX && (d = readdir(dir))) {
                if (d->d_name[0] == '.' || !is_named(e->root, HWMON, d->d_name, "power_meter"))
                        continue;
                if (e->meter >= 0)
                        closep(&e->meter);
                e->meter = open_at(e->root, HWMON, d->d_name, "power1_average");
                if (e->meter == -ENOENT)
                        e->meter = open_at(e->root, HWMON, d->d_name, "power1_input");
                n++;
        }
        if (dir)
                closedir(dir);
        if (n > 1) {
                closep(&e->meter);
                e->meter = -EOPNOTSUPP;
        }
}

int energy_open(int root, struct energy_reader **ret)
{
        struct energy_reader *e = calloc(1, sizeof(*e));
        if (!e)
                return -ENOMEM;
        e->root = root;
        e->meter = -ENOENT;
        find_zones(e);
        find_meter(e);
        *ret = e;
        return 0;
}

void energy_close(struct energy_reader *e)
{
        if (!e)
                return;
        for (size_t i = 0; i < e->n_zones; i++) {
                if (e->zones[i].fd >= 0)
                        closep(&e->zones[i].fd);
        }
        if (e->meter >= 0)
                closep(&e->meter);
        free(e);
}

/* 0, or why it is not known by how much it grew; the first reading is what it grew by so far. What
 * it counted while it could not be read is in the next reading. */
static int read_zone(struct zone *z, int64_t mono_ns, double *total_j)
{
        uint64_t now, grown;
        int r = z->fd < 0 ? z->fd : read_number(z->fd, &now);
        if (r == 0 && now == 0 && !z->was_read)
                r = -ENODATA; /* as virtual machines have it: it never counts */
        if (r < 0)
                return r;
        if (!z->was_read)
                grown = now;
        else if (!energy_growth(z->last_uj, now, z->range_uj, mono_ns - z->last_ns, &grown))
                r = -ERANGE;
        if (r == 0)
                *total_j += (double)grown / 1e6;
        z->last_uj = now;
        z->last_ns = mono_ns;
        z->was_read = true;
        return r;
}

/* A part of the processors is not all of them: one counter that fails leaves the sum unknown. */
static struct value read_zones(struct energy_reader *e, int64_t mono_ns)
{
        int failed = e->n_zones > 0 ? 0 : -ENOENT;
        for (size_t i = 0; i < e->n_zones; i++) {
                int r = read_zone(&e->zones[i], mono_ns, &e->total_j);
                failed = failed < 0 ? failed : r;
        }
        return failed < 0 ? files_missing(failed) : value_ok(e->total_j);
}

/* A running machine draws something: 0 is a meter that has no reading yet. */
static struct value read_meter(int fd)
{
        uint64_t microwatts;
        int r = fd < 0 ? fd : read_number(fd, &microwatts);
        if (r < 0)
                return files_missing(r);
        double watts = (double)microwatts / 1e6;
        return watts > 0 && watts <= METER_WATTS_MAX ? value_ok(watts) : value_missing(STATE_ERROR);
}

void energy_read(struct energy_reader *e, int64_t mono_ns, struct value *system)
{
        system[SYSTEM_CPU_ENERGY] = read_zones(e, mono_ns);
        if (e->meter_due_ns == 0 || mono_ns >= e->meter_due_ns) {
                int64_t begun = clock_mono_ns();
                e->power = read_meter(e->meter);
                int64_t took = clock_mono_ns() - begun;
                e->meter_due_ns = mono_ns + MAX(METER_EVERY_NS, METER_TIME_SHARE * took);
        }
        system[SYSTEM_NODE_POWER] = e->power;
}
