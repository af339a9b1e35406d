// SPDX-License-Identifier: GPL-2.0
/*
 * dormouse_governor: has a kernel's own simple_qos_governor decide on power
 * domains drawn by a seed, and writes down what it was told and what it decided.
 *
 * The governor is not exported. It is found by its symbol, and called by a
 * governor of this module that stands before it. While the module is loaded,
 * debugfs has dormouse_governor/decisions.
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/pm_domain.h>
#include <linux/pm_qos.h>
#include <linux/pm_runtime.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/version.h>

#include "stock.h"

/* Reads what is private to genpd. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0)
#error "dormouse_governor knows Linux 6.12 to 7.3"
#endif

#define DOMAINS		6
#define DEVICES		14
#define STATES		4
#define TEXT_SIZE	(8 << 20)

static unsigned long seed = 1;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "which domains, devices and constraints");

static unsigned int rounds = 1000;
module_param(rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "things that happen to the devices");

struct domain {
	struct generic_pm_domain genpd;
	char name[8];
	struct genpd_power_state states[STATES];
	bool added;
};

struct consumer {
	struct platform_device *pdev;
	struct dev_pm_qos_request qos;
	bool has_qos;
	bool in_domain;
	bool runtime;
	bool held;
};

static struct dev_power_governor *stock;
static struct domain *domains;
static struct consumer consumers[DEVICES];
static struct rnd_state random;
static struct dentry *dir;
static struct debugfs_blob_wrapper text;
static DEFINE_MUTEX(text_lock);

static u32 below(u32 n)
{
	return prandom_u32_state(&random) % n;
}

static __printf(1, 2) void say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	text.size += vscnprintf((char *)text.data + text.size,
				TEXT_SIZE - text.size, fmt, args);
	va_end(args);
}

/* What the governor reads of a device that is in no domain, or its own. */
static s64 own_constraint(struct device *dev)
{
	s64 us = PM_QOS_RESUME_LATENCY_NO_CONSTRAINT;

	if (!IS_ERR_OR_NULL(dev->power.qos))
		us = READ_ONCE(dev->power.qos->resume_latency.target_value);
	return us * NSEC_PER_USEC;
}

static bool is_in_domain(struct device *dev)
{
	return dev->power.subsys_data && dev->power.subsys_data->domain_data;
}

static int say_child(struct device *dev, void *unused)
{
	say(" child=%lld", is_in_domain(dev) ?
	    dev_gpd_data(dev)->td->effective_constraint_ns :
	    own_constraint(dev));
	return 0;
}

static bool told_suspend_ok(struct device *dev)
{
	struct gpd_timing_data *td = dev_gpd_data(dev)->td;
	bool ok;

	mutex_lock(&text_lock);
	say("suspend %s qos=%lld changed=%d cached=%d suspend=%lld resume=%lld",
	    dev_name(dev), own_constraint(dev), td->constraint_changed,
	    td->cached_suspend_ok, td->suspend_latency_ns,
	    td->resume_latency_ns);
	device_for_each_child(dev, NULL, say_child);
	ok = stock->suspend_ok(dev);
	say(" ok=%d effective=%lld\n", ok, td->effective_constraint_ns);
	mutex_unlock(&text_lock);
	return ok;
}

static bool told_power_down_ok(struct dev_pm_domain *pd)
{
	struct generic_pm_domain *genpd = pd_to_genpd(pd);
	struct genpd_governor_data *gd = genpd->gd;
	struct pm_domain_data *pdd;
	struct gpd_link *link;
	unsigned int i;
	s64 now;
	bool ok;

	mutex_lock(&text_lock);
	say("domain %s residency=%d changed=%d cached=%d,%d max_off=%lld",
	    genpd->name, !!(genpd->flags & GENPD_FLAG_MIN_RESIDENCY),
	    gd->max_off_time_changed, gd->cached_power_down_ok,
	    gd->cached_power_down_state_idx, gd->max_off_time_ns);
	for (i = 0; i < genpd->state_count; i++)
		say(" state=%lld,%lld,%lld",
		    genpd->states[i].power_off_latency_ns,
		    genpd->states[i].power_on_latency_ns,
		    genpd->states[i].residency_ns);
	list_for_each_entry(link, &genpd->parent_links, parent_node)
		say(" child=%lld,%lld", link->child->gd->max_off_time_ns,
		    link->child->gd->next_wakeup);
	list_for_each_entry(pdd, &genpd->dev_list, list_node)
		say(" device=%lld,%lld",
		    to_gpd_data(pdd)->td->effective_constraint_ns,
		    to_gpd_data(pdd)->td->next_wakeup);
	now = ktime_get();
	ok = stock->power_down_ok(pd);
	say(" now=%lld,%lld ok=%d index=%u after=%d,%d,%d,%lld\n", now,
	    ktime_get(), ok, genpd->state_idx, gd->max_off_time_changed,
	    gd->cached_power_down_ok, gd->cached_power_down_state_idx,
	    gd->max_off_time_ns);
	mutex_unlock(&text_lock);
	return ok;
}

static struct dev_power_governor told = {
	.suspend_ok	= told_suspend_ok,
	.power_down_ok	= told_power_down_ok,
};

static int domain_switch(struct generic_pm_domain *genpd)
{
	return 0;
}

