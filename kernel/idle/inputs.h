/* SPDX-License-Identifier: GPL-2.0 */
#ifndef INPUTS_H
#define INPUTS_H

#include <linux/version.h>

/*
 * Probes of later kernels read arguments by name, and at the return of a function
 * too (samples in Documentation/trace/fprobetrace.rst, 6.12).
 */
#define NEEDS_INPUTS	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0))

#if NEEDS_INPUTS
int inputs_begin(void);
void inputs_end(void);
#else
static inline int inputs_begin(void)
{
	return 0;
}

static inline void inputs_end(void)
{
}
#endif

#endif
