/*
 * Crashes of code that is not ours, in a program whose exit status belongs to somebody else: a
 * driver's library runs in our process, and may crash there.
 */
#pragma once

/*
 * From here on a thread that crashes, or ends the program, stays where it is, as one does whose
 * driver hangs; that is said on standard error. For the main thread nothing changes.
 */
void fault_park_threads(void);
/* The same for the main thread: some other thread ends the program. */
void fault_park_all(void);
