/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * The pointer that a handler may keep with a device, NULL before it is set.
 * See libtcmu_common.h for why these declarations exist.
 */
#ifndef TCMU_TCMUR_DEVICE_H
#define TCMU_TCMUR_DEVICE_H

struct tcmu_device;

void tcmur_dev_set_private(struct tcmu_device *dev, void *priv);
void *tcmur_dev_get_private(struct tcmu_device *dev);

#endif
