// SPDX-License-Identifier: GPL-2.0
/*
 * What the chip does to sleep: nothing, for as long as a parameter says. But
 * the kernel now goes all the way down (kernel/power/suspend.c): without such
 * operations a machine has no "deep" in /sys/power/mem_sleep.
 *
 * There is no way to take them back: see the end of main.c.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/suspend.h>
#include "soc9000.h"

static unsigned int sleep_ms = 50;
module_param(sleep_ms, uint, 0644);
MODULE_PARM_DESC(sleep_ms, "how long the chip sleeps");

static void step(const char *name)
{
	soc9000_switch("sleep", name, 0, 0);
}

static int sleep_begin(suspend_state_t state)
{
	step("begin");
	return 0;
}

static int sleep_prepare(void)
{
	step("prepare");
	return 0;
}

static int sleep_prepare_late(void)
{
	step("prepare_late");
	return 0;
}

/* Interrupts are off, one CPU is left and timekeeping stands still. */
static int sleep_enter(suspend_state_t state)
{
	soc9000_begin("sleep", "enter", state);
	mdelay(sleep_ms);
	soc9000_end("sleep", "enter", state);
	return 0;
}

static void sleep_wake(void)
{
	step("wake");
}

static void sleep_finish(void)
{
	step("finish");
}

static void sleep_end(void)
{
	step("end");
}

static void sleep_recover(void)
{
	step("recover");
}

static const struct platform_suspend_ops sleep_ops = {
	.valid		= suspend_valid_only_mem,
	.begin		= sleep_begin,
	.prepare	= sleep_prepare,
	.prepare_late	= sleep_prepare_late,
	.enter		= sleep_enter,
	.wake		= sleep_wake,
	.finish		= sleep_finish,
	.end		= sleep_end,
	.recover	= sleep_recover,
};

void soc9000_sleep_init(void)
{
	suspend_set_ops(&sleep_ops);
}
