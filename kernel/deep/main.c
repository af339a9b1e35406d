// SPDX-License-Identifier: GPL-2.0
/*
 * dormouse_deep: suspend to memory for a guest whose firmware has none, as that
 * of QEMU's arm64 machine. The kernel goes all the way down: devices, CPUs,
 * system core. There the machine waits with interrupts off for as long as
 * sleep_ms says, and comes back. The guest loads it only where nothing else
 * offers "deep".
 *
 * Operations for sleep cannot be taken back safely: who reads
 * /sys/power/mem_sleep keeps what it once offered. So this stays loaded.
 */
#include <linux/delay.h>
#include <linux/minmax.h>
#include <linux/module.h>
#include <linux/suspend.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0)
#error "dormouse_deep knows Linux 6.1 to 7.3"
#endif

/* Longer would look like a hang. */
#define LONGEST_MS	60000U

static unsigned int sleep_ms = 50;
module_param(sleep_ms, uint, 0644);
MODULE_PARM_DESC(sleep_ms, "how long the machine sleeps");

static int deep_enter(suspend_state_t state)
{
	mdelay(min(READ_ONCE(sleep_ms), LONGEST_MS));
	return 0;
}

static const struct platform_suspend_ops deep_ops = {
	.valid	= suspend_valid_only_mem,
	.enter	= deep_enter,
};

static int __init deep_init(void)
{
	suspend_set_ops(&deep_ops);
	return 0;
}

module_init(deep_init);

MODULE_AUTHOR("Dormouse Authors");
MODULE_DESCRIPTION("Suspend to memory for a guest whose firmware has none");
MODULE_LICENSE("GPL");
