// SPDX-License-Identifier: GPL-2.0
/*
 * dormouse_idle: idle states on demand, so that the kernel's own governors
 * decide on CPUs that have none. State 0 polls; each other state halts the CPU
 * and then keeps it busy for its exit latency, drawn anew each time.
 *
 * An emulated CPU wakes by running the handler of its interrupt at once, so the
 * exit latency comes after the handler, and before the task that it woke.
 */
#include <linux/cpuidle.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/sched/idle.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <linux/version.h>

#include "inputs.h"

/* What enter functions may and must do has changed before and will again. */
#define IS_6_1	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0) && \
		 LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0))
#if (LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0) && !IS_6_1) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0)
#error "dormouse_idle knows kernels 6.1 and 6.12 to 7.3 only"
#endif

#define MAX_US	1000000

static char *states = "2:4,100:400,800:3000";
module_param(states, charp, 0444);
MODULE_PARM_DESC(states, "LATENCY:RESIDENCY,... in microseconds, after polling");

static unsigned int jitter;
module_param(jitter, uint, 0444);
MODULE_PARM_DESC(jitter, "exit latencies vary by so many percent up and down");

static unsigned long seed = 1;
module_param(seed, ulong, 0444);
MODULE_PARM_DESC(seed, "of the exit latencies");

static unsigned int s2idle_ms;
module_param(s2idle_ms, uint, 0444);
MODULE_PARM_DESC(s2idle_ms, "the deepest state is fit for s2idle, and ends it after so many ms; 0: none is");

static DEFINE_PER_CPU(struct rnd_state, random);

/*
 * No owner: a driver with one would be held for as long as its devices are
 * registered, and could never be unloaded. idle_exit() takes care instead.
 */
static struct cpuidle_driver driver = {
	.name = "dormouse_idle",
};

/* The exit latency of this time. */
static u64 draw(const struct cpuidle_state *state)
{
	u64 most = div_u64(state->exit_latency_ns * jitter, 100);
	u32 r = prandom_u32_state(this_cpu_ptr(&random));

	return state->exit_latency_ns - most + mul_u64_u32_shr(2 * most, r, 32);
}

static int enter(struct cpuidle_device *dev, struct cpuidle_driver *drv,
		 int index)
{
	u64 end;

	if (current_clr_polling_and_test())
		return index;
#if IS_6_1
	/* The caller tells RCU (cpuidle_enter_state), and halting ends enabled. */
	raw_safe_halt();
	raw_local_irq_disable();
#else
	ct_cpuidle_enter();
	arch_cpu_idle();
	ct_cpuidle_exit();
#endif
	end = ktime_get_mono_fast_ns() + draw(&drv->states[index]);
	while (ktime_get_mono_fast_ns() < end)
		cpu_relax();
	return index;
}

/*
 * With interrupts off and time stopped (tick_freeze()) there is nobody to end
 * the sleep but the CPU itself, and no clock to ask but the loop of mdelay().
 * One CPU only: several would take each other's turns in an emulator.
 */
static int enter_s2idle(struct cpuidle_device *dev,
			struct cpuidle_driver *drv, int index)
{
	mdelay(s2idle_ms);
	pm_system_wakeup();
	return index;
}

static int add_state(char *text)
{
	struct cpuidle_state *s = &driver.states[driver.state_count];
	char *latency = strsep(&text, ":");
	unsigned int lat, res;

	if (driver.state_count == CPUIDLE_STATE_MAX) {
		pr_err("dormouse_idle: more than %d states\n",
		       CPUIDLE_STATE_MAX - 1);
		return -EINVAL;
	}
	if (!text || kstrtouint(latency, 10, &lat) ||
	    kstrtouint(text, 10, &res) || !lat || lat > MAX_US ||
	    res > MAX_US) {
		pr_err("dormouse_idle: state %d is not LATENCY:RESIDENCY, 1 to %d us\n",
		       driver.state_count, MAX_US);
		return -EINVAL;
	}
	/* Governors take a state with a larger number for a deeper one. */
	if (lat < s[-1].exit_latency || res < s[-1].target_residency) {
		pr_err("dormouse_idle: state %d is shallower than the one before it\n",
		       driver.state_count);
		return -EINVAL;
	}
	snprintf(s->name, sizeof(s->name), "D%d", driver.state_count);
	snprintf(s->desc, sizeof(s->desc), "%u us", lat);
	s->exit_latency = lat;
	s->target_residency = res;
	/* RCU may not look while a CPU halts, but must while it exits. */
	s->flags = IS_6_1 ? 0 : CPUIDLE_FLAG_RCU_IDLE;
	s->enter = enter;
	driver.state_count++;
	return 0;
}

static int nothing(void *unused)
{
	return 0;
}

/*
 * Returns once no CPU is in enter(): one may still be on its way out when its
 * device is gone, also where some devices were registered and then one was
 * refused. A CPU that runs another task has left it.
 */
static void leave(void)
{
	stop_machine(nothing, NULL, cpu_online_mask);
}

static int __init idle_init(void)
{
	char *copy, *rest, *word;
	int ret = 0, cpu;

	if (jitter > 100) {
		pr_err("dormouse_idle: jitter is at most 100 percent\n");
		return -EINVAL;
	}
	for_each_possible_cpu(cpu)
		prandom_seed_state(per_cpu_ptr(&random, cpu),
				   seed * num_possible_cpus() + cpu);
	cpuidle_poll_state_init(&driver);
	driver.state_count = 1;
	copy = kstrdup(states, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	rest = copy;
	while (!ret && (word = strsep(&rest, ",")))
		ret = add_state(word);
	kfree(copy);
	if (ret)
		return ret;
	if (s2idle_ms) {
		if (s2idle_ms > 60000 || num_online_cpus() > 1) {
			pr_err("dormouse_idle: s2idle_ms is at most 60000, on one CPU\n");
			return -EINVAL;
		}
		driver.states[driver.state_count - 1].enter_s2idle = enter_s2idle;
	}
	ret = inputs_begin();
	if (ret)
		return ret;
	ret = cpuidle_register(&driver, NULL);
	if (ret) {
		leave();
		inputs_end();
	}
	return ret;
}

static void __exit idle_exit(void)
{
	cpuidle_unregister(&driver);
	leave();
	inputs_end();
}

module_init(idle_init);
module_exit(idle_exit);

MODULE_DESCRIPTION("Idle states on demand, to watch the kernel's governors");
MODULE_LICENSE("GPL");
