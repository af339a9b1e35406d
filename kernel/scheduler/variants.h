/* SPDX-License-Identifier: GPL-2.0 */
/* Other rules for the kernel's own walk, one at a time, to be measured. */
#ifndef DORMOUSE_SCHEDULER_VARIANTS_H
#define DORMOUSE_SCHEDULER_VARIANTS_H

#include <linux/pm.h>
#include <linux/types.h>

struct klp_func;
struct ready_step;

/* How many functions variants_choose() adds at most. */
#define VARIANT_FUNCS	3

/*
 * Takes up the rules that the parameter policy names, and adds to @funcs what they
 * replace. @find gives the address of a symbol of the kernel, or 0. -EINVAL where
 * this kernel cannot have them.
 */
int variants_choose(struct klp_func *funcs,
		    unsigned long (*find)(const char *name));
/* Whether the walk is one of this file. */
bool variants_walk(void);
/* Whether only functions of the kernel's own walk are replaced. */
bool variants_patch_only(void);
void variants_run_phase(const struct ready_step *step, pm_message_t state,
			const int *error);

#endif
