/* SPDX-License-Identifier: GPL-2.0 */
/* Threads that take jobs. */
#ifndef _READY_POOL_H
#define _READY_POOL_H

#include <linux/types.h>

/* Part of what is to be done; its owner keeps it until it has run. */
struct ready_pool_job {
	struct ready_pool_job *next;
};

struct ready_pool_owner {
	void (*run)(struct ready_pool_job *job);
	/* Called where ready_pool_wants_help() has become true. */
	void (*help)(void);
};

/* Threads, at most. */
extern unsigned int ready_pool_most;

int ready_pool_start(const struct ready_pool_owner *owner);
/* Nothing is queued, and nothing will be. */
void ready_pool_stop(void);
/* Makes as many threads as the last cycle needed, before tasks are frozen. */
void ready_pool_warm(void);
void ready_pool_submit(struct ready_pool_job *job);
/* A job waits, all threads are at work, and no other can be made. */
bool ready_pool_wants_help(void);
/* Takes a job out of the queue; NULL if there is none. */
struct ready_pool_job *ready_pool_take(void);
/* How many threads there are, and the most at work at once in this cycle. */
void ready_pool_figures(unsigned int *workers, unsigned int *peak);

#endif
