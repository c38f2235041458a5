#include "read/drm_pciids.h"

#include "base/attr.h"
#include "base/lines.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "1002", or with a second number "1002 0e3b"; the name stands two spaces after. */
static bool read_ids(const char *s, size_t n, unsigned count, uint16_t ids[2],
                     const char **ret_name)
{
        size_t at = 0;
        for (unsigned i = 0; i < count; i++) {
                char digits[5] = "", *end;
                if (n - at < 6)
                        return false;
                memcpy(digits, s + at, 4);
                ids[i] = (uint16_t)strtoul(digits, &end, 16);
                if (*end != '\0' || s[at + 4] != ' ')
                        return false;
                at += 5;
        }
        if (s[at] != ' ')
                return false;
        *ret_name = s + at + 1;
        return true;
}

/* "Navi 31 [Radeon RX 7900 XT/7900 XTX]": people know what is in the brackets. */
static void set_name(struct pci_name *to, const char *s, size_t n)
{
        const char *open = memrchr(s, '[', n);
        if (open && n > 2 && s[n - 1] == ']' && open + 1 < s + n - 1) {
                n = (size_t)(s + n - 1 - (open + 1));
                s = open + 1;
        }
        snprintf(to->name, sizeof(to->name), "%.*s", (int)MIN(n, sizeof(to->name) - 1), s);
}

struct place {
        uint16_t vendor, device;
        bool wanted_vendor;
};

/* A line is a vendor, a device below it after one tab, or a subsystem below that after two. */
static void read_line(struct place *p, const struct line *line, struct pci_name *names, size_t n)
{
        size_t tabs = 0;
        uint16_t ids[2];
        const char *name;
        while (tabs < 2 && tabs < line->len && line->s[tabs] == '\t')
                tabs++;
        if (!read_ids(line->s + tabs, line->len - tabs, tabs == 2 ? 2 : 1, ids, &name)) {
                p->wanted_vendor &= tabs > 0; /* classes follow the vendors: "C 03  Display" */
                return;
        }
        size_t len = (size_t)(line->s + line->len - name);
        if (tabs == 0) {
                *p = (struct place){.vendor = ids[0]};
                for (size_t i = 0; i < n; i++)
                        p->wanted_vendor |= names[i].vendor == ids[0];
                return;
        }
        if (tabs == 1)
                p->device = ids[0];
        for (size_t i = 0; p->wanted_vendor && i < n; i++) {
                struct pci_name *d = &names[i];
                bool same = d->vendor == p->vendor && d->device == p->device;
                if (same && (tabs == 1 || (d->subvendor == ids[0] && d->subdevice == ids[1])))
                        set_name(d, name, len);
        }
}

void pciids_fill(const char *root, struct pci_name *names, size_t n)
{
        static const char *const places[] = {"/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids",
                                             "/usr/share/pci.ids"};
        struct lines lines;
        struct line line;
        struct place place = {0};
        int fd = -1;
        for (size_t i = 0; fd < 0 && i < ARRAY_LEN(places); i++) {
                char path[4096];
                snprintf(path, sizeof(path), "%s%s", root, places[i]);
                fd = open(path, O_RDONLY | O_CLOEXEC);
        }
        if (fd < 0)
                return;
        if (lines_init(&lines, fd) < 0) {
                close(fd);
                return;
        }
        while (lines_next(&lines, &line) > 0) {
                if (line.len > 0 && line.s[0] != '#')
                        read_line(&place, &line, names, n);
        }
        lines_finish(&lines);
}
