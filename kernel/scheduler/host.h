/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the scheduler needs of drivers/base: by addresses that livepatch.c finds.
 */
#ifndef DORMOUSE_SCHEDULER_HOST_H
#define DORMOUSE_SCHEDULER_HOST_H

#include <linux/device.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/srcu.h>
#include <linux/version.h>

/* Since 6.16 a device that is done starts its neighbours. */
#define HOST_STARTS_NEIGHBOURS \
	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0))
/* From 6.17.8 on no device waits for a link that only sync_state() needs. */
#define HOST_WAITS_FOR_SYNC_STATE \
	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 8))

#define HOST_NAME	"dormouse_scheduler"
#define HOST_THREAD	"dormouse_dpm"
#define host_kobj	kernel_kobj
#define host_new(type, gfp)	kzalloc(sizeof(type), gfp)

struct ready_host {
	struct mutex *list_mtx;
	struct list_head *new_devices;
	struct srcu_struct *links_srcu;
	const int *async_enabled;
	/* NULL where the kernel has no pm_trace. */
	const int *trace_enabled;
};

/* livepatch.c */
extern struct ready_host ready_host;

#define host_list_mtx	(ready_host.list_mtx)
/* All that are not in a cycle: in it, those that came since it began. */
#define host_new_devices	(ready_host.new_devices)

/* Whether asynchronous devices may overlap. */
static inline bool host_async(void)
{
	return READ_ONCE(*ready_host.async_enabled) &&
	       !(ready_host.trace_enabled &&
		 READ_ONCE(*ready_host.trace_enabled));
}

static inline int host_links_lock(void)
{
	return srcu_read_lock(ready_host.links_srcu);
}

static inline void host_links_unlock(int idx)
{
	srcu_read_unlock(ready_host.links_srcu, idx);
}

#define host_each_supplier(link, dev)					\
	list_for_each_entry_srcu(link, &(dev)->links.suppliers, c_node,	\
				 srcu_read_lock_held(ready_host.links_srcu))

/* The kernel must run @dev, and its neighbours must not start it themselves. */
static inline void host_claim(struct device *dev)
{
#if HOST_STARTS_NEIGHBOURS
	dev->power.work_in_progress = true;
#endif
}

#endif
