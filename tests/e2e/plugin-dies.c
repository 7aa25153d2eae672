/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * Preloaded into tcmu-runner: kills it in a place that SIGKILL from outside hits by luck only.
 * DIES_IN is "complete" (a command was executed and is about to be answered) or "announce" (a batch
 * was answered and the kernel is about to be told); DIES_AT counts such moments.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct tcmu_device;
struct tcmulib_cmd;

void tcmulib_command_complete(struct tcmu_device *dev, struct tcmulib_cmd *cmd, int result);
void tcmulib_processing_complete(struct tcmu_device *dev);

static void die_in(const char *place)
{
	static atomic_int moments;

	if (!strcmp(getenv("DIES_IN"), place) && ++moments == atoi(getenv("DIES_AT")))
		raise(SIGKILL);
}

void tcmulib_command_complete(struct tcmu_device *dev, struct tcmulib_cmd *cmd, int result)
{
	void (*real)(struct tcmu_device *, struct tcmulib_cmd *, int) =
		dlsym(RTLD_NEXT, "tcmulib_command_complete");

	die_in("complete");
	real(dev, cmd, result);
}

void tcmulib_processing_complete(struct tcmu_device *dev)
{
	void (*real)(struct tcmu_device *) = dlsym(RTLD_NEXT, "tcmulib_processing_complete");

	die_in("announce");
	real(dev);
}
