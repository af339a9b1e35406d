// SPDX-License-Identifier: GPL-2.0
/*
 * /sys/module/dormouse_fqos/DISK/: where the request is made, whether and how
 * long, and what came of it.
 */
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include "fqos.h"

struct figure {
	struct attribute attr;
	ssize_t (*show)(struct fqos_disk *d, char *buf);
	ssize_t (*store)(struct fqos_disk *d, const char *buf, size_t n);
};

#define FIGURE(_name, _mode, _show, _store)				\
	static struct figure figure_##_name = {				\
		.attr = { .name = #_name, .mode = _mode },		\
		.show = _show,						\
		.store = _store,					\
	}

static ssize_t enabled_show(struct fqos_disk *d, char *buf)
{
	return sysfs_emit(buf, "%d\n", !!d->listener);
}

static ssize_t enabled_store(struct fqos_disk *d, const char *buf, size_t n)
{
	bool on;
	int ret = kstrtobool(buf, &on);

	if (!ret)
		ret = fqos_switch(d, on);
	return ret ?: n;
}

FIGURE(enabled, 0644, enabled_show, enabled_store);

static ssize_t device_show(struct fqos_disk *d, char *buf)
{
	struct device *dev = READ_ONCE(d->listener);

	if (!dev)
		return sysfs_emit(buf, "none\n");
	return sysfs_emit(buf, "%s\n", dev_name(dev));
}

FIGURE(device, 0444, device_show, NULL);

static ssize_t timeout_us_show(struct fqos_disk *d, char *buf)
{
	return sysfs_emit(buf, "%u\n", d->wanted_us);
}

static ssize_t timeout_us_store(struct fqos_disk *d, const char *buf, size_t n)
{
	u32 us;
	int ret = kstrtou32(buf, 0, &us);

	if (ret)
		return ret;
	if (us > 10 * USEC_PER_SEC)
		return -ERANGE;
	spin_lock_irq(&d->lock);
	d->wanted_us = us;
	WRITE_ONCE(d->timeout_us, us ?: gaps_timeout(&d->gaps, d->change_ns));
	spin_unlock_irq(&d->lock);
	return n;
}

FIGURE(timeout_us, 0644, timeout_us_show, timeout_us_store);

static ssize_t figures_show(struct fqos_disk *d, char *buf)
{
	unsigned int c;
	int at;

	spin_lock_irq(&d->lock);
	at = sysfs_emit(buf,
			"timeout_us %u\nchange_ns %llu\nraises %llu\ndrops %llu\nworks %llu\nheld_ns %llu\nlate_ns %llu\ngaps",
			d->timeout_us, d->change_ns, d->raises, d->drops,
			d->works, d->held_ns, d->late_ns);
	for (c = 0; c <= GAP_CLASSES; c++)
		at += sysfs_emit_at(buf, at, " %u", d->gaps.count[c]);
	at += sysfs_emit_at(buf, at, "\n");
	spin_unlock_irq(&d->lock);
	return at;
}

FIGURE(figures, 0444, figures_show, NULL);

static struct attribute *disk_attrs[] = {
	&figure_enabled.attr,
	&figure_device.attr,
	&figure_timeout_us.attr,
	&figure_figures.attr,
	NULL
};
ATTRIBUTE_GROUPS(disk);

static ssize_t show(struct kobject *kobj, struct attribute *attr, char *buf)
{
	struct figure *f = container_of(attr, struct figure, attr);

	return f->show(container_of(kobj, struct fqos_disk, kobj), buf);
}

static ssize_t store(struct kobject *kobj, struct attribute *attr,
		     const char *buf, size_t n)
{
	struct figure *f = container_of(attr, struct figure, attr);

	if (!f->store)
		return -EACCES;
	return f->store(container_of(kobj, struct fqos_disk, kobj), buf, n);
}

static const struct sysfs_ops ops = {
	.show	= show,
	.store	= store,
};

static void release(struct kobject *kobj)
{
	complete(&container_of(kobj, struct fqos_disk, kobj)->released);
}

const struct kobj_type fqos_disk_type = {
	.sysfs_ops	= &ops,
	.default_groups	= disk_groups,
	.release	= release,
};
