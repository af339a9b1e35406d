// SPDX-License-Identifier: GPL-2.0
/*
 * Two drivers of clocks: the PLL, which takes a while to lock, and the clock
 * controller, which has a gate for each device and one for the bus they share.
 */
#include <linux/clk.h>
#include <linux/clk-provider.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/regulator/consumer.h>
#include "soc9000.h"

#define PLL_HZ	800000000UL

struct soc_clk {
	struct clk_hw hw;
	u32 on_us;
};

static int soc_clk_prepare(struct clk_hw *hw)
{
	struct soc_clk *c = container_of(hw, struct soc_clk, hw);

	soc9000_switch("clock", clk_hw_get_name(hw), 1, c->on_us);
	return 0;
}

static void soc_clk_unprepare(struct clk_hw *hw)
{
	soc9000_switch("clock", clk_hw_get_name(hw), 0, 0);
}

static unsigned long pll_recalc_rate(struct clk_hw *hw,
				     unsigned long parent_rate)
{
	return PLL_HZ;
}

static const struct clk_ops pll_ops = {
	.prepare	= soc_clk_prepare,
	.unprepare	= soc_clk_unprepare,
	.recalc_rate	= pll_recalc_rate,
};

static const struct clk_ops gate_ops = {
	.prepare	= soc_clk_prepare,
	.unprepare	= soc_clk_unprepare,
};

static int pll_probe(struct platform_device *pdev)
{
	static const struct clk_init_data init = {
		.name	= "pll",
		.ops	= &pll_ops,
	};
	struct device *dev = &pdev->dev;
	struct soc_clk *c;
	int ret;

	c = devm_kzalloc(dev, sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	ret = devm_regulator_get_enable(dev, "vdd");
	if (ret)
		return dev_err_probe(dev, ret, "supply\n");
	of_property_read_u32(dev->of_node, "dm,on-us", &c->on_us);
	c->hw.init = &init;
	ret = devm_clk_hw_register(dev, &c->hw);
	if (ret)
		return ret;
	return devm_of_clk_add_hw_provider(dev, of_clk_hw_simple_get, &c->hw);
}

static const char * const gates[] = {
	"bus", "gpu", "usb", "phy", "mmc", "spi", "uart", "i2c",
};

static int clk_probe(struct platform_device *pdev)
{
	static const struct clk_parent_data parent = { .index = 0 };
	struct device *dev = &pdev->dev;
	struct clk_hw_onecell_data *all;
	struct soc_clk *c;
	struct clk *pll;
	u32 on_us = 0;
	unsigned int i;
	int ret;

	/* Without it the gates would stand without a parent, at 0 Hz. */
	pll = devm_clk_get(dev, NULL);
	if (IS_ERR(pll))
		return dev_err_probe(dev, PTR_ERR(pll), "PLL\n");
	all = devm_kzalloc(dev, struct_size(all, hws, ARRAY_SIZE(gates)),
			   GFP_KERNEL);
	c = devm_kcalloc(dev, ARRAY_SIZE(gates), sizeof(*c), GFP_KERNEL);
	if (!all || !c)
		return -ENOMEM;
	all->num = ARRAY_SIZE(gates);
	of_property_read_u32(dev->of_node, "dm,on-us", &on_us);
	for (i = 0; i < ARRAY_SIZE(gates); i++, c++) {
		struct clk_init_data init = {
			.name		= gates[i],
			.ops		= &gate_ops,
			.parent_data	= &parent,
			.num_parents	= 1,
		};

		c->on_us = on_us;
		c->hw.init = &init;
		ret = devm_clk_hw_register(dev, &c->hw);
		if (ret)
			return ret;
		all->hws[i] = &c->hw;
	}
	return devm_of_clk_add_hw_provider(dev, of_clk_hw_onecell_get, all);
}

static const struct of_device_id pll_ids[] = {
	{ .compatible = "vendor,soc-9000-pll" },
	{ }
};

static const struct of_device_id clk_ids[] = {
	{ .compatible = "vendor,soc-9000-clk" },
	{ }
};

struct platform_driver soc9000_pll_driver = {
	.probe	= pll_probe,
	.driver	= {
		.name			= "soc9000-pll",
		.of_match_table		= pll_ids,
		.suppress_bind_attrs	= true,
	},
};

struct platform_driver soc9000_clk_driver = {
	.probe	= clk_probe,
	.driver	= {
		.name			= "soc9000-clk",
		.of_match_table		= clk_ids,
		.suppress_bind_attrs	= true,
	},
};
