// SPDX-License-Identifier: GPL-2.0
/*
 * dormouse_scheduler: puts the scheduler of core.c in the place of the six
 * phases of drivers/base/power/main.c, by livepatch. What the kernel does around
 * the walk of devices is done here in the same order (main.c of 6.12 and 7.3).
 *
 * The functions that run one device stay the kernel's own. The address of
 * async_suspend() and its like is taken there, so a call through a pointer may
 * land on them where indirect branches are tracked (IBT). device_suspend() and
 * whatever else is not exported is called by static_call(), a direct call.
 */
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <linux/version.h>
#include <trace/events/power.h>

#include "core.h"
#include "host.h"
#include "pool.h"
#include "variants.h"

/* The order around the phases, and their lists, were read in these. */
#if !((LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0) && \
       LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)) || \
      (LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0) && \
       LINUX_VERSION_CODE < KERNEL_VERSION(7, 4, 0)))
#error "dormouse_scheduler knows kernels 6.12 and 7.3 only"
#endif

module_param_named(conserve, ready_conserve, bool, 0644);
MODULE_PARM_DESC(conserve, "run synchronous devices as they become ready, not in list order");
module_param_named(most_workers, ready_pool_most, uint, 0644);
MODULE_PARM_DESC(most_workers, "threads for asynchronous devices, at most");

static void nothing(void)
{
}

static void no_step(enum suspend_stat_step step)
{
}

static void no_time(ktime_t start, pm_message_t state, int error,
		    const char *info)
{
}

static unsigned long no_address(const char *name)
{
	return 0;
}

static void no_device(struct device *dev, pm_message_t state, bool async)
{
}

static int no_match(int (*fn)(void *data, unsigned long address),
		    const char *name, void *data)
{
	return 0;
}

DEFINE_STATIC_CALL(find_symbol, no_address);
DEFINE_STATIC_CALL(each_symbol, no_match);
DEFINE_STATIC_CALL(suspend_cpufreq, nothing);
DEFINE_STATIC_CALL(resume_cpufreq, nothing);
DEFINE_STATIC_CALL(suspend_devfreq, nothing);
DEFINE_STATIC_CALL(resume_devfreq, nothing);
DEFINE_STATIC_CALL(suspend_irqs, nothing);
DEFINE_STATIC_CALL(resume_irqs, nothing);
DEFINE_STATIC_CALL(arm_wake_irqs, nothing);
DEFINE_STATIC_CALL(disarm_wake_irqs, nothing);
DEFINE_STATIC_CALL(failed_step, no_step);
DEFINE_STATIC_CALL(show_time, no_time);

/* What runs one synchronous device: sealed, so never called by its address. */
#define RUN(name)							\
DEFINE_STATIC_CALL(name, no_device);					\
static void run_##name(struct device *dev, pm_message_t state, bool async) \
{									\
	static_call(name)(dev, state, async);				\
}

RUN(device_suspend)
RUN(device_suspend_late)
RUN(device_suspend_noirq)
RUN(device_resume_noirq)
RUN(device_resume_early)
RUN(device_resume)

static const ready_run_t run_sync[READY_PHASES] = {
	run_device_suspend, run_device_suspend_late, run_device_suspend_noirq,
	run_device_resume_noirq, run_device_resume_early, run_device_resume,
};

struct ready_host ready_host;

/* What else the kernel has and does not export. */
static struct {
	struct list_head *prepared, *suspended, *late_early, *noirq;
	pm_message_t *pm_transition;
	int *async_error;
	async_func_t run[READY_PHASES];
	/* Strings that the trace knows; one of its own would not be printed. */
	const char *mark[READY_PHASES];
} kernel;

static const char * const functions[READY_PHASES] = {
	"async_suspend", "async_suspend_late", "async_suspend_noirq",
	"async_resume_noirq", "async_resume_early", "async_resume",
};

