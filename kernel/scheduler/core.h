/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Device suspend and resume by readiness: each device starts when all that it
 * waits for has finished. core.c explains how.
 */
#ifndef _READY_CORE_H
#define _READY_CORE_H

#include <linux/async.h>
#include <linux/list.h>
#include <linux/pm.h>
#include <linux/types.h>

struct device;

/* Phases with callbacks, in the order of a cycle. */
enum ready_phase {
	READY_SUSPEND,
	READY_LATE,
	READY_NOIRQ,
	READY_RESUME_NOIRQ,
	READY_EARLY,
	READY_RESUME,
	READY_PHASES,
};

static inline bool ready_goes_down(enum ready_phase phase)
{
	return phase <= READY_NOIRQ;
}

/* device_suspend() and its like. */
typedef void (*ready_run_t)(struct device *dev, pm_message_t state, bool async);

/* One phase: which list becomes which, and what runs a device. */
struct ready_step {
	enum ready_phase phase;
	struct list_head *from;
	struct list_head *to;
	/* async_suspend() and its like: takes a reference away. */
	async_func_t run_async;
	/* For a synchronous device. */
	ready_run_t run_sync;
};

/* How the last run of a phase went. */
struct ready_figures {
	unsigned int devices;
	/* Of them: without a callback, asynchronous, on the caller's thread. */
	unsigned int relays;
	unsigned int pool;
	unsigned int main;
	/* The list was walked in its order, one device at a time. */
	bool serial;
	/* Making the graph, or finding that the last one still holds. */
	u64 graph_ns;
	/* The longest that the caller's thread waited for one device. */
	u64 wait_ns;
	char waited_for[48];
};

struct ready_totals {
	unsigned long builds;
	unsigned long reuses;
	unsigned long walks;
	unsigned int workers;
	unsigned int peak;
};

extern bool ready_conserve;

/* Whether phases go by readiness: asked by the kernel, where this is part of it. */
bool ready_in_charge(void);
int ready_init(void);
void ready_exit(void);
void ready_run_phase(const struct ready_step *step, pm_message_t state);
/* Frees what the phases of a cycle share. */
void ready_end_cycle(void);

const struct ready_figures *ready_figures(enum ready_phase phase);
struct ready_totals ready_totals(void);

int ready_statistics_init(void);
void ready_statistics_exit(void);

#endif
