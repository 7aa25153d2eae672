/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
#ifndef MEMZBC_JSON_H
#define MEMZBC_JSON_H

#include <stdio.h>

/* Prints @text as a JSON string in ASCII; bytes that are not ASCII as the first 256 of Unicode. */
void json_string(FILE *out, const char *text);

#endif