static int add_domains(void)
{
	unsigned int i, s;
	int ret;

	for (i = 0; i < DOMAINS; i++) {
		struct domain *d = &domains[i];
		s64 off = 0, on = 0, residency = 0;

		snprintf(d->name, sizeof(d->name), "p%u", i);
		d->genpd.name = d->name;
		d->genpd.power_on = domain_switch;
		d->genpd.power_off = domain_switch;
		d->genpd.states = d->states;
		d->genpd.state_count = 1 + below(STATES);
		for (s = 0; s < d->genpd.state_count; s++) {
			/* Most of them deeper and slower, as they are meant. */
			off += 100000 + below(3000000);
			on += 100000 + below(3000000);
			residency += below(4000000);
			d->states[s].power_off_latency_ns = off;
			d->states[s].power_on_latency_ns = on;
			d->states[s].residency_ns = residency;
		}
		if (!below(3))
			d->genpd.flags |= GENPD_FLAG_MIN_RESIDENCY;
		ret = pm_genpd_init(&d->genpd, &told, false);
		if (ret)
			return ret;
		d->added = true;
		if (i) {
			ret = pm_genpd_add_subdomain(&domains[below(i)].genpd,
						     &d->genpd);
			if (ret)
				return ret;
		}
	}
	return 0;
}

static int add_user(unsigned int i)
{
	struct platform_device_info info = {
		.name	= "dormouse-governor",
		.id	= i,
	};
	struct consumer *u = &consumers[i];
	struct device *dev;
	int ret;

	if (i && below(2))
		info.parent = &consumers[below(i)].pdev->dev;
	u->pdev = platform_device_register_full(&info);
	if (IS_ERR(u->pdev)) {
		ret = PTR_ERR(u->pdev);
		u->pdev = NULL;
		return ret;
	}
	dev = &u->pdev->dev;
	if (below(5)) {
		ret = pm_genpd_add_device(&domains[below(DOMAINS)].genpd, dev);
		if (ret)
			return ret;
		u->in_domain = true;
	}
	ret = dev_pm_qos_add_request(dev, &u->qos, DEV_PM_QOS_RESUME_LATENCY,
				     PM_QOS_RESUME_LATENCY_NO_CONSTRAINT);
	if (ret < 0)
		return ret;
	u->has_qos = true;
	pm_runtime_enable(dev);
	u->runtime = true;
	return 0;
}

static void one_round(void)
{
	struct consumer *u = &consumers[below(DEVICES)];
	struct device *dev = &u->pdev->dev;
	struct gpd_timing_data *td;

	switch (below(8)) {
	case 0:
		dev_pm_qos_update_request(&u->qos, below(10) ?
			200 + below(30000) : 0);
		break;
	case 1:
		dev_pm_qos_update_request(&u->qos,
			PM_QOS_RESUME_LATENCY_NO_CONSTRAINT);
		break;
	case 2:
		if (u->in_domain)
			dev_pm_genpd_set_next_wakeup(dev, below(4) ?
				ktime_get() + below(20000000) : KTIME_MAX);
		break;
	case 3:
		/* As if it had been slower than ever before. */
		if (u->in_domain && u->held) {
			td = dev_gpd_data(dev)->td;
			td->suspend_latency_ns += below(300000);
			td->resume_latency_ns += below(300000);
			td->constraint_changed = true;
		}
		break;
	default:
		if (u->held)
			pm_runtime_put_sync(dev);
		else
			pm_runtime_get_sync(dev);
		u->held = !u->held;
	}
}

static void remove_all(void)
{
	int i;

	for (i = DEVICES; i--;) {
		struct consumer *u = &consumers[i];

		if (!u->pdev)
			continue;
		if (u->held)
			pm_runtime_put_noidle(&u->pdev->dev);
		if (u->runtime)
			pm_runtime_disable(&u->pdev->dev);
		if (u->has_qos)
			dev_pm_qos_remove_request(&u->qos);
		if (u->in_domain)
			pm_genpd_remove_device(&u->pdev->dev);
		platform_device_unregister(u->pdev);
	}
	for (i = DOMAINS; i--;) {
		struct gpd_link *link, *next;
		struct generic_pm_domain *genpd = &domains[i].genpd;

		if (!domains[i].added)
			continue;
		list_for_each_entry_safe(link, next, &genpd->child_links,
					 child_node)
			pm_genpd_remove_subdomain(link->parent, genpd);
		pm_genpd_remove(genpd);
	}
}

static int __init governor_init(void)
{
	unsigned int i;
	int ret;

	stock = find_simple_qos();
	if (IS_ERR(stock)) {
		ret = PTR_ERR(stock);
		pr_err("dormouse_governor: no simple_qos_governor: %d\n", ret);
		return ret;
	}
	text.data = kvzalloc(TEXT_SIZE, GFP_KERNEL);
	domains = kcalloc(DOMAINS, sizeof(*domains), GFP_KERNEL);
	if (!text.data || !domains) {
		kvfree(text.data);
		kfree(domains);
		return -ENOMEM;
	}
	prandom_seed_state(&random, seed);
	ret = add_domains();
	for (i = 0; i < DEVICES && !ret; i++)
		ret = add_user(i);
	for (i = 0; i < rounds && !ret; i++)
		one_round();
	remove_all();
	kfree(domains);
	if (ret) {
		kvfree(text.data);
		return ret;
	}
	dir = debugfs_create_dir("dormouse_governor", NULL);
	debugfs_create_blob("decisions", 0400, dir, &text);
	return 0;
}

static void __exit governor_exit(void)
{
	debugfs_remove_recursive(dir);
	kvfree(text.data);
}

module_init(governor_init);
module_exit(governor_exit);

MODULE_DESCRIPTION("Decisions of a kernel's own governor of power domains");
MODULE_LICENSE("GPL");