static const char * const marks[READY_PHASES] = {
	"dpm_suspend", "dpm_suspend_late", "dpm_suspend_noirq",
	"dpm_resume_noirq", "dpm_resume_early", "dpm_resume",
};

/* As the kernel answers a failed way down (resume_event()). */
static pm_message_t way_back(pm_message_t state)
{
	switch (state.event) {
	case PM_EVENT_SUSPEND:
		return PMSG_RESUME;
	case PM_EVENT_FREEZE:
	case PM_EVENT_QUIESCE:
		return PMSG_RECOVER;
	case PM_EVENT_HIBERNATE:
		return PMSG_RESTORE;
	}
	return PMSG_ON;
}

static int run_phase(enum ready_phase phase, struct list_head *from,
		     struct list_head *to, pm_message_t state)
{
	const struct ready_step step = {
		.phase = phase, .from = from, .to = to,
		.run_async = kernel.run[phase], .run_sync = run_sync[phase],
	};

	*kernel.pm_transition = state;
	WRITE_ONCE(*kernel.async_error, 0);
	if (variants_walk())
		variants_run_phase(&step, state, kernel.async_error);
	else
		ready_run_phase(&step, state);
	return READ_ONCE(*kernel.async_error);
}

static void resume_noirq(pm_message_t state)
{
	ktime_t start = ktime_get();

	trace_suspend_resume(kernel.mark[READY_RESUME_NOIRQ], state.event, true);
	if (run_phase(READY_RESUME_NOIRQ, kernel.noirq, kernel.late_early,
		      state))
		static_call(failed_step)(SUSPEND_RESUME_NOIRQ);
	static_call(show_time)(start, state, 0, "noirq");
	trace_suspend_resume(kernel.mark[READY_RESUME_NOIRQ], state.event,
			     false);
	static_call(resume_irqs)();
	static_call(disarm_wake_irqs)();
}

static void resume_early(pm_message_t state)
{
	ktime_t start = ktime_get();

	trace_suspend_resume(kernel.mark[READY_EARLY], state.event, true);
	if (run_phase(READY_EARLY, kernel.late_early, kernel.suspended, state))
		static_call(failed_step)(SUSPEND_RESUME_EARLY);
	static_call(show_time)(start, state, 0, "early");
	trace_suspend_resume(kernel.mark[READY_EARLY], state.event, false);
}

static void resume(pm_message_t state)
{
	ktime_t start = ktime_get();

	trace_suspend_resume(kernel.mark[READY_RESUME], state.event, true);
	might_sleep();
	if (run_phase(READY_RESUME, kernel.suspended, kernel.prepared, state))
		static_call(failed_step)(SUSPEND_RESUME);
	static_call(show_time)(start, state, 0, NULL);
	ready_end_cycle();
	static_call(resume_cpufreq)();
	static_call(resume_devfreq)();
	trace_suspend_resume(kernel.mark[READY_RESUME], state.event, false);
}

static int suspend(pm_message_t state)
{
	ktime_t start = ktime_get();
	int error;

	trace_suspend_resume(kernel.mark[READY_SUSPEND], state.event, true);
	might_sleep();
	static_call(suspend_devfreq)();
	static_call(suspend_cpufreq)();
	error = run_phase(READY_SUSPEND, kernel.prepared, kernel.suspended,
			  state);
	if (error)
		static_call(failed_step)(SUSPEND_SUSPEND);
	static_call(show_time)(start, state, error, NULL);
	trace_suspend_resume(kernel.mark[READY_SUSPEND], state.event, false);
	return error;
}

static int suspend_late(pm_message_t state)
{
	ktime_t start = ktime_get();
	int error;

	trace_suspend_resume(kernel.mark[READY_LATE], state.event, true);
	wake_up_all_idle_cpus();
	error = run_phase(READY_LATE, kernel.suspended, kernel.late_early,
			  state);
	if (error) {
		static_call(failed_step)(SUSPEND_SUSPEND_LATE);
		resume_early(way_back(state));
	}
	static_call(show_time)(start, state, error, "late");
	trace_suspend_resume(kernel.mark[READY_LATE], state.event, false);
	return error;
}

