// SPDX-License-Identifier: GPL-2.0
/*
 * Domains that switch what a device needs, so that its driver does not. There
 * are two ways.
 *
 * pm=domains: a power domain for each device, whose parent is the domain of
 * the power switch. It takes what the device needs in activate(), before the
 * driver's probe, and switches it as a domain is switched.
 *
 * pm=startstop: the device is in the domain of its power switch as the device
 * tree says. What it needs is taken when it is attached, and switched by start
 * and stop of the device.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/of.h>
#include <linux/pm_domain.h>
#include <linux/slab.h>
#include "soc9000.h"

struct device_domain {
	struct generic_pm_domain genpd;
	struct generic_pm_domain *parent;
	/* Protects what follows: a sleep may switch while a driver probes. */
	struct mutex lock;
	struct soc9000_resources res;
	bool is_on;
};

static struct device_domain *to_domain(struct generic_pm_domain *genpd)
{
	return container_of(genpd, struct device_domain, genpd);
}

/*
 * A device that no driver was found for is in its domain too, and a sleep
 * switches it: then there is nothing to switch yet.
 */
static int device_domain_on(struct generic_pm_domain *genpd)
{
	struct device_domain *d = to_domain(genpd);
	int ret = 0;

	mutex_lock(&d->lock);
	soc9000_begin("domain", genpd->name, 1);
	if (d->res.dev)
		ret = soc9000_resources_on(&d->res);
	d->is_on = !ret;
	soc9000_end("domain", genpd->name, ret ? ret : 1);
	mutex_unlock(&d->lock);
	return ret;
}

static int device_domain_off(struct generic_pm_domain *genpd)
{
	struct device_domain *d = to_domain(genpd);

	mutex_lock(&d->lock);
	soc9000_begin("domain", genpd->name, 0);
	if (d->res.dev)
		soc9000_resources_off(&d->res);
	d->is_on = false;
	soc9000_end("domain", genpd->name, 0);
	mutex_unlock(&d->lock);
	return 0;
}

/*
 * Called before each probe (drivers/base/dd.c:really_probe()). The parent is
 * linked once: a domain that has a device cannot leave it again
 * (drivers/pmdomain/core.c:pm_genpd_remove_subdomain()).
 */
static int device_domain_activate(struct device *dev)
{
	struct device_domain *d = to_domain(pd_to_genpd(dev->pm_domain));
	struct generic_pm_domain *parent;
	int ret;

	if (!d->parent) {
		parent = soc9000_power_find(dev);
		if (IS_ERR(parent))
			return dev_err_probe(dev, PTR_ERR(parent),
					     "power switch\n");
		ret = pm_genpd_add_subdomain(parent, &d->genpd);
		/*
		 * A sleep before this probe has switched the domain on, and its
		 * parent is off (drivers/pmdomain/core.c:genpd_add_subdomain()):
		 * not so when the parent's other devices work.
		 */
		if (ret == -EINVAL && READ_ONCE(d->is_on))
			ret = -EPROBE_DEFER;
		if (ret)
			return dev_err_probe(dev, ret, "power switch\n");
		d->parent = parent;
	}
	mutex_lock(&d->lock);
	ret = soc9000_resources_get(&d->res, dev);
	if (!ret && d->is_on) {
		ret = soc9000_resources_on(&d->res);
		if (ret)
			soc9000_resources_put(&d->res);
	}
	mutex_unlock(&d->lock);
	return ret;
}

/* After a probe that failed, or the driver's remove. */
static void device_domain_dismiss(struct device *dev)
{
	struct device_domain *d = to_domain(pd_to_genpd(dev->pm_domain));

	mutex_lock(&d->lock);
	if (d->is_on && d->res.dev)
		soc9000_resources_off(&d->res);
	soc9000_resources_put(&d->res);
	mutex_unlock(&d->lock);
}

/* Gives a device, which no driver has seen, a domain of its own. */
int soc9000_domain_add(struct device *dev)
{
	struct device_domain *d = kzalloc(sizeof(*d), GFP_KERNEL);
	int ret;

	if (!d)
		return -ENOMEM;
	mutex_init(&d->lock);
	d->genpd.name = dev->of_node->name;
	d->genpd.power_on = device_domain_on;
	d->genpd.power_off = device_domain_off;
	ret = pm_genpd_init(&d->genpd, NULL, true);
	if (ret)
		goto err_free;
	/* genpd leaves both alone. */
	d->genpd.domain.activate = device_domain_activate;
	d->genpd.domain.dismiss = device_domain_dismiss;
	ret = pm_genpd_add_device(&d->genpd, dev);
	if (ret)
		goto err_genpd;
	return 0;

err_genpd:
	pm_genpd_remove(&d->genpd);
err_free:
	kfree(d);
	return ret;
}

/* The attached device's, in the place that genpd has for its provider. */
static struct soc9000_resources *attached(struct device *dev)
{
	return dev_gpd_data(dev)->data;
}

/*
 * Before the driver's probe: platform_probe() attaches. The domain is powered
 * on then, but the device is not started; its first runtime resume does that.
 */
int soc9000_device_attach(struct generic_pm_domain *genpd, struct device *dev)
{
	struct soc9000_resources *res = kzalloc(sizeof(*res), GFP_KERNEL);
	int ret;

	if (!res)
		return -ENOMEM;
	ret = soc9000_resources_get(res, dev);
	if (ret) {
		kfree(res);
		return ret;
	}
	dev_gpd_data(dev)->data = res;
	return 0;
}

void soc9000_device_detach(struct generic_pm_domain *genpd,
			   struct device *dev)
{
	struct soc9000_resources *res = attached(dev);

	soc9000_resources_put(res);
	kfree(res);
}

int soc9000_device_start(struct device *dev)
{
	int ret;

	soc9000_begin("start", dev->of_node->name, 1);
	ret = soc9000_resources_on(attached(dev));
	soc9000_end("start", dev->of_node->name, ret ? ret : 1);
	return ret;
}

int soc9000_device_stop(struct device *dev)
{
	soc9000_begin("start", dev->of_node->name, 0);
	soc9000_resources_off(attached(dev));
	soc9000_end("start", dev->of_node->name, 0);
	return 0;
}
