/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dormouse_pdisk: a disk whose power states cost what they are told to cost.
 *
 * host     a platform device: the clock, which devfreq scales, the clock's gate
 *          and one server for the requests of all disks
 * lun      a platform device below it: a disk that the block layer suspends at
 *          run time
 */
#ifndef DORMOUSE_PDISK_H
#define DORMOUSE_PDISK_H

#include <linux/blk-mq.h>
#include <linux/devfreq.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/spinlock.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#define IS_6_12	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0) && \
		 LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0))
#if !IS_6_12 && (LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0) || \
		 LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0))
#error "dormouse_pdisk knows kernels 6.12 and 7.0 to 7.3 only"
#endif

#define MAX_LEVELS	8
#define MAX_LUNS	8

/* What the parameters of the module say, times in nanoseconds. */
struct pdisk_law {
	u64 base_ns;		/* of a request, whatever the clock */
	u64 transfer_ns;	/* of 64 KiB at the fastest clock */
	u64 switch_ns;		/* of a change of the clock */
	bool blocks;		/* requests wait for a change */
	u64 gate_ns;		/* clock off after this rest; 0: never */
	u64 ungate_ns;		/* to switch it on */
	u64 suspend_ns;		/* of the callback of a disk */
	u64 resume_ns;
	u64 host_resume_ns;	/* of the callback of the host */
	u64 levels[MAX_LEVELS];	/* Hz, slowest first */
	unsigned int nr_levels;
};

/*
 * One server works for all disks, one request after another. All that the
 * server looks at is guarded by @lock, which interrupts take.
 */
struct pdisk_host {
	struct platform_device *pdev;
	const struct pdisk_law *law;

	spinlock_t lock;		/* of the server */
	struct list_head waiting;	/* struct pdisk_cmd */
	struct pdisk_cmd *serving;
	struct hrtimer server;
	unsigned int active;		/* waiting or served */

	unsigned int level;
	bool changing;
	struct wait_queue_head drained;	/* nothing is served */

	bool gated;
	struct hrtimer gate;
	struct work_struct ungate;

	struct devfreq *devfreq;
	struct devfreq_simple_ondemand_data thresholds;
	struct devfreq_dev_profile profile;
	struct work_struct pause;	/* stops and starts polling */
	bool paused;
	bool want_paused;

	/* Of the window that devfreq looks at. */
	ktime_t window;
	bool window_open;
	ktime_t busy_since;
	u64 busy_ns;

	/* For sysfs: time at each clock, gated, and with all disks asleep. */
	struct mutex sleep;		/* of changes of @awake */
	unsigned int awake;		/* disks */
	ktime_t counted;
	u64 asleep_ns;
	u64 at_level[MAX_LEVELS];
	u64 gated_ns;
	u64 served;
	u64 changes;
	u64 ungates;
};

/* A request's own. */
struct pdisk_cmd {
	struct list_head node;
	blk_status_t status;
};

extern unsigned int pdisk_pauses;
extern bool pdisk_deferrable;
extern unsigned int pdisk_poll_ms;
extern int pdisk_autosuspend_ms;

/* serve.c: requests, one after another */
void serve_init(struct pdisk_host *h);
void serve_stop(struct pdisk_host *h);
void serve_add(struct pdisk_host *h, struct pdisk_cmd *cmd);
void serve_next(struct pdisk_host *h);
void serve_count(struct pdisk_host *h);

/* clock.c: what devfreq asks for */
int clock_add(struct pdisk_host *h);
void clock_remove(struct pdisk_host *h);
void clock_awake(struct pdisk_host *h, int change);

/* main.c */
bool pdisk_lun_wants_most(void);

/* lun.c: disks */
extern struct platform_driver pdisk_lun_driver;
int lun_tags_add(struct pdisk_host *h, unsigned int queues, unsigned int depth);
void lun_tags_remove(void);

/* Sleeps exactly so long. */
static inline void pdisk_sleep(u64 ns)
{
	ktime_t t = ns_to_ktime(ns);

	if (!ns)
		return;
	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout_range(&t, 0, HRTIMER_MODE_REL);
}

static inline void pdisk_timer(struct hrtimer *timer,
			       enum hrtimer_restart (*f)(struct hrtimer *))
{
#if IS_6_12
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer->function = f;
#else
	hrtimer_setup(timer, f, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#endif
}

#endif