static int suspend_noirq(pm_message_t state)
{
	ktime_t start;
	int error;

	static_call(arm_wake_irqs)();
	static_call(suspend_irqs)();
	start = ktime_get();
	trace_suspend_resume(kernel.mark[READY_NOIRQ], state.event, true);
	error = run_phase(READY_NOIRQ, kernel.late_early, kernel.noirq, state);
	if (error)
		static_call(failed_step)(SUSPEND_SUSPEND_NOIRQ);
	static_call(show_time)(start, state, error, "noirq");
	trace_suspend_resume(kernel.mark[READY_NOIRQ], state.event, false);
	if (error)
		resume_noirq(way_back(state));
	return error;
}

static struct klp_func patched[READY_PHASES + VARIANT_FUNCS + 1] = {
	{ .old_name = "dpm_suspend", .new_func = suspend },
	{ .old_name = "dpm_suspend_late", .new_func = suspend_late },
	{ .old_name = "dpm_suspend_noirq", .new_func = suspend_noirq },
	{ .old_name = "dpm_resume_noirq", .new_func = resume_noirq },
	{ .old_name = "dpm_resume_early", .new_func = resume_early },
	{ .old_name = "dpm_resume", .new_func = resume },
};

static struct klp_object objects[] = {
	{ .funcs = patched },
	{ }
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objects,
};

/* Symbols */

static int count(void *data, unsigned long address)
{
	++*(int *)data;
	return 0;
}

/* The address of @name; 0, and a word on why, if there is not exactly one. */
static unsigned long find(const char *name)
{
	int n = 0;

	static_call(each_symbol)(count, name, &n);
	if (n != 1) {
		pr_err("dormouse_scheduler: this kernel has %d symbols %s, not one\n",
		       n, name);
		return 0;
	}
	return static_call(find_symbol)(name);
}

static int find_kallsyms(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	unsigned long address;
	int ret = register_kprobe(&probe);

	if (ret) {
		pr_err("dormouse_scheduler: no kallsyms_lookup_name: %d\n", ret);
		return ret;
	}
	/* Behind the landing pad, where functions begin with one. */
	address = (unsigned long)probe.addr & ~15UL;
	unregister_kprobe(&probe);
	static_call_update(find_symbol, (typeof(&no_address))address);
	address = static_call(find_symbol)("kallsyms_on_each_match_symbol");
	if (!address)
		return -ENOENT;
	static_call_update(each_symbol, (typeof(&no_match))address);
	return 0;
}

#define FIND(to, name)							\
	do {								\
		unsigned long address_ = find(name);			\
									\
		if (!address_)						\
			return -ENOENT;					\
		(to) = (typeof(to))address_;				\
	} while (0)

#define FIND_CALL(call, name, like)					\
	do {								\
		unsigned long address_ = find(name);			\
									\
		if (!address_)						\
			return -ENOENT;					\
		static_call_update(call, (typeof(&(like)))address_);	\
	} while (0)

static int find_marks(void)
{
	const char **at, **end;
	int i;

	FIND(at, "__start___tracepoint_str");
	FIND(end, "__stop___tracepoint_str");
	for (; at < end; at++)
		for (i = 0; i < READY_PHASES; i++)
			if (!strcmp(*at, marks[i]))
				kernel.mark[i] = *at;
	for (i = 0; i < READY_PHASES; i++) {
		if (!kernel.mark[i]) {
			pr_err("dormouse_scheduler: no trace mark %s\n",
			       marks[i]);
			return -ENOENT;
		}
	}
	return 0;
}

