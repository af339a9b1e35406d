// SPDX-License-Identifier: GPL-2.0
/*
 * Finds disks, and for each the device that devfreq listens to: the nearest
 * device above the disk that has a devfreq device as a child
 * (devfreq_add_device, drivers/devfreq/devfreq.c).
 *
 * The class of disks is not exported; the first bio that is seen tells it. From
 * then on the driver core says which disks come and go.
 */
#include <linux/device.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include "fqos.h"

module_param_named(cpu_latency_us, fqos_cpu_latency_us, int, 0444);
MODULE_PARM_DESC(cpu_latency_us, "also limit the latency of CPUs while raised; -1: do not");

module_param_named(as_published, fqos_as_published, bool, 0444);
MODULE_PARM_DESC(as_published, "ask at the disk's own device, as the series of 2025 does, to compare");

static unsigned int timeout_us;
module_param(timeout_us, uint, 0444);
MODULE_PARM_DESC(timeout_us, "of every disk, until its own file says another, at most 10 s; 0: found by itself");

/* A disk may appear before devfreq does: look again so often, in seconds. */
#define TRIES	5

static DEFINE_MUTEX(lock);	/* of the list, and of who is served */
static LIST_HEAD(all);

static const struct class *disk_class;
static struct class_interface watch;
static bool watching;

#if IS_6_12
static int is_devfreq(struct device *dev, void *unused)
#else
static int is_devfreq(struct device *dev, const void *unused)
#endif
{
	return dev->class && !strcmp(dev->class->name, "devfreq");
}

/* With a reference. */
static struct device *find_listener(struct gendisk *gendisk)
{
	struct device *dev, *child;

	for (dev = disk_to_dev(gendisk)->parent; dev; dev = dev->parent) {
		child = device_find_child(dev, NULL, is_devfreq);
		if (child) {
			put_device(child);
			return get_device(dev);
		}
	}
	return NULL;
}

static int serve(struct fqos_disk *d)
{
	int ret;

	lockdep_assert_held(&lock);
	if (d->listener)
		return 0;
	d->listener = find_listener(d->gendisk);
	if (!d->listener)
		return -ENODEV;
	ret = disk_begin(d);
	if (ret) {
		pr_err("dormouse_fqos: %s: cannot be served: %d\n",
		       d->gendisk->disk_name, ret);
		put_device(d->listener);
		d->listener = NULL;
		return ret;
	}
	pr_info("dormouse_fqos: %s: asks at %s\n", d->gendisk->disk_name,
		dev_name(d->listener));
	return 0;
}

static void leave(struct fqos_disk *d)
{
	lockdep_assert_held(&lock);
	if (!d->listener)
		return;
	disk_end(d);
	put_device(d->listener);
	d->listener = NULL;
}

/* The user switches a disk on or off. */
int fqos_switch(struct fqos_disk *d, bool on)
{
	int ret = 0;

	/* Who removes the disk holds the lock, and waits for us in sysfs. */
	if (!mutex_trylock(&lock))
		return -EBUSY;
	d->off = !on;
	if (on)
		ret = serve(d);
	else
		leave(d);
	mutex_unlock(&lock);
	return ret;
}

static void search(struct work_struct *work)
{
	struct fqos_disk *d = container_of(to_delayed_work(work),
					   struct fqos_disk, search);

	mutex_lock(&lock);
	if (!d->off && serve(d) == -ENODEV && ++d->tries < TRIES)
		schedule_delayed_work(&d->search, HZ);
	mutex_unlock(&lock);
}

/*
 * With CONFIG_DEBUG_KOBJECT_RELEASE the core releases a kobject seconds after its
 * last reference: our function must still be there, and the disk.
 */
static void forget(struct fqos_disk *d)
{
	kobject_put(&d->kobj);
	wait_for_completion(&d->released);
	kfree(d);
}

