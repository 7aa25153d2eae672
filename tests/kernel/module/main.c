// SPDX-License-Identifier: GPL-2.0-only
/*
 * memzbc_eh - error handling that retries zoned writes which arrived out of
 * order
 *
 * A sequential write that a host-managed disk receives ahead of the writes
 * below it fails with UNALIGNED WRITE COMMAND. Nothing is wrong with it: sent
 * again after those writes it succeeds. This module makes an unmodified kernel
 * do so, one LUN at a time. It is for disks with the I/O scheduler "none",
 * where several writes to one zone can be outstanding.
 *
 *	echo memzbc_eh > /sys/block/sdX/device/dh_state
 *
 * attaches to a LUN; the LUN's end detaches. What it takes:
 *
 * - A SCSI device handler, whose check_sense() sends the commands that failed
 *   in this way to the error handler of the host instead of to the issuer.
 * - An error strategy for the host. The error handler runs when each command
 *   of the host has completed or failed, so at that time all writes of a
 *   reordered batch are either done or here. They are resubmitted in the order
 *   of their LBAs. All other commands get the treatment that they would get
 *   without this module, also those of LUNs it is not attached to.
 *
 * The error strategy comes from the transport template of the host. Hosts
 * without a transport class share one blank template, so the host gets a copy
 * that differs in the strategy. A transport class finds its own data through
 * the address of its template, so hosts with one are refused. While the copy
 * is in place, eh_deadline of the host cannot be written.
 *
 * /sys/block/sdX/device/memzbc_eh/ has
 *
 *	max_rounds	retries of one write at most, after which it fails. 0:
 *			nr_requests of the queue, and the 5 of any command. Can
 *			be written, and holds from the next round on
 *	rounds		rounds of error handling that resubmitted a write
 *	retried		writes resubmitted in these rounds
 *	exhausted	writes that failed because max_rounds was reached
 *	declined	other commands that failed with UNALIGNED WRITE COMMAND
 *			and that are not retried
 *
 * Locking and lifetime:
 *
 * memzbc_eh_mutex protects scsi_device.handler_data of LUNs that attach or
 * detach, memzbc_eh_host.nr_luns and the decision to put the copy of a template
 * in place or to remove it. Nothing that can wait for I/O is done under it: the
 * error handler thread may drop the last reference of a LUN, and thus detach.
 *
 * Scsi_Host.host_lock is held to remove the copy; see memzbc_eh_idle().
 *
 * The counters of a LUN are written by the error handler thread of its host
 * alone, and default_sense is as well, at a time when no command of the host is
 * outstanding. check_sense() reads the latter in the context of completions.
 *
 * A struct memzbc_eh_lun lives from attach to detach, which is part of the
 * release of the scsi_device: no command of the LUN and no sysfs file is left
 * by then. A struct memzbc_eh_host lives as long as one of its LUNs. The SCSI
 * core has a reference to this module for each LUN that is attached, and the
 * strategy has one while it runs, as the last LUN may go away meanwhile.
 */
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <scsi/scsi_device.h>
#include <scsi/scsi_host.h>

#include "memzbc_eh.h"

#if !IS_ENABLED(CONFIG_SCSI_DH) || !IS_ENABLED(CONFIG_BLK_DEV_ZONED)
#error "memzbc_eh needs a kernel with CONFIG_SCSI_DH and CONFIG_BLK_DEV_ZONED"
#endif

#define MEMZBC_EH_MOST_ROUNDS	100000

static DEFINE_MUTEX(memzbc_eh_mutex);

/* max_rounds, of the module for LUNs to come and of each LUN. */

static int memzbc_eh_set_max_rounds(const char *val,
				    const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, MEMZBC_EH_MOST_ROUNDS);
}

static const struct kernel_param_ops memzbc_eh_max_rounds_ops = {
	.set	= memzbc_eh_set_max_rounds,
	.get	= param_get_uint,
};

static unsigned int max_rounds;
module_param_cb(max_rounds, &memzbc_eh_max_rounds_ops, &max_rounds, 0644);
MODULE_PARM_DESC(max_rounds,
		 "max_rounds of LUNs that attach from now on (default 0)");

static struct memzbc_eh_lun *memzbc_eh_dev_to_lun(struct device *dev)
{
	return to_scsi_device(dev)->handler_data;
}

static ssize_t max_rounds_show(struct device *dev,
			       struct device_attribute *attr, char *buf)
{
	struct memzbc_eh_lun *lun = memzbc_eh_dev_to_lun(dev);

	return sysfs_emit(buf, "%u\n", READ_ONCE(lun->max_rounds));
}

