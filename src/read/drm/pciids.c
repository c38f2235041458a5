#include "read/drm/pciids.h"

#include "base/attr.h"
#include "base/lines.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#define VENDOR_AMD 0x1002

/* A hexadecimal number of exactly or at most four digits; how many there were. */
static size_t read_hex(const char *s, size_t n, uint16_t *ret)
{
        size_t i = 0;
        unsigned v = 0;
        for (; i < n && i < 4; i++) {
                const char *digits = "0123456789abcdef", *d = strchr(digits, s[i] | 0x20);
                if (!d || !*d)
                        break;
                v = v << 4 | (unsigned)(d - digits);
        }
        *ret = (uint16_t)v;
        return i;
}

static void set_name(struct pci_name *to, const char *s, size_t n)
{
        snprintf(to->name, sizeof(to->name), "%.*s", (int)MIN(n, sizeof(to->name) - 1), s);
}

/* "744C,\tC8,\tAMD Radeon RX 7900 XTX": device, revision, name. */
static void read_amd_line(const struct line *line, struct pci_name *names, size_t n)
{
        const char *s = line->s, *end = s + line->len, *comma = memchr(s, ',', line->len);
        const char *second = comma ? memchr(comma + 1, ',', (size_t)(end - comma - 1)) : NULL;
        uint16_t device, revision;
        if (!second || read_hex(s, (size_t)(comma - s), &device) != 4)
                return;
        for (comma++; comma < second && (*comma == ' ' || *comma == '\t');)
                comma++;
        if (read_hex(comma, (size_t)(second - comma), &revision) == 0)
                return;
        for (second++; second < end && (*second == ' ' || *second == '\t');)
                second++;
        for (size_t i = 0; i < n; i++) {
                struct pci_name *d = &names[i];
                if (!d->name[0] && d->vendor == VENDOR_AMD && d->device == device &&
                    d->revision == revision)
                        set_name(d, second, (size_t)(end - second));
        }
}

/* "Navi 31 [Radeon RX 7900 XT/7900 XTX]": people know what is in the brackets. */
static void set_pci_name(struct pci_name *to, const char *s, size_t n)
{
        const char *open = memrchr(s, '[', n);
        if (open && s[n - 1] == ']' && open + 1 < s + n - 1)
                set_name(to, open + 1, (size_t)(s + n - open) - 2);
        else
                set_name(to, s, n);
}

/* A vendor, or a device of that vendor after one tab. Subsystems stand after two tabs. */
static void read_pci_line(const struct line *line, uint16_t *vendor, struct pci_name *names,
                          size_t n)
{
        size_t tabs = line->s[0] == '\t';
        const char *s = line->s + tabs;
        size_t len = line->len - tabs;
        uint16_t id;
        if (len < 7 || read_hex(s, len, &id) != 4 || s[4] != ' ' || s[5] != ' ') {
                *vendor = tabs ? *vendor : 0; /* classes follow the vendors: "C 03  Display" */
                return;
        }
        if (!tabs)
                *vendor = id;
        for (size_t i = 0; tabs && i < n; i++) {
                if (!names[i].name[0] && names[i].vendor == *vendor && names[i].device == id)
                        set_pci_name(&names[i], s + 6, len - 6);
        }
}

static bool open_list(const char *root, const char *const *places, struct lines *ret)
{
        char path[4096];
        for (; *places; places++) {
                snprintf(path, sizeof(path), "%s%s", root, *places);
                int fd = open(path, O_RDONLY | O_CLOEXEC);
                if (fd < 0)
                        continue;
                if (lines_init(ret, fd) == 0)
                        return true;
                close(fd);
        }
        return false;
}

void pciids_fill(const char *root, struct pci_name *names, size_t n)
{
        static const char *const amd[] = {"/usr/share/libdrm/amdgpu.ids",
                                          "/opt/amdgpu/share/libdrm/amdgpu.ids", NULL};
        static const char *const pci[] = {"/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids",
                                          "/usr/share/pci.ids", NULL};
        struct lines lines;
        struct line line;
        uint16_t vendor = 0;
        if (open_list(root, amd, &lines)) {
                while (lines_next(&lines, &line) > 0)
                        read_amd_line(&line, names, n);
                lines_finish(&lines);
        }
        if (open_list(root, pci, &lines)) {
                while (lines_next(&lines, &line) > 0) {
                        if (line.len > 0 && line.s[0] != '#')
                                read_pci_line(&line, &vendor, names, n);
                }
                lines_finish(&lines);
        }
}
