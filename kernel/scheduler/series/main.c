// SPDX-License-Identifier: GPL-2.0
/*
 * When devices are run by readiness: pm.ready, and the threads before a cycle.
 */
#include <linux/init.h>
#include <linux/moduleparam.h>
#include <linux/notifier.h>
#include <linux/suspend.h>

#include "core.h"
#include "pool.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "pm."

static bool ready;
module_param(ready, bool, 0644);
MODULE_PARM_DESC(ready, "Suspend and resume devices when all that they wait for are done");

module_param_named(ready_conserve, ready_conserve, bool, 0644);
MODULE_PARM_DESC(ready_conserve, "Run synchronous devices as they become ready, not in list order");

module_param_named(ready_most_workers, ready_pool_most, uint, 0644);
MODULE_PARM_DESC(ready_most_workers, "Threads for asynchronous devices, at most");

static bool started;

/* Whether phases go by readiness; it changes between cycles only. */
bool ready_in_charge(void)
{
	return started && READ_ONCE(ready);
}

/* Before tasks are frozen. */
static int before_sleep(struct notifier_block *block, unsigned long event, void *data)
{
	if (ready_in_charge() &&
	    (event == PM_SUSPEND_PREPARE || event == PM_HIBERNATION_PREPARE ||
	     event == PM_RESTORE_PREPARE))
		ready_pool_warm();
	return NOTIFY_OK;
}

static struct notifier_block notifier = { .notifier_call = before_sleep };

static int __init ready_start(void)
{
	int ret = ready_init();

	if (ret)
		return ret;
	ret = register_pm_notifier(&notifier);
	if (ret)
		ready_exit();
	started = !ret;
	return ret;
}
late_initcall(ready_start);