static ssize_t max_rounds_store(struct device *dev,
				struct device_attribute *attr,
				const char *buf, size_t count)
{
	struct memzbc_eh_lun *lun = memzbc_eh_dev_to_lun(dev);
	unsigned int rounds;
	int err;

	err = kstrtouint(buf, 0, &rounds);
	if (err)
		return err;
	if (rounds > MEMZBC_EH_MOST_ROUNDS)
		return -EINVAL;
	WRITE_ONCE(lun->max_rounds, rounds);
	return count;
}
static DEVICE_ATTR_RW(max_rounds);

struct memzbc_eh_counter_attribute {
	struct device_attribute	attr;
	enum memzbc_eh_counter	counter;
};

static ssize_t memzbc_eh_counter_show(struct device *dev,
				      struct device_attribute *attr, char *buf)
{
	struct memzbc_eh_lun *lun = memzbc_eh_dev_to_lun(dev);
	struct memzbc_eh_counter_attribute *counter_attr =
		container_of(attr, struct memzbc_eh_counter_attribute, attr);

	return sysfs_emit(buf, "%lu\n",
			  READ_ONCE(lun->counters[counter_attr->counter]));
}

#define MEMZBC_EH_COUNTER_ATTR(_name, _counter)				\
	struct memzbc_eh_counter_attribute memzbc_eh_attr_##_name = {	\
		__ATTR(_name, 0444, memzbc_eh_counter_show, NULL),	\
		_counter						\
	}

static MEMZBC_EH_COUNTER_ATTR(rounds, MEMZBC_EH_ROUNDS);
static MEMZBC_EH_COUNTER_ATTR(retried, MEMZBC_EH_RETRIED);
static MEMZBC_EH_COUNTER_ATTR(exhausted, MEMZBC_EH_EXHAUSTED);
static MEMZBC_EH_COUNTER_ATTR(declined, MEMZBC_EH_DECLINED);

static struct attribute *memzbc_eh_attrs[] = {
	&dev_attr_max_rounds.attr,
	&memzbc_eh_attr_rounds.attr.attr,
	&memzbc_eh_attr_retried.attr.attr,
	&memzbc_eh_attr_exhausted.attr.attr,
	&memzbc_eh_attr_declined.attr.attr,
	NULL
};

static const struct attribute_group memzbc_eh_group = {
	.name	= KBUILD_MODNAME,
	.attrs	= memzbc_eh_attrs,
};

/* The device handler: which commands go to the error handler. */

static enum scsi_disposition
memzbc_eh_check_sense(struct scsi_device *sdev, struct scsi_sense_hdr *sshdr)
{
	struct memzbc_eh_lun *lun = sdev->handler_data;

	if (!memzbc_eh_is_unaligned_write(sshdr) ||
	    READ_ONCE(lun->default_sense))
		return SCSI_RETURN_NOT_HANDLED;
	return FAILED;
}

/* Attach and detach. */

/*
 * May the template of the host change to one without a strategy? The error
 * handler thread reads the pointer twice, to look whether there is a strategy
 * and to call it. It does so only while the host has failed commands or error
 * handling is scheduled; both begin under host_lock, and it ends them itself
 * when it is back from the strategy. If this is that thread, it is past it.
 */
static bool memzbc_eh_idle(struct Scsi_Host *shost)
{
	lockdep_assert_held(shost->host_lock);

	return current == shost->ehandler ||
	       (!scsi_host_in_recovery(shost) && !shost->host_failed &&
		!shost->host_eh_scheduled);
}

static bool memzbc_eh_restore_template(struct Scsi_Host *shost,
				       struct memzbc_eh_host *host)
{
	unsigned long flags;
	bool idle;

	spin_lock_irqsave(shost->host_lock, flags);
	idle = memzbc_eh_idle(shost);
	if (idle)
		WRITE_ONCE(shost->transportt, host->original);
	spin_unlock_irqrestore(shost->host_lock, flags);
	return idle;
}

static struct memzbc_eh_host *memzbc_eh_find_host(struct Scsi_Host *shost)
{
	lockdep_assert_held(&memzbc_eh_mutex);

	if (shost->transportt->eh_strategy_handler != memzbc_eh_strategy)
		return NULL;
	return container_of(shost->transportt, struct memzbc_eh_host, template);
}

/* Join the LUN to its host; @new becomes that if the host has no other LUN. */
static int memzbc_eh_join(struct scsi_device *sdev, struct memzbc_eh_lun *lun,
			  struct memzbc_eh_host *new)
{
	struct Scsi_Host *shost = sdev->host;
	struct memzbc_eh_host *host;

	lockdep_assert_held(&memzbc_eh_mutex);

	/* The SCSI core does not keep two writers of dh_state apart. */
	if (sdev->handler_data)
		return -EBUSY;
	host = memzbc_eh_find_host(shost);
	if (!host) {
		host = new;
		host->original = shost->transportt;
		host->template = *shost->transportt;
		host->template.eh_strategy_handler = memzbc_eh_strategy;
		/* The error handler thread does not take the mutex. */
		smp_store_release(&shost->transportt, &host->template);
	}
	host->nr_luns++;
	lun->host = host;
	sdev->handler_data = lun;
	return 0;
}

