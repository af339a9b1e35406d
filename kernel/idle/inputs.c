// SPDX-License-Identifier: GPL-2.0
/*
 * What idle governors are told and decide, as events of the group `idle`, on
 * kernels whose own probes cannot tell: what a function writes through a pointer
 * is known when it returns, and the pointer only while it is called.
 */
#include "inputs.h"

#if NEEDS_INPUTS

#include <linux/cpuidle.h>
#include <linux/kprobes.h>
#include <linux/module.h>

#define CREATE_TRACE_POINTS
#include "inputs_trace.h"

/* The pointer that a function was given and writes through. */
struct kept {
	void *out;
};

/* One call on each CPU at a time, and a nested one from an interrupt. */
#define CALLS		(4 * NR_CPUS < 256 ? 4 * NR_CPUS : 256)

static struct kept *kept(struct kretprobe_instance *ri)
{
	return (struct kept *)ri->data;
}

static int keep_first(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kept(ri)->out = (void *)regs_get_kernel_argument(regs, 0);
	return 0;
}

static int sleep_length(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	trace_sl(get_kretprobe_retaddr(ri), regs_return_value(regs),
		 *(s64 *)kept(ri)->out);
	return 0;
}

static int select_begins(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	kept(ri)->out = (void *)regs_get_kernel_argument(regs, 2);
	trace_ent(instruction_pointer(regs));
	return 0;
}

static int select_ends(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	trace_sel((int)regs_return_value(regs), *(bool *)kept(ri)->out);
	return 0;
}

static int latency_req(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	trace_lr(get_kretprobe_retaddr(ri), regs_return_value(regs));
	return 0;
}

static int tick_stopped(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	trace_ts(get_kretprobe_retaddr(ri), (u8)regs_return_value(regs));
	return 0;
}

static int got_tick(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	trace_got(get_kretprobe_retaddr(ri), (u8)regs_return_value(regs));
	return 0;
}

static int iowait(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	trace_io(get_kretprobe_retaddr(ri), (u32)regs_return_value(regs));
	return 0;
}

static int reflect(struct kprobe *p, struct pt_regs *regs)
{
	struct cpuidle_device *dev = (void *)regs_get_kernel_argument(regs, 0);

	trace_refl((int)regs_get_kernel_argument(regs, 1),
		   dev->last_residency_ns, dev->poll_time_limit);
	return 0;
}

static int enable(struct kprobe *p, struct pt_regs *regs)
{
	trace_en(instruction_pointer(regs));
	return 0;
}

#define RETURN_OF(function, then, ...) {	\
	.kp.symbol_name = function,		\
	.handler = then,			\
	.maxactive = CALLS,			\
	.data_size = sizeof(struct kept),	\
	__VA_ARGS__				\
}

/* Governors that a kernel has not built are left out. */
static struct kretprobe returns[] = {
	RETURN_OF("tick_nohz_get_sleep_length", sleep_length,
		  .entry_handler = keep_first),
	RETURN_OF("cpuidle_governor_latency_req", latency_req),
	RETURN_OF("tick_nohz_tick_stopped", tick_stopped),
	RETURN_OF("tick_nohz_idle_got_tick", got_tick),
	RETURN_OF("nr_iowait_cpu", iowait),
	RETURN_OF("menu_select", select_ends, .entry_handler = select_begins),
	RETURN_OF("teo_select", select_ends, .entry_handler = select_begins),
	RETURN_OF("ladder_select_state", select_ends,
		  .entry_handler = select_begins),
};

static struct kprobe calls[] = {
	{ .symbol_name = "cpuidle_reflect", .pre_handler = reflect },
	{ .symbol_name = "menu_enable_device", .pre_handler = enable },
	{ .symbol_name = "teo_enable_device", .pre_handler = enable },
	{ .symbol_name = "ladder_enable_device", .pre_handler = enable },
};

static bool made_returns[ARRAY_SIZE(returns)];
static bool made_calls[ARRAY_SIZE(calls)];

void inputs_end(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(returns); i++) {
		if (!made_returns[i])
			continue;
		unregister_kretprobe(&returns[i]);
		if (returns[i].nmissed)
			pr_err("dormouse_idle: %d calls of %s were missed\n",
			       returns[i].nmissed, returns[i].kp.symbol_name);
		made_returns[i] = false;
	}
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		if (made_calls[i])
			unregister_kprobe(&calls[i]);
		made_calls[i] = false;
	}
}

int inputs_begin(void)
{
	int i, ret = 0;

	for (i = 0; !ret && i < ARRAY_SIZE(returns); i++) {
		ret = register_kretprobe(&returns[i]);
		made_returns[i] = !ret;
		if (ret == -ENOENT)
			ret = 0;
	}
	for (i = 0; !ret && i < ARRAY_SIZE(calls); i++) {
		ret = register_kprobe(&calls[i]);
		made_calls[i] = !ret;
		if (ret == -ENOENT)
			ret = 0;
	}
	if (ret)
		inputs_end();
	return ret;
}

#endif
