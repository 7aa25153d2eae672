/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#ifndef MEMZBC_MACROS_H
#define MEMZBC_MACROS_H

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define NS_PER_US 1000ull
#define NS_PER_MS 1000000ull
#define NS_PER_S 1000000000ull

#endif
