// SPDX-License-Identifier: GPL-2.0
/*
 * The power switch: domains TOP > GPU, TOP > IO, and AON, which is always on.
 * With pm=startstop they also start and stop their devices.
 */
#include <linux/device.h>
#include <linux/err.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/pm_domain.h>
#include "soc9000.h"

enum { TOP, GPU, IO, AON, COUNT };

static const struct {
	const char *name;
	int parent;
	unsigned int flags;
} layout[COUNT] = {
	[TOP]	= { "top", -1 },
	[GPU]	= { "gpu-switch", TOP },
	[IO]	= { "io", TOP },
	[AON]	= { "aon", -1, GENPD_FLAG_ALWAYS_ON },
};

struct power_switch {
	struct generic_pm_domain genpd;
	u32 on_us;
	u32 off_us;
};

static struct power_switch switches[COUNT];
static struct generic_pm_domain *domains[COUNT];
static struct genpd_onecell_data provider = {
	.domains	= domains,
	.num_domains	= COUNT,
};

static struct device_node *node;

static int power_on(struct generic_pm_domain *genpd)
{
	struct power_switch *s = container_of(genpd, struct power_switch, genpd);

	soc9000_switch("switch", genpd->name, 1, s->on_us);
	return 0;
}

static int power_off(struct generic_pm_domain *genpd)
{
	struct power_switch *s = container_of(genpd, struct power_switch, genpd);

	if (soc9000_is_in(soc9000_fail_off, genpd->name))
		return -EBUSY;
	soc9000_switch("switch", genpd->name, 0, s->off_us);
	return 0;
}

/* The domain of the switch that the node of a device names. */
struct generic_pm_domain *soc9000_power_find(struct device *dev)
{
	struct generic_pm_domain *found = ERR_PTR(-EPROBE_DEFER);
	struct of_phandle_args args;
	int ret;

	ret = of_parse_phandle_with_args(dev->of_node, "power-domains",
					 "#power-domain-cells", 0, &args);
	if (ret)
		return ERR_PTR(ret);
	/* Set when the switch has probed, and its domains before that. */
	if (args.np == smp_load_acquire(&node))
		found = args.args[0] < COUNT ? domains[args.args[0]] :
			ERR_PTR(-EINVAL);
	of_node_put(args.np);
	return found;
}

static int power_probe(struct platform_device *pdev)
{
	struct device_node *np = pdev->dev.of_node;
	int ret;
	int i;

	for (i = 0; i < COUNT; i++) {
		struct power_switch *s = &switches[i];
		bool is_on = (layout[i].flags & GENPD_FLAG_ALWAYS_ON) ||
			soc9000_is_in(soc9000_left_on, layout[i].name);

		of_property_read_u32_index(np, "dm,on-us", i, &s->on_us);
		of_property_read_u32_index(np, "dm,off-us", i, &s->off_us);
		s->genpd.name = layout[i].name;
		s->genpd.flags = layout[i].flags;
		s->genpd.power_on = power_on;
		s->genpd.power_off = power_off;
		if (soc9000_pm == SOC9000_PM_STARTSTOP) {
			s->genpd.attach_dev = soc9000_device_attach;
			s->genpd.detach_dev = soc9000_device_detach;
			s->genpd.dev_ops.start = soc9000_device_start;
			s->genpd.dev_ops.stop = soc9000_device_stop;
		}
		ret = pm_genpd_init(&s->genpd, NULL, !is_on);
		if (ret)
			goto err_remove;
		domains[i] = &s->genpd;
		if (layout[i].parent < 0)
			continue;
		ret = pm_genpd_add_subdomain(domains[layout[i].parent],
					     &s->genpd);
		if (ret) {
			i++;
			goto err_remove;
		}
	}
	ret = of_genpd_add_provider_onecell(np, &provider);
	if (ret)
		goto err_remove;
	/* Whoever sees the node sees the domains. */
	smp_store_release(&node, np);
	return 0;

err_remove:
	while (i--) {
		if (layout[i].parent >= 0)
			pm_genpd_remove_subdomain(domains[layout[i].parent],
						  domains[i]);
		pm_genpd_remove(domains[i]);
	}
	return ret;
}

static const struct of_device_id power_ids[] = {
	{ .compatible = "vendor,soc-9000-power" },
	{ }
};

struct platform_driver soc9000_power_driver = {
	.probe	= power_probe,
	.driver	= {
		.name			= "soc9000-power",
		.of_match_table		= power_ids,
		.suppress_bind_attrs	= true,
	},
};
