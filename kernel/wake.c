// SPDX-License-Identifier: GPL-2.0
/*
 * Ends suspend-to-idle a given time after it began, and undoes a hibernation
 * when every device is ready for power-off: the kernel then rolls it back, and
 * its trace survives. A wake-up that comes from inside happens at the same
 * virtual moment in every run; one that the host sends does not.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/pm.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <linux/tracepoint.h>
#include <linux/version.h>
#include <trace/events/power.h>

#include "board.h"

/*
 * Nanoseconds of suspend-to-idle; 0 leaves the wake-up to others. Any other
 * value also undoes hibernations.
 */
u64 board_wake_ns;

static struct hrtimer timer;

static enum hrtimer_restart wake(struct hrtimer *t)
{
	pm_system_wakeup();
	return HRTIMER_NORESTART;
}

static void on_suspend_resume(void *unused, const char *action, int val,
			      bool start)
{
	u64 ns = READ_ONCE(board_wake_ns);

	if (ns && start && val == (__force int)PM_SUSPEND_TO_IDLE &&
	    !strcmp(action, "machine_suspend"))
		hrtimer_start(&timer, ns_to_ktime(ns), HRTIMER_MODE_REL);
	/* hibernation_platform_enter() asks once more after this phase. */
	if (ns && !start && val == PM_EVENT_HIBERNATE &&
	    !strcmp(action, "dpm_suspend_noirq"))
		pm_system_wakeup();
}

int board_wake_init(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, wake, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer.function = wake;
#endif
	return register_trace_suspend_resume(on_suspend_resume, NULL);
}

void board_wake_exit(void)
{
	unregister_trace_suspend_resume(on_suspend_resume, NULL);
	tracepoint_synchronize_unregister();
	hrtimer_cancel(&timer);
}