static void memzbc_eh_leave(struct scsi_device *sdev)
{
	struct memzbc_eh_lun *lun = sdev->handler_data;
	struct memzbc_eh_host *host = lun->host;
	struct Scsi_Host *shost = sdev->host;
	bool last;

	for (;;) {
		mutex_lock(&memzbc_eh_mutex);
		if (host->nr_luns > 1 ||
		    memzbc_eh_restore_template(shost, host))
			break;
		mutex_unlock(&memzbc_eh_mutex);
		/* Other LUNs of the host have errors. */
		wait_event(shost->host_wait, !scsi_host_in_recovery(shost));
		cond_resched();
	}
	last = !--host->nr_luns;
	sdev->handler_data = NULL;
	mutex_unlock(&memzbc_eh_mutex);

	if (last) {
		/*
		 * A scan of the host may just look into the copy. It takes
		 * no lock for it, but does not sleep either.
		 */
		synchronize_rcu_tasks();
		kfree(host);
	}
	kfree(lun);
}

/* Why not to attach to this LUN: a code for the SCSI core, or SCSI_DH_OK. */
static int memzbc_eh_check(struct scsi_device *sdev)
{
	struct request_queue *q = sdev->request_queue;
	struct scsi_transport_template *t = sdev->host->transportt;
	int error = SCSI_DH_DEV_UNSUPP;
	const char *why;

	if (blk_queue_zoned_model(q) != BLK_ZONED_HM) {
		why = "it is no host-managed zoned disk";
	} else if (t->eh_strategy_handler != memzbc_eh_strategy &&
		   memchr_inv(t, 0, sizeof(*t))) {
		why = "its host has a transport class or an error strategy";
	} else if (q->nr_hw_queues != 1) {
		/*
		 * Retries in one queue can put the host back into recovery
		 * before another queue, with the lower LBAs, has run.
		 */
		why = "its host has more than one hardware queue";
	} else if (q->elevator) {
		why = "write none to queue/scheduler first";
		error = SCSI_DH_RES_TEMP_UNAVAIL;
	} else {
		return SCSI_DH_OK;
	}
	sdev_printk(KERN_ERR, sdev, "%s: refused: %s\n", KBUILD_MODNAME, why);
	return error;
}

static int memzbc_eh_attach(struct scsi_device *sdev)
{
	struct memzbc_eh_host *host;
	struct memzbc_eh_lun *lun;
	int error;

	lun = kzalloc(sizeof(*lun), GFP_KERNEL);
	host = kzalloc(sizeof(*host), GFP_KERNEL);
	error = SCSI_DH_NOMEM;
	if (!lun || !host)
		goto free;
	lun->max_rounds = READ_ONCE(max_rounds);

	mutex_lock(&memzbc_eh_mutex);
	error = memzbc_eh_check(sdev);
	if (!error && memzbc_eh_join(sdev, lun, host))
		error = SCSI_DH_DEV_TEMP_BUSY;
	mutex_unlock(&memzbc_eh_mutex);
	if (error)
		goto free;
	if (lun->host != host)
		kfree(host);

	/* The directory goes away with that of the LUN. */
	if (sysfs_create_group(&sdev->sdev_gendev.kobj, &memzbc_eh_group)) {
		memzbc_eh_leave(sdev);
		return SCSI_DH_NOMEM;
	}
	sdev_printk(KERN_INFO, sdev, "%s: attached\n", KBUILD_MODNAME);
	return SCSI_DH_OK;

free:
	kfree(host);
	kfree(lun);
	return error;
}

struct scsi_device_handler memzbc_eh_handler = {
	.name		= KBUILD_MODNAME,
	.module		= THIS_MODULE,
	.attach		= memzbc_eh_attach,
	.detach		= memzbc_eh_leave,
	.check_sense	= memzbc_eh_check_sense,
};

static int __init memzbc_eh_init(void)
{
	return scsi_register_device_handler(&memzbc_eh_handler);
}

static void __exit memzbc_eh_exit(void)
{
	scsi_unregister_device_handler(&memzbc_eh_handler);
	/* The strategy may still be in the instructions after module_put(). */
	synchronize_rcu_tasks();
}

module_init(memzbc_eh_init);
module_exit(memzbc_eh_exit);

MODULE_DESCRIPTION("Retries zoned writes that arrived out of order");
MODULE_AUTHOR("memzbc developers <memzbc@example.invalid>");
MODULE_LICENSE("GPL");
/* The SCSI core asks for this name when the handler is not loaded. */
MODULE_ALIAS("scsi_dh_memzbc_eh");
