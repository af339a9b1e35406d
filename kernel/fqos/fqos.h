/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dormouse_fqos: a disk's clock rises while somebody waits for its requests.
 *
 * A request of quality of service for the least frequency is made on the device
 * that devfreq listens to. devfreq then decides at once; a request on the disk
 * itself would count at its next look, which for a short burst is too late.
 *
 * hook.c        sees requests: a probe of the block layer, and its table of disks
 * disk.c        a disk: raised or not, and what moves it between the two
 * gaps.c        how long to stay raised: break-even and the gaps that were seen
 * statistics.c  sysfs
 * main.c        finds disks and the devices that devfreq listens to
 */
#ifndef DORMOUSE_FQOS_H
#define DORMOUSE_FQOS_H

#include <linux/blkdev.h>
#include <linux/completion.h>
#include <linux/hrtimer.h>
#include <linux/kobject.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/pm_qos.h>
#include <linux/spinlock.h>
#include <linux/timex.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#define IS_6_12	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0) && \
		 LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0))
#if !IS_6_12 && (LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0) || \
		 LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0))
#error "dormouse_fqos knows kernels 6.12 and 7.0 to 7.3 only"
#endif

/* Time-outs are powers of two in microseconds: 1 to 64 ms. */
#define GAP_FIRST	10
#define GAP_CLASSES	7

struct gaps {
	u64 sum_us[GAP_CLASSES + 1];	/* of gaps that end in this class */
	u32 count[GAP_CLASSES + 1];	/* the last: longer than all */
	u32 seen;
};

/* When a request was seen last on a CPU, in the cycles of get_cycles(). */
struct last {
	cycles_t at;
};

/*
 * A disk is raised or not. The probe alone raises it, the timer alone lets it
 * fall, and the work does to the device what @raised says: two runs of it for
 * each busy period.
 */
struct fqos_disk {
	struct hlist_node node;		/* hook.c: in the crowd */
	struct gendisk *gendisk;
	struct last __percpu *last;
	cycles_t limit;			/* probes look no further up to this gap */
	int raised;			/* atomic by cmpxchg */
	cycles_t long_gap;		/* worth to be written down */

	struct device *listener;	/* what devfreq listens to; a reference */
	struct dev_pm_qos_request frequency;
	struct pm_qos_request latency;
	bool applied;			/* the work's own */
	struct work_struct work;
	struct hrtimer timer;

	cycles_t both_cycles;		/* one moment on both clocks */
	ktime_t both;
	ktime_t began;			/* this busy period */
	ktime_t due;			/* its end */

	spinlock_t lock;		/* of what follows */
	struct gaps gaps;
	u64 change_ns;			/* what a change up takes */
	u32 timeout_us;			/* in force */
	u32 wanted_us;			/* by the user; 0: found out */
	u64 raises;
	u64 drops;
	u64 works;
	u64 held_ns;
	u64 late_ns;			/* the latest drop after its due time */

	/* main.c */
	struct list_head all;
	struct kobject kobj;
	struct completion released;	/* the kobject is */
	struct delayed_work search;
	unsigned int tries;
	bool off;			/* by the user */
};

/* hook.c */
int hook_find(void);
int hook_add(struct fqos_disk *d);
void hook_remove(struct fqos_disk *d);
int hook_first_begin(void (*seen)(const struct class *class));
void hook_first_end(void);

/* disk.c */
int disk_begin(struct fqos_disk *d);
void disk_end(struct fqos_disk *d);
void disk_look(struct fqos_disk *d, cycles_t gap, cycles_t now);
void disk_wakes(struct fqos_disk *d);
extern struct workqueue_struct *fqos_wq;
extern int fqos_cpu_latency_us;
extern bool fqos_as_published;

/* gaps.c */
void gaps_note(struct gaps *g, u64 us);
u32 gaps_timeout(struct gaps *g, u64 change_ns);

/* statistics.c */
extern const struct kobj_type fqos_disk_type;

/* main.c */
int fqos_switch(struct fqos_disk *d, bool on);

static inline void fqos_timer(struct hrtimer *timer,
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
