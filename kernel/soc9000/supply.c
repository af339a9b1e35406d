// SPDX-License-Identifier: GPL-2.0
/*
 * The supplies: a regulator of one voltage for each node.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/regulator/driver.h>
#include <linux/regulator/of_regulator.h>
#include "soc9000.h"

struct supply {
	struct regulator_desc desc;
	u32 on_us;
	bool on;
};

static int supply_enable(struct regulator_dev *rdev)
{
	struct supply *s = rdev_get_drvdata(rdev);

	soc9000_switch("supply", s->desc.name, 1, s->on_us);
	s->on = true;
	return 0;
}

static int supply_disable(struct regulator_dev *rdev)
{
	struct supply *s = rdev_get_drvdata(rdev);

	soc9000_switch("supply", s->desc.name, 0, 0);
	s->on = false;
	return 0;
}

static int supply_is_enabled(struct regulator_dev *rdev)
{
	struct supply *s = rdev_get_drvdata(rdev);

	return s->on;
}

static const struct regulator_ops supply_ops = {
	.enable		= supply_enable,
	.disable	= supply_disable,
	.is_enabled	= supply_is_enabled,
};

static int supply_probe(struct platform_device *pdev)
{
	struct regulator_config config = { .dev = &pdev->dev };
	struct device_node *np = pdev->dev.of_node;
	struct supply *s;

	s = devm_kzalloc(&pdev->dev, sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	of_property_read_u32(np, "dm,on-us", &s->on_us);
	s->desc.name = np->name;
	s->desc.type = REGULATOR_VOLTAGE;
	s->desc.owner = THIS_MODULE;
	s->desc.ops = &supply_ops;
	config.of_node = np;
	config.driver_data = s;
	config.init_data = of_get_regulator_init_data(&pdev->dev, np, &s->desc);
	if (!config.init_data)
		return -ENOMEM;
	return PTR_ERR_OR_ZERO(devm_regulator_register(&pdev->dev, &s->desc,
						       &config));
}

static const struct of_device_id supply_ids[] = {
	{ .compatible = "vendor,soc-9000-supply" },
	{ }
};

struct platform_driver soc9000_supply_driver = {
	.probe	= supply_probe,
	.driver	= {
		.name			= "soc9000-supply",
		.of_match_table		= supply_ids,
		.suppress_bind_attrs	= true,
	},
};