static int disk_appears(struct device *dev)
{
	struct gendisk *gendisk = dev_to_disk(dev);
	struct fqos_disk *d;
	int ret;

	/* Partitions are of the same class; their bios tell of the disk. */
	if (disk_to_dev(gendisk) != dev)
		return 0;
	d = kzalloc(sizeof(*d), GFP_KERNEL);
	if (!d)
		return -ENOMEM;
	d->gendisk = gendisk;
	d->wanted_us = min_t(u32, timeout_us, 10 * USEC_PER_SEC);
	spin_lock_init(&d->lock);
	init_completion(&d->released);
	INIT_DELAYED_WORK(&d->search, search);
	ret = kobject_init_and_add(&d->kobj, &fqos_disk_type,
				   &THIS_MODULE->mkobj.kobj, "%s",
				   gendisk->disk_name);
	if (ret) {
		forget(d);
		return ret;
	}
	mutex_lock(&lock);
	list_add_tail(&d->all, &all);
	if (serve(d) == -ENODEV)
		schedule_delayed_work(&d->search, HZ);
	mutex_unlock(&lock);
	return 0;
}

static void disk_vanishes(struct device *dev)
{
	struct gendisk *gendisk = dev_to_disk(dev);
	struct fqos_disk *d, *found = NULL;

	mutex_lock(&lock);
	list_for_each_entry(d, &all, all)
		if (d->gendisk == gendisk)
			found = d;
	if (found) {
		list_del(&found->all);
		found->off = true;
	}
	mutex_unlock(&lock);
	if (!found)
		return;
	cancel_delayed_work_sync(&found->search);
	/* Nobody is in sysfs from here on. */
	kobject_del(&found->kobj);
	mutex_lock(&lock);
	leave(found);
	mutex_unlock(&lock);
	forget(found);
}

static int sleep_ends(struct notifier_block *nb, unsigned long event, void *unused)
{
	struct fqos_disk *d;

	if (event != PM_POST_SUSPEND && event != PM_POST_HIBERNATION)
		return NOTIFY_DONE;
	mutex_lock(&lock);
	list_for_each_entry(d, &all, all)
		if (d->listener)
			disk_wakes(d);
	mutex_unlock(&lock);
	return NOTIFY_OK;
}

static struct notifier_block sleeps = { .notifier_call = sleep_ends };

static void begin_watching(struct work_struct *work)
{
	int ret;

	hook_first_end();
	watch.class = disk_class;
	watch.add_dev = disk_appears;
	watch.remove_dev = disk_vanishes;
	ret = class_interface_register(&watch);
	if (ret)
		pr_err("dormouse_fqos: disks cannot be watched: %d\n", ret);
	else
		watching = true;
}

static DECLARE_WORK(begin_work, begin_watching);

static void class_seen(const struct class *class)
{
	disk_class = class;
	schedule_work(&begin_work);
}

static int __init fqos_init(void)
{
	int ret = hook_find();

	if (ret)
		return ret;
	fqos_wq = alloc_workqueue("dormouse_fqos",
				  WQ_UNBOUND | WQ_HIGHPRI | WQ_FREEZABLE, 0);
	if (!fqos_wq)
		return -ENOMEM;
	ret = register_pm_notifier(&sleeps);
	if (ret)
		goto no_notifier;
	ret = hook_first_begin(class_seen);
	if (!ret)
		return 0;
	unregister_pm_notifier(&sleeps);
no_notifier:
	destroy_workqueue(fqos_wq);
	return ret;
}

static void __exit fqos_exit(void)
{
	/* From here on nobody queues the work; it may have run, or runs. */
	hook_first_end();
	flush_work(&begin_work);
	if (watching)
		class_interface_unregister(&watch);
	unregister_pm_notifier(&sleeps);
	destroy_workqueue(fqos_wq);
}

module_init(fqos_init);
module_exit(fqos_exit);

MODULE_DESCRIPTION("The clock of a disk rises while somebody waits for its requests");
MODULE_LICENSE("GPL");
