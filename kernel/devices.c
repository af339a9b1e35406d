// SPDX-License-Identifier: GPL-2.0
/*
 * Puts a board into the system and takes it out again.
 *
 * Devices and links are made in the order of the description, because that
 * order is what dpm_list, the lists of children and the lists of links keep:
 * a link moves its consumer to the tail of dpm_list, so a description that
 * names a link right after its consumer keeps the order of its devices.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/pm_runtime.h>
#include <linux/pm_wakeup.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <linux/wait.h>

#include "board.h"

/* Whether the next board's devices are announced to user space. */
bool board_uevents;

/* Devices whose last reference is not gone yet. */
static atomic_t alive = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(all_gone);

static struct device_driver board_driver;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
static int board_match(struct device *dev, const struct device_driver *drv)
#else
static int board_match(struct device *dev, struct device_driver *drv)
#endif
{
	struct board_device *d = to_board_device(dev);

	if (d->domain >= 0)
		return board_domain_match(d, drv);
	return d->bound && drv == &board_driver;
}

static int board_probe(struct device *dev)
{
	struct board_device *d = to_board_device(dev);

	return d->domain < 0 ? 0 : board_domain_attach(d);
}

static void board_unbind(struct device *dev)
{
	struct board_device *d = to_board_device(dev);

	if (d->domain >= 0)
		board_domain_detach(d);
}

static struct bus_type board_bus = {
	.name	= "dormouse",
	.match	= board_match,
	.probe	= board_probe,
	.remove	= board_unbind,
};

static struct device_driver board_driver = {
	.name			= "dormouse",
	.bus			= &board_bus,
	.probe_type		= PROBE_FORCE_SYNCHRONOUS,
	.suppress_bind_attrs	= true,
};

static struct class board_class = {
	.name	= "dormouse",
};

int board_devices_init(void)
{
	int ret;

	ret = bus_register(&board_bus);
	if (ret)
		return ret;
	ret = driver_register(&board_driver);
	if (ret)
		goto no_driver;
	ret = class_register(&board_class);
	if (ret)
		goto no_class;
	return 0;

no_class:
	driver_unregister(&board_driver);
no_driver:
	bus_unregister(&board_bus);
	return ret;
}

/* Of devices with callbacks of a driver's own. */
int board_driver_register(struct device_driver *drv)
{
	drv->bus = &board_bus;
	return driver_register(drv);
}

void board_devices_exit(void)
{
	board_domains_exit();
	class_unregister(&board_class);
	driver_unregister(&board_driver);
	bus_unregister(&board_bus);
}

/* The memory belongs to the board; see board_remove(). */
static void board_device_release(struct device *dev)
{
	if (atomic_dec_and_test(&alive))
		wake_up(&all_gone);
}

/* Runtime PM of a device that is what its description says: active or not. */
static void begin_runtime(struct board_device *d)
{
	struct device *dev = &d->dev;
	unsigned int i;

	/* Counts first: nothing may suspend what is to be held. */
	for (i = 0; i < d->usage; i++)
		pm_runtime_get_noresume(dev);
	if (d->autosuspend) {
		pm_runtime_set_autosuspend_delay(dev, d->delay_ms);
		pm_runtime_use_autosuspend(dev);
	}
	pm_runtime_enable(dev);
	d->began = true;
}

static void end_runtime(struct board_device *d)
{
	struct device *dev = &d->dev;
	unsigned int i;

	if (d->autosuspend)
		pm_runtime_dont_use_autosuspend(dev);
	pm_runtime_disable(dev);
	for (i = 0; i < d->usage; i++)
		pm_runtime_put_noidle(dev);
	pm_runtime_set_suspended(dev);
}

static int add_device(struct board *b, struct board_device *d,
		      struct board_error *err)
{
	struct device *dev = &d->dev;
	int ret;

