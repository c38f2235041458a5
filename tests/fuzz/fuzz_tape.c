/* Tapes of marks: whatever is in them, what is read is a mark, and reading ends. */
#include "fuzz.h"

#include "session/tape.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static char folder[] = "/tmp/assay-fuzz-tape-XXXXXX";
        static int dir = -1;
        struct mark marks[ROOM];
        struct tape tape;
        if (dir < 0 && (!mkdtemp(folder) || (dir = open(folder, O_RDONLY | O_DIRECTORY)) < 0))
                abort();
        int fd = openat(dir, "tape-1", O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0 || write(fd, data, size) != (ssize_t)size)
                abort();
        close(fd);
        for (int last = 0; last < 2 && tape_open(dir, "tape-1", &tape) == 0; last++) {
                size_t at = 0, from, n;
                do {
                        from = at;
                        if (tape_read(&tape, &at, last, marks, ROOM, &n) < 0)
                                break;
                        for (size_t i = 0; i < n; i++) {
                                if (marks[i].type >= MARK_COUNT || !marks[i].name[0] ||
                                    marks[i].wall_ns <= 0 || !isfinite(marks[i].value) ||
                                    n > at - from || at > TAPE_SLOTS)
                                        abort();
                        }
                } while (at != from);
                close(tape.fd);
        }
        unlinkat(dir, "tape-1", 0);
        rmdir(folder);
        close(dir);
        dir = -1;
        memcpy(folder + sizeof(folder) - 7, "XXXXXX", 6);
        return 0;
}
