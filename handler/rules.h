/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The value of key error: RULE[+RULE...], RULE being KIND[@PART...]; or "off".
 */
#ifndef MEMZBC_RULES_H
#define MEMZBC_RULES_H

#include <stdio.h>

#include <memzbc/faults.h>

#include "text.h"

/* Replaces all rules. Returns 0, or -EINVAL with @reason set. */
int rules_parse(struct memzbc_faults *faults, struct span text, char *reason);
/* As rules_parse() takes them. */
void rules_print(FILE *out, const struct memzbc_faults *faults);

#endif
