// SPDX-License-Identifier: GPL-2.0
/*
 * The driver of the SoC itself. Its node is no simple-bus, so the kernel makes
 * no devices of the nodes below it; this driver does. It thereby meets every
 * device before any driver does, and can give it a power domain.
 */
#include <linux/device.h>
#include <linux/notifier.h>
#include <linux/of.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include "soc9000.h"

static struct device *soc;

/*
 * BUS_NOTIFY_ADD_DEVICE comes before the device is offered to drivers
 * (drivers/base/core.c:device_add()), so its pm_domain may still be set; and
 * platform_probe() then leaves the power-domains property alone
 * (drivers/base/power/common.c:dev_pm_domain_attach()).
 */
static int on_device(struct notifier_block *nb, unsigned long action,
		     void *data)
{
	struct device *dev = data;
	int ret;

	if (dev->parent != soc || !dev->of_node)
		return NOTIFY_DONE;
	switch (action) {
	case BUS_NOTIFY_ADD_DEVICE:
		if (soc9000_pm != SOC9000_PM_DOMAINS ||
		    !of_property_present(dev->of_node, "power-domains"))
			break;
		ret = soc9000_domain_add(dev);
		if (ret)
			dev_err(dev, "no domain: %d\n", ret);
		break;
	case BUS_NOTIFY_BOUND_DRIVER:
		soc9000_end("bound", dev->of_node->name, 1);
		break;
	}
	return NOTIFY_OK;
}

static struct notifier_block notifier = {
	.notifier_call = on_device,
};

static int soc_probe(struct platform_device *pdev)
{
	int ret;

	/* One chip: its devices are told from others by their parent. */
	if (soc)
		return -EBUSY;
	soc = &pdev->dev;
	ret = bus_register_notifier(&platform_bus_type, &notifier);
	if (ret)
		goto err_soc;
	ret = of_platform_default_populate(soc->of_node, NULL, soc);
	if (ret)
		goto err_notifier;
	return 0;

err_notifier:
	bus_unregister_notifier(&platform_bus_type, &notifier);
err_soc:
	soc = NULL;
	return ret;
}

static const struct of_device_id soc_ids[] = {
	{ .compatible = "vendor,soc-9000" },
	{ }
};
MODULE_DEVICE_TABLE(of, soc_ids);

struct platform_driver soc9000_soc_driver = {
	.probe	= soc_probe,
	.driver	= {
		.name			= "soc9000",
		.of_match_table		= soc_ids,
		.suppress_bind_attrs	= true,
	},
};
