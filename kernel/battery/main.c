// SPDX-License-Identifier: GPL-2.0
/*
 * dormouse_battery: a battery and a charger that say what they are told to, and
 * the line of the clock armed as one that wakes. What is left changes while the
 * machine sleeps: between its last task and its first one.
 */
#include <linux/err.h>
#include <linux/interrupt.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/power_supply.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0)
#error "dormouse_battery knows Linux 6.1 to 7.3"
#endif

static char *gauge = "energy";
module_param(gauge, charp, 0444);
MODULE_PARM_DESC(gauge, "energy, charge or capacity");

static int now = 40000000;
module_param(now, int, 0644);
MODULE_PARM_DESC(now, "what is left");

static int full = 50000000;
module_param(full, int, 0644);
MODULE_PARM_DESC(full, "what is left when full");

static int step = 10000;
module_param(step, int, 0644);
MODULE_PARM_DESC(step, "the gauge shows the multiples of it");

static int asleep = -1;
module_param(asleep, int, 0644);
MODULE_PARM_DESC(asleep, "what is left when it has slept; -1: the same");

static int online;
module_param(online, int, 0644);
MODULE_PARM_DESC(online, "a charger is there");

static int line = -1;
module_param(line, int, 0444);
MODULE_PARM_DESC(line, "the line of the clock, which is to wake; -1: none");

static struct power_supply *battery, *charger;

static int battery_get(struct power_supply *psy,
		       enum power_supply_property psp,
		       union power_supply_propval *val)
{
	int by = max(READ_ONCE(step), 1);
	int left = READ_ONCE(now);

	switch (psp) {
	case POWER_SUPPLY_PROP_ENERGY_NOW:
	case POWER_SUPPLY_PROP_CHARGE_NOW:
	case POWER_SUPPLY_PROP_CAPACITY:
		val->intval = left - left % by;
		return 0;
	case POWER_SUPPLY_PROP_ENERGY_FULL:
	case POWER_SUPPLY_PROP_CHARGE_FULL:
		val->intval = READ_ONCE(full);
		return 0;
	case POWER_SUPPLY_PROP_PRESENT:
		val->intval = 1;
		return 0;
	default:
		return -EINVAL;
	}
}

static int charger_get(struct power_supply *psy,
		       enum power_supply_property psp,
		       union power_supply_propval *val)
{
	if (psp != POWER_SUPPLY_PROP_ONLINE)
		return -EINVAL;
	val->intval = !!READ_ONCE(online);
	return 0;
}

static const enum power_supply_property of_energy[] = {
	POWER_SUPPLY_PROP_PRESENT,
	POWER_SUPPLY_PROP_ENERGY_NOW,
	POWER_SUPPLY_PROP_ENERGY_FULL,
};

static const enum power_supply_property of_charge[] = {
	POWER_SUPPLY_PROP_PRESENT,
	POWER_SUPPLY_PROP_CHARGE_NOW,
	POWER_SUPPLY_PROP_CHARGE_FULL,
};

static const enum power_supply_property of_capacity[] = {
	POWER_SUPPLY_PROP_PRESENT,
	POWER_SUPPLY_PROP_CAPACITY,
};

static const enum power_supply_property of_charger[] = {
	POWER_SUPPLY_PROP_ONLINE,
};

static struct power_supply_desc battery_desc = {
	.name		= "BAT0",
	.type		= POWER_SUPPLY_TYPE_BATTERY,
	.get_property	= battery_get,
};

static const struct power_supply_desc charger_desc = {
	.name		= "AC",
	.type		= POWER_SUPPLY_TYPE_MAINS,
	.properties	= of_charger,
	.num_properties	= ARRAY_SIZE(of_charger),
	.get_property	= charger_get,
};

static int slept(struct notifier_block *nb, unsigned long event, void *unused)
{
	if (event == PM_POST_SUSPEND && READ_ONCE(asleep) >= 0) {
		WRITE_ONCE(now, asleep);
		WRITE_ONCE(asleep, -1);
	}
	return NOTIFY_DONE;
}

static struct notifier_block notifier = {
	.notifier_call = slept,
};

static int __init battery_init(void)
{
	int error;

	if (!strcmp(gauge, "energy")) {
		battery_desc.properties = of_energy;
		battery_desc.num_properties = ARRAY_SIZE(of_energy);
	} else if (!strcmp(gauge, "charge")) {
		battery_desc.properties = of_charge;
		battery_desc.num_properties = ARRAY_SIZE(of_charge);
	} else if (!strcmp(gauge, "capacity")) {
		battery_desc.properties = of_capacity;
		battery_desc.num_properties = ARRAY_SIZE(of_capacity);
	} else {
		return -EINVAL;
	}
	battery = power_supply_register(NULL, &battery_desc, NULL);
	if (IS_ERR(battery))
		return PTR_ERR(battery);
	charger = power_supply_register(NULL, &charger_desc, NULL);
	if (IS_ERR(charger)) {
		error = PTR_ERR(charger);
		goto no_charger;
	}
	error = register_pm_notifier(&notifier);
	if (error)
		goto no_notifier;
	error = line < 0 ? 0 : irq_set_irq_wake(line, 1);
	if (error)
		goto no_line;
	return 0;

no_line:
	unregister_pm_notifier(&notifier);
no_notifier:
	power_supply_unregister(charger);
no_charger:
	power_supply_unregister(battery);
	return error;
}

static void __exit battery_exit(void)
{
	if (line >= 0)
		irq_set_irq_wake(line, 0);
	unregister_pm_notifier(&notifier);
	power_supply_unregister(charger);
	power_supply_unregister(battery);
}

module_init(battery_init);
module_exit(battery_exit);

MODULE_AUTHOR("Dormouse Authors");
MODULE_DESCRIPTION("A battery that says what it is told to");
MODULE_LICENSE("GPL");
