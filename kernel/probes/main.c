// SPDX-License-Identifier: GPL-2.0
/*
 * dormouse_probes: drivers for the devices of a board that is not there. The
 * device tree says which drivers there are, in which order they are registered,
 * what the driver of a device needs, and whether it makes devices of the nodes
 * below. They drive nothing: what is watched is when the kernel asks them.
 *
 * /dormouse-drivers has a node for each driver, with "match", the compatibles,
 * and "after", seconds that pass before it is registered.
 * A device's own node has "dormouse,needs", phandles of nodes whose devices (or
 * those above) have to be bound, and "dormouse,children".
 *
 * The kernel itself asks for power domains and pins before it asks a driver, so
 * providers of these give what does nothing ("dormouse,pins", #power-domain-cells).
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/err.h>
#include <linux/list.h>
#include <linux/mod_devicetable.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/of.h>
#include <linux/of_platform.h>
#include <linux/pinctrl/pinctrl.h>
#include <linux/platform_device.h>
#include <linux/pm_domain.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0)
#error "dormouse_probes knows Linux 6.1 to 7.3"
#endif

#define WHERE	"/dormouse-drivers"
#define NEEDS	"dormouse,needs"
#define BELOW	"dormouse,children"
#define PINS	"dormouse,pins"

struct probes_driver {
	struct platform_driver driver;
	char name[24];
	const struct of_device_id *ids;
	u32 after;
	bool there;
};

/* A power domain that switches nothing, for every index of its provider. */
struct probes_domain {
	struct list_head list;
	struct generic_pm_domain domain;
	struct generic_pm_domain *one;
	struct genpd_onecell_data data;
	struct device_node *np;
};

static struct probes_driver *drivers;
static unsigned int count;

static LIST_HEAD(domains);
static DEFINE_MUTEX(domains_lock);

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
#define PROBES_CONST	const
#else
#define PROBES_CONST
#endif

static struct generic_pm_domain *probes_xlate(PROBES_CONST struct of_phandle_args *args, void *data)
{
	return ((struct genpd_onecell_data *)data)->domains[0];
}

static int add_domain(struct device_node *np)
{
	static atomic_t number;
	struct probes_domain *d = kzalloc(sizeof(*d), GFP_KERNEL);
	int ret;

	if (!d)
		return -ENOMEM;
	d->domain.name = kasprintf(GFP_KERNEL, "dormouse-%d", atomic_inc_return(&number));
	ret = d->domain.name ? pm_genpd_init(&d->domain, NULL, false) : -ENOMEM;
	if (ret)
		goto free;
	d->one = &d->domain;
	d->data.domains = &d->one;
	d->data.num_domains = 1;
	d->data.xlate = probes_xlate;
	d->np = of_node_get(np);
	ret = of_genpd_add_provider_onecell(d->np, &d->data);
	if (ret)
		goto remove;
	mutex_lock(&domains_lock);
	list_add(&d->list, &domains);
	mutex_unlock(&domains_lock);
	return 0;
remove:
	of_node_put(d->np);
	pm_genpd_remove(&d->domain);
free:
	kfree(d->domain.name);
	kfree(d);
	return ret;
}

/* No driver is left, so no device is in a domain. */
static void clear_domains(void)
{
	struct probes_domain *d, *next;

	list_for_each_entry_safe(d, next, &domains, list) {
		of_genpd_del_provider(d->np);
		of_node_put(d->np);
		if (WARN_ON(pm_genpd_remove(&d->domain)))
			continue;
		kfree(d->domain.name);
		kfree(d);
	}
}

static int no_groups(struct pinctrl_dev *pins)
{
	return 0;
}

static const char *no_name(struct pinctrl_dev *pins, unsigned int group)
{
	return NULL;
}

static int no_maps(struct pinctrl_dev *pins, struct device_node *np,
		   struct pinctrl_map **maps, unsigned int *count)
{
	*maps = NULL;
	*count = 0;
	return 0;
}

static void free_no_maps(struct pinctrl_dev *pins, struct pinctrl_map *maps,
			 unsigned int count)
{
}

static const struct pinctrl_ops pins_ops = {
	.get_groups_count	= no_groups,
	.get_group_name		= no_name,
	.dt_node_to_map		= no_maps,
	.dt_free_map		= free_no_maps,
};

static int add_pins(struct device *dev)
{
	struct pinctrl_desc *desc = devm_kzalloc(dev, sizeof(*desc), GFP_KERNEL);

	if (!desc)
		return -ENOMEM;
	desc->name = dev_name(dev);
	desc->pctlops = &pins_ops;
	desc->owner = THIS_MODULE;
	return PTR_ERR_OR_ZERO(devm_pinctrl_register(dev, desc, NULL));
}

