/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A governor of power domains that the kernel has and does not export.
 *
 * To be included by one file of a module: it defines a static call.
 */
#ifndef DORMOUSE_STOCK_H
#define DORMOUSE_STOCK_H

#include <linux/kprobes.h>
#include <linux/pm_domain.h>
#include <linux/static_call.h>

static unsigned long no_address(const char *name)
{
	return 0;
}

DEFINE_STATIC_CALL(find_symbol, no_address);

/* simple_qos_governor, or why there is none. */
static struct dev_power_governor *find_simple_qos(void)
{
	struct kprobe probe = { .symbol_name = "kallsyms_lookup_name" };
	struct dev_power_governor *found;
	unsigned long address;
	int ret = register_kprobe(&probe);

	if (ret)
		return ERR_PTR(ret);
	address = (unsigned long)probe.addr;
	/* Behind the landing pad, where functions begin with one. */
	if (IS_ENABLED(CONFIG_X86))
		address &= ~15UL;
	unregister_kprobe(&probe);
	static_call_update(find_symbol, (typeof(&no_address))address);
	found = (void *)static_call(find_symbol)("simple_qos_governor");
	return found ?: ERR_PTR(-ENOENT);
}

#endif
