// SPDX-License-Identifier: GPL-2.0
/*
 * The reset controller: a line for each device, numbered as their clocks.
 */
#include <linux/device.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/reset-controller.h>
#include "soc9000.h"

#define LINES	8

struct soc_reset {
	struct reset_controller_dev rcdev;
	u32 on_us;
};

static void reset_line(struct reset_controller_dev *rcdev, unsigned long id,
		       int state, unsigned int us)
{
	char name[8];

	snprintf(name, sizeof(name), "%lu", id);
	soc9000_switch("reset", name, state, us);
}

static int soc_reset_assert(struct reset_controller_dev *rcdev,
			    unsigned long id)
{
	reset_line(rcdev, id, 0, 0);
	return 0;
}

static int soc_reset_deassert(struct reset_controller_dev *rcdev,
			      unsigned long id)
{
	struct soc_reset *r = container_of(rcdev, struct soc_reset, rcdev);

	reset_line(rcdev, id, 1, r->on_us);
	return 0;
}

static const struct reset_control_ops soc_reset_ops = {
	.assert		= soc_reset_assert,
	.deassert	= soc_reset_deassert,
};

static int soc_reset_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct soc_reset *r = devm_kzalloc(dev, sizeof(*r), GFP_KERNEL);

	if (!r)
		return -ENOMEM;
	of_property_read_u32(dev->of_node, "dm,on-us", &r->on_us);
	r->rcdev.owner = THIS_MODULE;
	r->rcdev.ops = &soc_reset_ops;
	r->rcdev.of_node = dev->of_node;
	r->rcdev.nr_resets = LINES;
	return devm_reset_controller_register(dev, &r->rcdev);
}

static const struct of_device_id soc_reset_ids[] = {
	{ .compatible = "vendor,soc-9000-reset" },
	{ }
};

struct platform_driver soc9000_reset_driver = {
	.probe	= soc_reset_probe,
	.driver	= {
		.name			= "soc9000-reset",
		.of_match_table		= soc_reset_ids,
		.suppress_bind_attrs	= true,
	},
};