/* Whether @above is @np or a node above it. */
static bool is_above(const struct device_node *above, const struct device_node *np)
{
	for (; np; np = np->parent) {
		if (np == above)
			return true;
	}
	return false;
}

/* Whether a device is bound of @need or of the nearest node above that has one. */
static bool is_ready(struct device_node *need, const struct device_node *of)
{
	struct device_node *np;
	struct platform_device *pdev = NULL;
	bool ready = true;

	for (np = of_node_get(need); np; np = of_get_next_parent(np)) {
		pdev = of_find_device_by_node(np);
		if (pdev)
			break;
	}
	/* A device that has this one below it is not waited for. */
	if (pdev && !is_above(np, of))
		ready = device_is_bound(&pdev->dev);
	if (pdev)
		put_device(&pdev->dev);
	of_node_put(np);
	return ready;
}

static void depopulate(void *dev)
{
	of_platform_depopulate(dev);
}

static int probes_probe(struct platform_device *pdev)
{
	struct device *dev = &pdev->dev;
	struct device_node *np = dev->of_node;
	int i, ret, needs = of_property_count_u32_elems(np, NEEDS);

	for (i = 0; i < needs; i++) {
		struct device_node *need;
		bool ready;
		u32 handle;

		ret = of_property_read_u32_index(np, NEEDS, i, &handle);
		if (ret)
			return ret;
		need = of_find_node_by_phandle(handle);
		if (!need)
			return -ENOENT;
		ready = is_ready(need, np);
		of_node_put(need);
		if (!ready)
			return -EPROBE_DEFER;
	}
	if (of_property_read_bool(np, PINS)) {
		ret = add_pins(dev);
		if (ret)
			return ret;
	}
	if (of_property_read_bool(np, "#power-domain-cells")) {
		ret = add_domain(np);
		if (ret)
			return ret;
	}
	if (!of_property_read_bool(np, BELOW))
		return 0;
	ret = of_platform_default_populate(np, NULL, dev);
	if (ret)
		return ret;
	return devm_add_action_or_reset(dev, depopulate, dev);
}

static int prepare(struct probes_driver *d, struct device_node *np, unsigned int number)
{
	int i, n = of_property_count_strings(np, "match");
	struct of_device_id *const ids = n > 0 ? kcalloc(n + 1, sizeof(*ids), GFP_KERNEL) : NULL;

	if (n < 1)
		return -EINVAL;
	if (!ids)
		return -ENOMEM;
	d->ids = ids;
	for (i = 0; i < n; i++) {
		const char *text;
		int ret = of_property_read_string_index(np, "match", i, &text);

		if (ret)
			return ret;
		if (strscpy(ids[i].compatible, text, sizeof(ids[i].compatible)) < 0)
			return -E2BIG;
	}
	if (of_property_read_u32(np, "after", &d->after))
		d->after = 0;
	snprintf(d->name, sizeof(d->name), "dormouse-%u", number);
	d->driver.probe = probes_probe;
	d->driver.driver.name = d->name;
	d->driver.driver.of_match_table = d->ids;
	d->driver.driver.suppress_bind_attrs = true;
	return 0;
}

static void clear(void)
{
	while (count--) {
		if (drivers[count].there)
			platform_driver_unregister(&drivers[count].driver);
		kfree(drivers[count].ids);
	}
	clear_domains();
	kfree(drivers);
}

static int __init probes_init(void)
{
	struct device_node *all, *np;
	unsigned int i;
	int ret = 0;

	all = of_find_node_by_path(WHERE);
	if (!all)
		return -ENODEV;
	drivers = kcalloc(of_get_child_count(all), sizeof(*drivers), GFP_KERNEL);
	if (!drivers) {
		of_node_put(all);
		return -ENOMEM;
	}
	for_each_child_of_node(all, np) {
		count++;
		ret = prepare(&drivers[count - 1], np, count - 1);
		if (ret) {
			pr_err("%pOF is no driver: %pe\n", np, ERR_PTR(ret));
			of_node_put(np);
			break;
		}
	}
	of_node_put(all);
	for (i = 0; !ret && i < count; i++) {
		if (drivers[i].after)
			ssleep(drivers[i].after);
		ret = platform_driver_register(&drivers[i].driver);
		drivers[i].there = !ret;
	}
	if (ret) {
		clear();
		return ret;
	}
	/* What was put off is tried until nothing comes of it. */
	wait_for_device_probe();
	return 0;
}

static void __exit probes_exit(void)
{
	clear();
}

module_init(probes_init);
module_exit(probes_exit);

MODULE_AUTHOR("Dormouse Authors");
MODULE_DESCRIPTION("Drivers that drive nothing, in an order that is told");
MODULE_LICENSE("GPL");
