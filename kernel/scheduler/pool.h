/* SPDX-License-Identifier: GPL-2.0 */
/* Threads that take jobs. */
#ifndef DORMOUSE_SCHEDULER_POOL_H
#define DORMOUSE_SCHEDULER_POOL_H

#include <linux/types.h>

/* Part of what is to be done; its owner keeps it until it has run. */
struct pool_job {
	struct pool_job *next;
};

struct pool_owner {
	void (*run)(struct pool_job *job);
	/* Called where pool_wants_help() has become true. */
	void (*help)(void);
};

/* Threads, at most. */
extern unsigned int pool_most;

int pool_start(const struct pool_owner *owner);
/* Nothing is queued, and nothing will be. */
void pool_stop(void);
/* Makes as many threads as the last cycle needed, before tasks are frozen. */
void pool_warm(void);
void pool_submit(struct pool_job *job);
/* A job waits, all threads are at work, and no other can be made. */
bool pool_wants_help(void);
/* Takes a job out of the queue; NULL if there is none. */
struct pool_job *pool_take(void);
/* How many threads there are, and the most at work at once in this cycle. */
void pool_figures(unsigned int *workers, unsigned int *peak);

#endif
