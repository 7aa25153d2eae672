/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Directories that nobody else may put anything into.
 */
#ifndef MEMZBC_PRIVATE_H
#define MEMZBC_PRIVATE_H

/*
 * Makes the directory @path, with mode 0700, or finds that it is one that only this user can
 * write. Returns 0, or -errno with @reason set (MEMZBC_REASON_SIZE bytes).
 */
int private_directory(const char *path, char *reason);

#endif
