// SPDX-License-Identifier: GPL-2.0
/*
 * The drivers of what people use: one a role, and what tells them apart is
 * data. All say by runtime PM when they use their device. With pm=drivers they
 * also take what it needs and switch it, at run time and for system sleep;
 * without, they have neither a resource nor a callback.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/phy/phy.h>
#include <linux/platform_device.h>
#include <linux/pm.h>
#include <linux/pm_runtime.h>
#include "soc9000.h"

enum { I2C, UART, SPI, MMC, PHY, USB, GPU };

struct role {
	const char *driver;
	/* What the driver does with the device while it probes. */
	unsigned int init_us;
	bool is_phy;
	bool has_phy;
};

/* Those that others need come first. */
static const struct role roles[SOC9000_CONSUMERS] = {
	[I2C]	= { "soc9000-i2c", 50 },
	[UART]	= { "soc9000-uart", 50 },
	[SPI]	= { "soc9000-spi", 80 },
	[MMC]	= { "soc9000-mmc", 400 },
	[PHY]	= { "soc9000-phy", 100, .is_phy = true },
	[USB]	= { "soc9000-usb", 300, .has_phy = true },
	[GPU]	= { "soc9000-gpu", 500 },
};

static const struct of_device_id ids[SOC9000_CONSUMERS][2] = {
	[I2C]	= { { .compatible = "vendor,soc-9000-i2c" } },
	[UART]	= { { .compatible = "vendor,soc-9000-uart" } },
	[SPI]	= { { .compatible = "vendor,soc-9000-spi" } },
	[MMC]	= { { .compatible = "vendor,soc-9000-mmc" } },
	[PHY]	= { { .compatible = "vendor,soc-9000-phy" } },
	[USB]	= { { .compatible = "vendor,soc-9000-usb" } },
	[GPU]	= { { .compatible = "vendor,soc-9000-gpu" } },
};

static struct platform_driver drivers[SOC9000_CONSUMERS];

/* A fault on demand. */
#define DEFERRALS	3

static int deferred[SOC9000_CONSUMERS];

/* Before: what each driver has to know of its device. */

static int consumer_on(struct device *dev)
{
	return soc9000_resources_on(dev_get_drvdata(dev));
}

static int consumer_off(struct device *dev)
{
	soc9000_resources_off(dev_get_drvdata(dev));
	return 0;
}

static const struct dev_pm_ops consumer_pm_ops = {
	SYSTEM_SLEEP_PM_OPS(pm_runtime_force_suspend, pm_runtime_force_resume)
	RUNTIME_PM_OPS(consumer_off, consumer_on, NULL)
};

static void consumer_put(void *data)
{
	soc9000_resources_put(data);
}

static int consumer_get(struct device *dev)
{
	struct soc9000_resources *res;
	int ret;

	res = devm_kzalloc(dev, sizeof(*res), GFP_KERNEL);
	if (!res)
		return -ENOMEM;
	ret = soc9000_resources_get(res, dev);
	if (ret)
		return ret;
	dev_set_drvdata(dev, res);
	return devm_add_action_or_reset(dev, consumer_put, res);
}

/* Before and after. */

static const struct phy_ops phy_ops = {
	.owner	= THIS_MODULE,
};

static int add_phy(struct device *dev)
{
	struct phy_provider *provider;
	struct phy *phy;

	phy = devm_phy_create(dev, NULL, &phy_ops);
	if (IS_ERR(phy))
		return PTR_ERR(phy);
	provider = devm_of_phy_provider_register(dev, of_phy_simple_xlate);
	return PTR_ERR_OR_ZERO(provider);
}

static int consumer_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	int i = to_platform_driver(dev->driver) - drivers;
	const struct role *role = &roles[i];
	struct phy *phy = NULL;
	int ret;

	if (soc9000_is_in(soc9000_defer, dev->of_node->name) &&
	    deferred[i]++ < DEFERRALS)
		return dev_err_probe(dev, -EPROBE_DEFER, "as asked\n");
	if (soc9000_pm == SOC9000_PM_DRIVERS) {
		ret = consumer_get(dev);
		if (ret)
			return ret;
	}
	/* USB waits for its PHY; there is nothing to drive. */
	if (role->has_phy) {
		phy = devm_phy_get(dev, "usb");
		if (IS_ERR(phy))
			return dev_err_probe(dev, PTR_ERR(phy), "PHY\n");
	}
	ret = devm_pm_runtime_enable(dev);
	if (ret)
		return ret;
	if (role->is_phy) {
		ret = add_phy(dev);
		if (ret)
			return ret;
	}
	ret = pm_runtime_resume_and_get(dev);
	if (ret)
		return ret;
	soc9000_wait(role->init_us);
	if (!soc9000_is_in(soc9000_busy, dev->of_node->name))
		pm_runtime_put(dev);
	return 0;
}

unsigned int soc9000_consumers_prepare(struct platform_driver **to)
{
	unsigned int i;

	for (i = 0; i < SOC9000_CONSUMERS; i++) {
		struct device_driver *drv = &drivers[i].driver;

		drivers[i].probe = consumer_probe;
		drv->name = roles[i].driver;
		drv->of_match_table = ids[i];
		drv->suppress_bind_attrs = true;
		if (soc9000_pm == SOC9000_PM_DRIVERS)
			drv->pm = pm_ptr(&consumer_pm_ops);
		to[i] = &drivers[i];
	}
	return SOC9000_CONSUMERS;
}
