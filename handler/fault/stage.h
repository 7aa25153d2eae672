/* SPDX-License-Identifier: LGPL-2.1-or-later OR Apache-2.0 */
/*
 * What the stages between the plugin and the model share.
 *
 * A command passes reorder -> hold -> error -> model -> delay. Each stage either lets it pass or
 * keeps it on a list or a timer; the device (device.c) strings them together.
 */
#ifndef MEMZBC_STAGE_H
#define MEMZBC_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <memzbc/observe.h>

#include "../model.h"

/* Which stage has a request. */
enum stage {
	STAGE_NONE,
	STAGE_REORDER,
	STAGE_HOLD,
	STAGE_ANSWER,	/* executed; the answer waits */
};

/* A command on its way. */
struct request {
	struct memzbc_cmd cmd;
	void *tag;
	uint64_t arrival;	/* number of the command since the device was opened */
	uint64_t arrived;	/* time */
	uint64_t deadline;	/* when its stage gives it up; MEMZBC_NEVER if not on a timer */
	uint32_t timer;		/* index in the heap */
	struct request *next, *prev;	/* in the stage's list, in the order of arrival */
	struct command_info info;
	struct zone zone;	/* of the first block; slot is NO_SLOT if there is none */
	uint64_t completed;	/* time; 0 until then */
	uint64_t write_pointer;	/* of @zone before execution, for the trace */
	uint32_t execution, completion;	/* numbers in the trace; 0 until then */
	uint64_t moved;		/* blocks read or written */
	uint32_t waited_for;	/* later writes of the zone that were executed */
	enum stage stage;
	bool forced;		/* hold does not take it again */
	bool dropped;		/* its answer */
	uint8_t status;
	uint8_t sense_key;	/* with CHECK CONDITION, when observed */
	uint16_t asc;
	uint16_t flags;		/* MEMZBC_TRACE_... */
	uint8_t reorder_ending, hold_ending;	/* enum memzbc_ending */
};

static inline bool moves_data(const struct request *rq)
{
	return rq->info.class == MEMZBC_CLASS_READ || rq->info.class == MEMZBC_CLASS_WRITE;
}

/* A list of requests, by arrival. */
struct request_list {
	struct request *first, *last;
	uint32_t count;
};

void list_append(struct request_list *list, struct request *rq);
void list_remove(struct request_list *list, struct request *rq);

/* Requests by deadline, then by arrival: a heap. */
struct timers {
	struct request **heap;
	uint32_t count, room;
};

/* Room for @count in all. Returns 0 or -ENOMEM. */
int timers_reserve(struct timers *timers, uint32_t count);
/* Puts @rq in; there must be room. */
void timers_add(struct timers *timers, struct request *rq, uint64_t deadline);
void timers_remove(struct timers *timers, struct request *rq);
/* The first to expire, or NULL. */
struct request *timers_first(const struct timers *timers);

/* A small generator whose sequence depends on the seed alone (splitmix64). */
struct prng {
	uint64_t state;
};

uint64_t prng_next(struct prng *prng);
/* True about once in @n calls. */
bool prng_one_in(struct prng *prng, uint32_t n);

struct stats;
struct trace;
struct power;

struct memzbc_device {
	union {
		struct memzbc_device_front front;
		struct {	/* the same, by shorter names */
			struct memzbc_lun *lun;
			const struct memzbc_device_ops *ops;
			void *arg;
			bool active;
		};
	};
	struct memzbc_faults faults;
	bool staged;		/* commands may be kept or fail */
	struct stats *stats;	/* NULL: off */
	struct trace *trace;	/* NULL: off */
	struct power *power;	/* NULL: no volatile cache */
	uint64_t armed;		/* deadline that the caller knows */
	uint64_t arrivals;
	uint32_t outstanding;	/* arrived and not complete */
	struct timers timers;
	struct request_list ready;	/* to be executed before anything else happens */
	struct request *spare;	/* free requests, linked by next */
	struct request_list reordered;	/* kept by reorder.c */
	struct request_list held;	/* kept by hold.c */
	struct request_list answers;	/* of executed commands, kept for their delay */
	struct prng reorder_prng;
	struct prng error_prng[MEMZBC_ERROR_RULES_MAX];
	uint64_t error_left[MEMZBC_ERROR_RULES_MAX];
	uint64_t faults_since;	/* time of the last change of the faults */
	uint64_t head;		/* delay.c: LBA where the last command ended */
};

