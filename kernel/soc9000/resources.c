// SPDX-License-Identifier: GPL-2.0
/*
 * The clocks, the supply and the reset of a device: taken together, switched
 * together. Drivers call this before, domains after.
 */
#include <linux/clk.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/regulator/consumer.h>
#include <linux/reset.h>
#include "soc9000.h"

/*
 * Not managed by devres: that is released before the domain of a device is
 * dismissed (drivers/base/dd.c:device_unbind_cleanup()), while it may be on.
 */
int soc9000_resources_get(struct soc9000_resources *res, struct device *dev)
{
	int ret;

	res->dev = dev;
	res->supply = regulator_get(dev, "vdd");
	if (IS_ERR(res->supply)) {
		ret = PTR_ERR(res->supply);
		goto err_clear;
	}
	ret = clk_bulk_get_all(dev, &res->clks);
	if (ret < 0)
		goto err_supply;
	res->clk_count = ret;
	res->reset = reset_control_get_exclusive(dev, NULL);
	if (IS_ERR(res->reset)) {
		ret = PTR_ERR(res->reset);
		goto err_clks;
	}
	return 0;

err_clks:
	clk_bulk_put_all(res->clk_count, res->clks);
err_supply:
	regulator_put(res->supply);
err_clear:
	res->dev = NULL;
	return dev_err_probe(dev, ret, "clocks, supply or reset\n");
}

/* Nothing happens if nothing was taken. */
void soc9000_resources_put(struct soc9000_resources *res)
{
	if (!res->dev)
		return;
	reset_control_put(res->reset);
	clk_bulk_put_all(res->clk_count, res->clks);
	regulator_put(res->supply);
	res->dev = NULL;
}

int soc9000_resources_on(struct soc9000_resources *res)
{
	int ret;

	ret = regulator_enable(res->supply);
	if (ret)
		return ret;
	ret = clk_bulk_prepare_enable(res->clk_count, res->clks);
	if (ret)
		goto err_supply;
	ret = reset_control_deassert(res->reset);
	if (ret)
		goto err_clks;
	return 0;

err_clks:
	clk_bulk_disable_unprepare(res->clk_count, res->clks);
err_supply:
	regulator_disable(res->supply);
	return ret;
}

void soc9000_resources_off(struct soc9000_resources *res)
{
	reset_control_assert(res->reset);
	clk_bulk_disable_unprepare(res->clk_count, res->clks);
	regulator_disable(res->supply);
}