static int find_symbols(void)
{
	int i, ret = find_kallsyms();

	if (ret)
		return ret;
	FIND(ready_host.list_mtx, "dpm_list_mtx");
	FIND(ready_host.new_devices, "dpm_list");
	FIND(ready_host.links_srcu, "device_links_srcu");
	FIND(ready_host.async_enabled, "pm_async_enabled");
	if (IS_ENABLED(CONFIG_PM_TRACE))
		FIND(ready_host.trace_enabled, "pm_trace_enabled");
	FIND(kernel.prepared, "dpm_prepared_list");
	FIND(kernel.suspended, "dpm_suspended_list");
	FIND(kernel.late_early, "dpm_late_early_list");
	FIND(kernel.noirq, "dpm_noirq_list");
	FIND(kernel.pm_transition, "pm_transition");
	FIND(kernel.async_error, "async_error");
	for (i = 0; i < READY_PHASES; i++)
		FIND(kernel.run[i], functions[i]);
	FIND_CALL(device_suspend, "device_suspend", no_device);
	FIND_CALL(device_suspend_late, "device_suspend_late", no_device);
	FIND_CALL(device_suspend_noirq, "device_suspend_noirq", no_device);
	FIND_CALL(device_resume_noirq, "device_resume_noirq", no_device);
	FIND_CALL(device_resume_early, "device_resume_early", no_device);
	FIND_CALL(device_resume, "device_resume", no_device);
	if (IS_ENABLED(CONFIG_CPU_FREQ)) {
		FIND_CALL(suspend_cpufreq, "cpufreq_suspend", nothing);
		FIND_CALL(resume_cpufreq, "cpufreq_resume", nothing);
	}
	if (IS_ENABLED(CONFIG_PM_DEVFREQ)) {
		FIND_CALL(suspend_devfreq, "devfreq_suspend", nothing);
		FIND_CALL(resume_devfreq, "devfreq_resume", nothing);
	}
	FIND_CALL(suspend_irqs, "suspend_device_irqs", nothing);
	FIND_CALL(resume_irqs, "resume_device_irqs", nothing);
	FIND_CALL(arm_wake_irqs, "device_wakeup_arm_wake_irqs", nothing);
	FIND_CALL(disarm_wake_irqs, "device_wakeup_disarm_wake_irqs", nothing);
	FIND_CALL(failed_step, "dpm_save_failed_step", no_step);
	FIND_CALL(show_time, "dpm_show_time", no_time);
	return find_marks();
}

/* Before tasks are frozen. */
static int prepare(struct notifier_block *block, unsigned long event, void *data)
{
	if (event == PM_SUSPEND_PREPARE || event == PM_HIBERNATION_PREPARE ||
	    event == PM_RESTORE_PREPARE)
		ready_pool_warm();
	return NOTIFY_OK;
}

static struct notifier_block notifier = { .notifier_call = prepare };

static int __init scheduler_init(void)
{
	int ret = find_symbols();

	if (ret)
		return ret;
	ret = variants_choose(&patched[READY_PHASES], find);
	if (ret)
		return ret;
	if (variants_patch_only())
		objects[0].funcs = &patched[READY_PHASES];
	ret = ready_init();
	if (ret)
		return ret;
	ret = ready_statistics_init();
	if (ret)
		goto no_statistics;
	ret = register_pm_notifier(&notifier);
	if (ret)
		goto no_notifier;
	ret = klp_enable_patch(&patch);
	if (ret)
		goto no_patch;
	return 0;

no_patch:
	unregister_pm_notifier(&notifier);
no_notifier:
	ready_statistics_exit();
no_statistics:
	ready_exit();
	return ret;
}

/* Livepatch holds the module until no task runs one of the new functions. */
static void __exit scheduler_exit(void)
{
	unregister_pm_notifier(&notifier);
	ready_statistics_exit();
	ready_exit();
}

module_init(scheduler_init);
module_exit(scheduler_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Device suspend and resume by readiness");
MODULE_INFO(livepatch, "Y");