	device_initialize(dev);
	atomic_inc(&alive);
	d->added = true;
	dev->release = board_device_release;
	if (d->domain < 0)
		dev->type = board_type(d->present, d->rpm);
	if (d->is_class)
		dev->class = &board_class;
	else
		dev->bus = &board_bus;
	if (d->parent >= 0)
		dev->parent = &b->devices[d->parent]->dev;
	if (d->no_pm)
		device_set_pm_not_required(dev);
	if (d->async)
		device_enable_async_suspend(dev);
	dev_pm_syscore_device(dev, d->syscore);
	/* As a rule nobody listens, and ten thousand messages take time. */
	dev_set_uevent_suppress(dev, !board_uevents);

	ret = dev_set_name(dev, "%s", d->name);
	if (!ret)
		ret = device_add(dev);
	if (ret) {
		put_device(dev);
		d->added = false;
		return board_refuse(err, d->line, "%s cannot be added: %d",
				    d->name, ret);
	}
	if ((d->bound || d->domain >= 0) && !dev->driver)
		return board_refuse(err, d->line, "%s was not bound", d->name);
	if (d->wakeup) {
		ret = device_init_wakeup(dev, true);
		if (ret)
			return board_refuse(err, d->line,
					    "%s has no wakeup source: %d",
					    d->name, ret);
	}
	if (d->active && !d->no_pm) {
		ret = pm_runtime_set_active(dev);
		if (ret)
			return board_refuse(err, d->line,
					    "%s cannot be active: %d",
					    d->name, ret);
	}
	if (d->no_direct_complete)
		dev_pm_set_driver_flags(dev, DPM_FLAG_NO_DIRECT_COMPLETE);
	if (d->rpm)
		begin_runtime(d);
	return 0;
}

/* The status a link of this kind must have right after it was made. */
static enum device_link_state wanted_status(const struct board_link *l)
{
	switch (l->kind) {
	case LINK_STATELESS:
		return DL_STATE_NONE;
	case LINK_DORMANT:
		return DL_STATE_DORMANT;
	case LINK_ACTIVE:
		return DL_STATE_ACTIVE;
	default:
		return DL_STATE_AVAILABLE;
	}
}

static int add_link(struct board *b, const struct board_link *l,
		    struct board_error *err)
{
	struct device_link *link;
	u32 flags = 0;

	if (l->kind == LINK_STATELESS)
		flags |= DL_FLAG_STATELESS;
	if (l->kind == LINK_SYNC_STATE_ONLY)
		flags |= DL_FLAG_SYNC_STATE_ONLY;
	if (l->pm_runtime)
		flags |= DL_FLAG_PM_RUNTIME;
	link = device_link_add(&b->devices[l->consumer]->dev,
			       &b->devices[l->supplier]->dev, flags);
	if (!link)
		return board_refuse(err, l->line,
				    "the kernel refuses this link (a cycle?)");
	if (link->status != wanted_status(l))
		return board_refuse(err, l->line,
				    "link has status %d, not %d: look at which ends are bound",
				    link->status, wanted_status(l));
	return 0;
}

/*
 * Takes every device out, the last one first, and waits until nobody holds one
 * any more: device links give their references back from a work item.
 */
void board_remove(struct board *b)
{
	unsigned int i;

	if (!b)
		return;
	board_shake_board(NULL);
	for (i = b->n_devices; i--;) {
		struct board_device *d = b->devices[i];

		if (!d->added)
			continue;
		if (d->began)
			end_runtime(d);
		device_unregister(&d->dev);
	}
	wait_event(all_gone, !atomic_read(&alive));
	board_domains_remove(b);
	board_free(b);
}

int board_add(struct board *b, struct board_error *err)
{
	unsigned int i, next_link = 0;
	int ret;

	ret = board_domains_add(b, err);
	for (i = 0; i < b->n_devices && !ret; i++) {
		ret = add_device(b, b->devices[i], err);
		while (!ret && next_link < b->n_links &&
		       b->links[next_link].after == i + 1)
			ret = add_link(b, &b->links[next_link++], err);
		cond_resched();
	}
	if (!ret) {
		board_domains_settle(b);
		board_shake_board(b);
	}
	return ret;
}
