/* SPDX-License-Identifier: GPL-2.0 */
/* What running devices by readiness needs of drivers/base. */
#ifndef _PM_READY_HOST_H
#define _PM_READY_HOST_H

#include <linux/device.h>
#include <linux/pm-trace.h>
#include <linux/slab.h>
#include <linux/suspend.h>

#include "../../base.h"
#include "../power.h"

#define HOST_WAITS_FOR_SYNC_STATE	false

#define HOST_NAME	"ready"
#define HOST_THREAD	"pm_ready"
#define host_kobj	power_kobj
#define host_new(type, gfp)	kzalloc_obj(type, gfp)
#define host_list_mtx	(&dpm_list_mtx)
/* All that are not in a cycle: in it, those that came since it began. */
#define host_new_devices	(&dpm_list)

/* Whether asynchronous devices may overlap. */
static inline bool host_async(void)
{
	return pm_async_enabled && !pm_trace_is_enabled();
}

static inline int host_links_lock(void)
{
	return device_links_read_lock();
}

static inline void host_links_unlock(int idx)
{
	device_links_read_unlock(idx);
}

#define host_each_supplier(link, dev)	dev_for_each_link_to_supplier(link, dev)

/* Nobody else may start @dev in this phase. */
static inline void host_claim(struct device *dev)
{
	dev->power.work_in_progress = true;
}

#endif
