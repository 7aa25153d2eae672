/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MEMZBC_EH_H
#define MEMZBC_EH_H

#include <linux/types.h>
#include <scsi/scsi.h>
#include <scsi/scsi_dh.h>
#include <scsi/scsi_eh.h>
#include <scsi/scsi_transport.h>

/**
 * struct memzbc_eh_host - a host with LUNs that have the handler
 * @template:	what the host has for a transport template
 * @original:	what it had before
 * @nr_luns:	LUNs of the host that have the handler
 */
struct memzbc_eh_host {
	struct scsi_transport_template	template;
	struct scsi_transport_template	*original;
	unsigned int			nr_luns;
};

/* What a LUN counts: the attributes explained in main.c. */
enum memzbc_eh_counter {
	MEMZBC_EH_ROUNDS,
	MEMZBC_EH_RETRIED,
	MEMZBC_EH_EXHAUSTED,
	MEMZBC_EH_DECLINED,
	MEMZBC_EH_NR_COUNTERS
};

/**
 * struct memzbc_eh_lun - a LUN that has the handler
 * @host:	its host
 * @default_sense: leave the sense data to the SCSI core
 * @max_rounds:	retries of one write at most, or 0; see main.c
 * @counters:	by enum memzbc_eh_counter
 */
struct memzbc_eh_lun {
	struct memzbc_eh_host	*host;
	bool			default_sense;
	unsigned int		max_rounds;
	unsigned long		counters[MEMZBC_EH_NR_COUNTERS];
};

/* Is this UNALIGNED WRITE COMMAND? */
static inline bool
memzbc_eh_is_unaligned_write(const struct scsi_sense_hdr *sshdr)
{
	return !scsi_sense_is_deferred(sshdr) &&
	       sshdr->sense_key == ILLEGAL_REQUEST &&
	       sshdr->asc == 0x21 && sshdr->ascq == 0x04;
}

extern struct scsi_device_handler memzbc_eh_handler;

void memzbc_eh_strategy(struct Scsi_Host *shost);

#endif /* MEMZBC_EH_H */
