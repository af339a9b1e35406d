// SPDX-License-Identifier: GPL-2.0
/*
 * What the last cycle was like, in sysfs: a directory a phase, and totals. One value a file.
 */
#include <linux/kernel.h>
#include <linux/kobject.h>
#include <linux/sysfs.h>

#include "core.h"
#include "host.h"

struct figure {
	struct kobj_attribute attr;
	enum ready_phase phase;
};

static struct kobject *kobj;

#define FIGURE_SHOW(name, format, expr)					\
static ssize_t name##_show(struct kobject *k, struct kobj_attribute *a,	\
			   char *buf)					\
{									\
	const struct ready_figures *f =					\
		ready_figures(container_of(a, struct figure, attr)->phase); \
									\
	return sysfs_emit(buf, format "\n", expr);			\
}

FIGURE_SHOW(devices, "%u", f->devices)
FIGURE_SHOW(relays, "%u", f->relays)
FIGURE_SHOW(pool, "%u", f->pool)
FIGURE_SHOW(main, "%u", f->main)
FIGURE_SHOW(serial, "%d", f->serial)
FIGURE_SHOW(graph_ns, "%llu", f->graph_ns)
FIGURE_SHOW(wait_ns, "%llu", f->wait_ns)
FIGURE_SHOW(waited_for, "%s", f->waited_for)

#define ONE(p, name)	{ __ATTR_RO(name), p }

#define FIGURES(p, title)						\
static struct figure p##_figures[] = {					\
	ONE(p, devices), ONE(p, relays), ONE(p, pool), ONE(p, main),	\
	ONE(p, serial), ONE(p, graph_ns), ONE(p, wait_ns),		\
	ONE(p, waited_for),						\
};									\
static struct attribute *p##_attrs[] = {				\
	&p##_figures[0].attr.attr, &p##_figures[1].attr.attr,		\
	&p##_figures[2].attr.attr, &p##_figures[3].attr.attr,		\
	&p##_figures[4].attr.attr, &p##_figures[5].attr.attr,		\
	&p##_figures[6].attr.attr, &p##_figures[7].attr.attr, NULL,	\
};									\
static const struct attribute_group p##_group = {			\
	.name = title, .attrs = p##_attrs,				\
}

FIGURES(READY_SUSPEND, "suspend");
FIGURES(READY_LATE, "suspend_late");
FIGURES(READY_NOIRQ, "suspend_noirq");
FIGURES(READY_RESUME_NOIRQ, "resume_noirq");
FIGURES(READY_EARLY, "resume_early");
FIGURES(READY_RESUME, "resume");

#define TOTAL(name, format)						\
static ssize_t name##_show(struct kobject *k, struct kobj_attribute *a,	\
			   char *buf)					\
{									\
	return sysfs_emit(buf, format "\n", ready_totals().name);	\
}									\
static struct kobj_attribute name##_attr = __ATTR_RO(name)

TOTAL(builds, "%lu");
TOTAL(reuses, "%lu");
TOTAL(walks, "%lu");
TOTAL(workers, "%u");
TOTAL(peak, "%u");

static struct attribute *total_attrs[] = {
	&builds_attr.attr, &reuses_attr.attr, &walks_attr.attr,
	&workers_attr.attr, &peak_attr.attr, NULL,
};

static const struct attribute_group total_group = { .attrs = total_attrs };

static const struct attribute_group *groups[] = {
	&total_group, &READY_SUSPEND_group, &READY_LATE_group,
	&READY_NOIRQ_group, &READY_RESUME_NOIRQ_group, &READY_EARLY_group,
	&READY_RESUME_group, NULL,
};

int ready_statistics_init(void)
{
	int ret;

	kobj = kobject_create_and_add(HOST_NAME, host_kobj);
	if (!kobj)
		return -ENOMEM;
	ret = sysfs_create_groups(kobj, groups);
	if (ret)
		kobject_put(kobj);
	return ret;
}

void ready_statistics_exit(void)
{
	sysfs_remove_groups(kobj, groups);
	kobject_put(kobj);
}
