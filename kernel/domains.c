// SPDX-License-Identifier: GPL-2.0
/*
 * Power domains of a board: generic PM domains whose switching takes the time
 * that the description gives.
 *
 * The PM core calls the driver's callbacks of a device in a domain, and neither
 * those of its type nor those of its bus (genpd fills only prepare, the noirq
 * phases and complete). So such a device is bound to a driver whose callbacks
 * are exactly its own; there is one for each combination that a board needs.
 */
#include <linux/err.h>
#include <linux/pm_domain.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "board.h"
#include "stock.h"

static struct device_driver *drivers[1 << PHASE_COUNT];
static struct dev_power_governor *simple_qos;

static int domain_power_on(struct generic_pm_domain *genpd)
{
	struct board_domain *d = container_of(genpd, struct board_domain, genpd);

	board_sleep(d->on_ns[genpd->state_idx]);
	return 0;
}

static int domain_power_off(struct generic_pm_domain *genpd)
{
	struct board_domain *d = container_of(genpd, struct board_domain, genpd);

	board_sleep(d->off_ns[genpd->state_idx]);
	return 0;
}

/* The driver of devices in a domain that have exactly these callbacks. */
static struct device_driver *domain_driver(u8 present)
{
	struct device_driver *drv = drivers[present];
	int ret;

	if (drv)
		return drv;
	drv = kzalloc(sizeof(*drv), GFP_KERNEL);
	if (!drv)
		return ERR_PTR(-ENOMEM);
	drv->name = kasprintf(GFP_KERNEL, "dormouse-%02x", present);
	if (!drv->name) {
		kfree(drv);
		return ERR_PTR(-ENOMEM);
	}
	drv->probe_type = PROBE_FORCE_SYNCHRONOUS;
	drv->suppress_bind_attrs = true;
	drv->pm = board_pm_ops(present);
	ret = board_driver_register(drv);
	if (ret) {
		kfree(drv->name);
		kfree(drv);
		return ERR_PTR(ret);
	}
	drivers[present] = drv;
	return drv;
}

/* Whether @drv is for @d, which is in a domain. */
bool board_domain_match(struct board_device *d, const struct device_driver *drv)
{
	return drv == drivers[d->present];
}

/* Called while @d probes, as platform_probe() attaches its devices. */
int board_domain_attach(struct board_device *d)
{
	int ret;

	ret = pm_genpd_add_device(&d->board->domains[d->domain]->genpd,
				  &d->dev);
	if (ret)
		return ret;
	if (d->qos_us >= 0) {
		ret = dev_pm_qos_add_request(&d->dev, &d->qos,
					     DEV_PM_QOS_RESUME_LATENCY,
					     d->qos_us);
		if (ret < 0) {
			pm_genpd_remove_device(&d->dev);
			return ret;
		}
		d->has_qos = true;
	}
	if (d->runtime)
		pm_runtime_enable(&d->dev);
	return 0;
}

void board_domain_detach(struct board_device *d)
{
	if (d->runtime)
		pm_runtime_disable(&d->dev);
	if (d->has_qos)
		dev_pm_qos_remove_request(&d->qos);
	d->has_qos = false;
	pm_genpd_remove_device(&d->dev);
}

static int add_domain(struct board *b, struct board_domain *d,
		      struct board_error *err)
{
	unsigned int i;
	int ret;

	d->genpd.name = d->name;
	d->genpd.power_on = domain_power_on;
	d->genpd.power_off = domain_power_off;
	d->genpd.states = d->states;
	d->genpd.state_count = d->n_states;
	if (d->always_on)
		d->genpd.flags |= GENPD_FLAG_ALWAYS_ON;
	if (d->rpm_always_on)
		d->genpd.flags |= GENPD_FLAG_RPM_ALWAYS_ON;
	if (d->active_wakeup)
		d->genpd.flags |= GENPD_FLAG_ACTIVE_WAKEUP;
#ifdef GENPD_FLAG_NO_STAY_ON
	/* Nobody would ever end it: no node of a device tree provides these. */
	d->genpd.flags |= GENPD_FLAG_NO_STAY_ON;
#endif
	if (d->governed && !simple_qos) {
		struct dev_power_governor *found = find_simple_qos();

		if (IS_ERR(found))
			return board_refuse(err, d->line,
					    "no simple_qos_governor: %ld",
					    PTR_ERR(found));
		simple_qos = found;
	}
	ret = pm_genpd_init(&d->genpd, d->governed ? simple_qos : NULL,
			    d->starts_off);
	if (ret)
		return board_refuse(err, d->line, "domain %s: %d", d->name,
				    ret);
	if (d->starts_off)
		d->genpd.state_idx = d->start_state;
	d->added = true;
	for (i = 0; i < d->n_parents; i++) {
		ret = pm_genpd_add_subdomain(&b->domains[d->parents[i]]->genpd,
					     &d->genpd);
		if (ret)
			return board_refuse(err, d->line,
					    "%s is no parent of %s: %d",
					    b->domains[d->parents[i]]->name,
					    d->name, ret);
		d->linked++;
	}
	return 0;
}

/* Before any device. */
int board_domains_add(struct board *b, struct board_error *err)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < b->n_domains && !ret; i++)
		ret = add_domain(b, b->domains[i], err);
	for (i = 0; i < b->n_devices && !ret; i++)
		if (b->devices[i]->domain >= 0)
			ret = PTR_ERR_OR_ZERO(domain_driver(b->devices[i]->present));
	return ret;
}

/* Whether somebody is asked before @d is suspended. */
static bool is_asked(struct board_device *d)
{
	return d->runtime && d->domain >= 0 &&
	       (d->qos_us >= 0 || d->board->domains[d->domain]->governed);
}

/*
 * Every device exists. Those that somebody is asked about were needed and are
 * not any more: the kernel decides whether they are suspended, and how deep
 * their domains go. What is needed by another comes first up and last down.
 */
void board_domains_settle(struct board *b)
{
	unsigned int i;

	for (i = 0; i < b->n_devices; i++)
		if (is_asked(b->devices[i]))
			pm_runtime_get_sync(&b->devices[i]->dev);
	for (i = b->n_devices; i--;)
		if (is_asked(b->devices[i]))
			pm_runtime_put_sync_suspend(&b->devices[i]->dev);
}

/* After the last device. */
void board_domains_remove(struct board *b)
{
	unsigned int i;

	for (i = b->n_domains; i--;) {
		struct board_domain *d = b->domains[i];

		while (d->linked)
			pm_genpd_remove_subdomain(&b->domains[d->parents[--d->linked]]->genpd,
						  &d->genpd);
		if (d->added)
			pm_genpd_remove(&d->genpd);
		d->added = false;
	}
}

void board_domains_exit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(drivers); i++) {
		if (!drivers[i])
			continue;
		driver_unregister(drivers[i]);
		kfree(drivers[i]->name);
		kfree(drivers[i]);
		drivers[i] = NULL;
	}
}
