// SPDX-License-Identifier: GPL-2.0
/*
 * The drivers of SoC-9000, a made-up system on a chip, as an example of a
 * driver on the SoC's own node that takes power management away from the
 * drivers of its devices.
 *
 * Start reading in soc.c, then domain.c: they are what this is about. Before
 * and after are one parameter, "pm"; consumer.c shows what a driver is spared.
 *
 * There is no hardware. A part that is switched waits as long as the device
 * tree says, and every transition is an event, soc9000:soc9000_transition.
 */
#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/string.h>
#include "soc9000.h"

#define CREATE_TRACE_POINTS
#include "soc9000_trace.h"

enum soc9000_pm soc9000_pm = SOC9000_PM_DOMAINS;

static char *pm = "domains";
module_param(pm, charp, 0444);
MODULE_PARM_DESC(pm, "who switches what devices need: drivers, domains or startstop");

static char *order = "suppliers";
module_param(order, charp, 0444);
MODULE_PARM_DESC(order, "drivers that are registered first: suppliers or consumers");

char *soc9000_busy = "mmc,uart";
module_param_named(busy, soc9000_busy, charp, 0444);
MODULE_PARM_DESC(busy, "devices that stay in use once they are bound");

static char *never = "";
module_param(never, charp, 0444);
MODULE_PARM_DESC(never, "drivers that are not registered, as if a module were missing");

char *soc9000_fail_off = "";
module_param_named(fail_off, soc9000_fail_off, charp, 0444);
MODULE_PARM_DESC(fail_off, "power switches that cannot be switched off");

char *soc9000_left_on = "";
module_param_named(left_on, soc9000_left_on, charp, 0444);
MODULE_PARM_DESC(left_on, "power switches that the boot loader left on, each with its parent");

char *soc9000_defer = "";
module_param_named(defer, soc9000_defer, charp, 0444);
MODULE_PARM_DESC(defer, "devices whose probe is put off three times");

void soc9000_begin(const char *kind, const char *name, int state)
{
	trace_soc9000_transition(kind, name, state, true);
}

void soc9000_end(const char *kind, const char *name, int state)
{
	trace_soc9000_transition(kind, name, state, false);
}

/* Sleeps exactly so long: a timer with slack would be merged with others. */
void soc9000_wait(unsigned int us)
{
	ktime_t end = ktime_add_us(ktime_get(), us);

	if (!us)
		return;
	do {
		set_current_state(TASK_UNINTERRUPTIBLE);
	} while (schedule_hrtimeout(&end, HRTIMER_MODE_ABS));
}

void soc9000_switch(const char *kind, const char *name, int state,
		    unsigned int us)
{
	soc9000_begin(kind, name, state);
	soc9000_wait(us);
	soc9000_end(kind, name, state);
}

/* Whether @name is a word of @list, whose words are separated by commas. */
bool soc9000_is_in(const char *list, const char *name)
{
	size_t len = strlen(name);

	while (*list) {
		size_t word = strcspn(list, ",");

		if (word == len && !strncmp(list, name, len))
			return true;
		list += word;
		list += *list == ',';
	}
	return false;
}

/*
 * The driver of the SoC comes first, so that all devices exist; the others
 * come in an order in which each finds what it needs, or the other way round.
 * A driver that cannot be registered is only told: those before it may be in
 * use, and stay as the module does.
 */
static void register_drivers(void)
{
	struct platform_driver *drivers[5 + SOC9000_CONSUMERS] = {
		&soc9000_supply_driver,
		&soc9000_pll_driver,
		&soc9000_clk_driver,
		&soc9000_reset_driver,
		&soc9000_power_driver,
	};
	bool backwards = !strcmp(order, "consumers");
	unsigned int count = 5;
	unsigned int i;
	int ret;

	count += soc9000_consumers_prepare(drivers + count);
	soc9000_begin("soc", "drivers", 1);
	ret = platform_driver_register(&soc9000_soc_driver);
	if (ret)
		pr_err("soc9000: no driver of the SoC: %d\n", ret);
	for (i = 0; i < count; i++) {
		struct platform_driver *drv;

		drv = drivers[backwards ? count - 1 - i : i];
		if (soc9000_is_in(never, drv->driver.name + strlen("soc9000-")))
			continue;
		ret = platform_driver_register(drv);
		if (ret)
			pr_err("soc9000: no driver %s: %d\n", drv->driver.name,
			       ret);
	}
	soc9000_end("soc", "drivers", 1);
}

static bool start = true;
static atomic_t started = ATOMIC_INIT(1);

static int start_set(const char *val, const struct kernel_param *kp)
{
	int ret = param_set_bool(val, kp);

	if (!ret && start && !atomic_xchg(&started, 1))
		register_drivers();
	return ret;
}

static const struct kernel_param_ops start_ops = {
	.set	= start_set,
	.get	= param_get_bool,
};

module_param_cb(start, &start_ops, &start, 0644);
MODULE_PARM_DESC(start, "register the drivers now; with 0 later, by writing 1");

static int __init soc9000_init(void)
{
	if (!strcmp(pm, "drivers"))
		soc9000_pm = SOC9000_PM_DRIVERS;
	else if (!strcmp(pm, "domains"))
		soc9000_pm = SOC9000_PM_DOMAINS;
	else if (!strcmp(pm, "startstop"))
		soc9000_pm = SOC9000_PM_STARTSTOP;
	else
		return -EINVAL;
	if (strcmp(order, "suppliers") && strcmp(order, "consumers"))
		return -EINVAL;
	soc9000_sleep_init();
	if (start)
		register_drivers();
	else
		atomic_set(&started, 0);
	return 0;
}

module_init(soc9000_init);

/*
 * There is no module_exit(), so the module cannot be unloaded. The kernel
 * keeps the pointer that suspend_set_ops() was given, and has no way to tell
 * whether a sleep uses it at this moment; neither can clocks and power domains
 * be taken from devices that run.
 */
MODULE_DESCRIPTION("SoC-9000: a SoC PM driver as an example");
MODULE_LICENSE("GPL");