_Static_assert(offsetof(struct memzbc_device, front) == 0 &&
	       offsetof(struct memzbc_device, active) ==
		       offsetof(struct memzbc_device_front, active),
	       "memzbc_device_submit() finds it");

/*
 * device.c, for the stages. A request goes on, to hold and the stages behind it; nothing happens to
 * it before the caller returns.
 */
void device_admit(struct memzbc_device *dev, struct request *rq);
/* A request is executed, whatever hold says; not before the caller returns. */
void device_execute(struct memzbc_device *dev, struct request *rq);
/* Write pointers have moved without a command, in @slot or, if NO_SLOT, anywhere. */
void device_zones_moved(struct memzbc_device *dev, uint32_t slot);
/* Keep @rq in @stage until @deadline. */
void device_keep(struct memzbc_device *dev, struct request *rq, enum stage stage,
		 uint64_t deadline);
/* Takes @rq out of its stage, and remembers why. */
void device_release(struct memzbc_device *dev, struct request *rq, enum memzbc_ending ending);

/* reorder.c: true if it has taken the request. */
bool reorder_takes(struct memzbc_device *dev, struct request *rq);
/* A write of @zone was executed: who waited for it? */
void reorder_write_executed(struct memzbc_device *dev, const struct request *write);

/*
 * observe.c: statistics and trace. @rq has arrived; is kept by its stage; is given up by its stage;
 * is about to be executed, as @rule says if there is one; is answered.
 */
void observe_arrived(struct memzbc_device *dev, struct request *rq);
void observe_kept(struct memzbc_device *dev, struct request *rq);
void observe_released(struct memzbc_device *dev, struct request *rq, enum memzbc_ending ending);
void observe_executing(struct memzbc_device *dev, struct request *rq,
		       const struct memzbc_error_rule *rule);
void observe_answered(struct memzbc_device *dev, struct request *rq);
/* As device_zones_moved(). */
void observe_zones_moved(struct memzbc_device *dev, uint32_t slot);
/* Turns statistics and trace on or off as @faults say. Returns 0, or -errno and changes nothing. */
int observe_set(struct memzbc_device *dev, const struct memzbc_faults *faults);
void observe_end(struct memzbc_device *dev);

/* hold.c: true if it has taken the request. */
bool hold_takes(struct memzbc_device *dev, struct request *rq);
/* Write pointers may have moved, in @slot or, if NO_SLOT, anywhere. */
void hold_wake(struct memzbc_device *dev, uint32_t slot, bool write);

/* delay.c: nanoseconds that the answer of an executed command takes; moves the arm. */
uint64_t delay_of(struct memzbc_device *dev, const struct request *rq);

/*
 * power.c: memzbc_lun_execute(), with a volatile cache if there is one; all commands go through it.
 */
uint8_t power_execute(struct memzbc_device *dev, struct memzbc_cmd *cmd);
/* There is to be a cache, if there is none. Returns 0 or -ENOMEM. */
int power_begin(struct memzbc_device *dev);
/* Makes the cache as large as @bytes, or ends it if that is 0. */
void power_limit(struct memzbc_device *dev, uint64_t bytes);
/* What the cache holds becomes durable, and there is none any more. */
void power_end(struct memzbc_device *dev);

/* error.c: the rule that hits the request, or NULL; counts. */
const struct memzbc_error_rule *error_hits(struct memzbc_device *dev, const struct request *rq);
/* The answer of a request that @rule hit; sets rq->moved if it is not GOOD. */
uint8_t error_execute(struct memzbc_device *dev, struct request *rq,
		      const struct memzbc_error_rule *rule);

#endif
