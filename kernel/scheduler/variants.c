// SPDX-License-Identifier: GPL-2.0
/*
 * Other rules for the walk of devices, to be measured beside those of core.c: what
 * kernels did from 6.1 to 7.3, one series that was never merged, and ideas that
 * differ from the newest kernel in one thing. The words are those of the policies of
 * dormouse's simulator. None of this belongs into a kernel.
 *
 * Some rules change the walk: it is done here then, and after a failed callback
 * stops where it is, as 6.12 does. Others replace functions of the kernel's walk.
 */
#include <linux/async.h>
#include <linux/completion.h>
#include <linux/device.h>
#include <linux/livepatch.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/version.h>

#include "core.h"
#include "host.h"
#include "variants.h"

/* Since 6.16 a device that is done starts its neighbours by itself. */
#define NEW_KERNEL	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0))

#if NEW_KERNEL
#define in_progress	work_in_progress
#else
#define in_progress	async_in_progress
#endif

/* What is queued before the walk. */
enum first { FIRST_NONE, FIRST_ALL, FIRST_ENDS, FIRST_READY };
/* Which devices are leaves or roots. */
enum ends { ENDS_TREE, ENDS_LINKS, ENDS_AND_CHILDREN };
/* What a device that is done starts. */
enum done { DONE_NONE, DONE_TREE, DONE_LINKS, DONE_READY };

struct rules {
	enum first first;
	enum ends ends;
	enum done done;
	/* The walk queues asynchronous devices that it reaches. */
	bool queues;
	/* Completions are begun anew where the walk is, not before it. */
	bool late_init;
	/* The list is free around every device. */
	bool unlocks;
};

struct variant {
	const char *name;
	/* On which kernels: before 6.16, from then on. */
	bool before, after;
	/* The walk is done here. */
	bool walks;
	struct rules down, up;
	/* What the wait of a device does. */
	bool no_leaf_wait, root_test, once, no_sync_state;
	/* A device that is done starts nobody on the way down. */
	bool triggers_nobody;
};

#define G2_RULES { .first = FIRST_ENDS, .done = DONE_TREE, .queues = true }
#define G3_RULES { .first = FIRST_ENDS, .ends = ENDS_LINKS, \
		   .done = DONE_LINKS, .queues = true }
#define GS_RULES { .first = FIRST_READY, .done = DONE_READY }

static const struct variant variants[] = {
	{ .name = "ready" },
	{ .name = "G1", .before = true, .walks = true,
	  .down = { .queues = true, .late_init = true },
	  .up = { .first = FIRST_ALL } },
	{ .name = "G1w", .before = true, .walks = true,
	  .down = { .queues = true, .late_init = true, .unlocks = true },
	  .up = { .queues = true, .late_init = true, .unlocks = true } },
	{ .name = "G2", .before = true, .walks = true,
	  .down = G2_RULES, .up = G2_RULES },
	{ .name = "G3", .before = true, .walks = true,
	  .down = G3_RULES, .up = G3_RULES },
	{ .name = "G4", .before = true, .after = true, .walks = true,
	  .down = G3_RULES, .up = G3_RULES, .no_sync_state = true },
	{ .name = "GS", .before = true, .walks = true,
	  .down = GS_RULES, .up = GS_RULES },
	{ .name = "roots-and-children", .after = true, .walks = true,
	  .down = G3_RULES,
	  .up = { .first = FIRST_ENDS, .ends = ENDS_AND_CHILDREN,
		  .done = DONE_LINKS, .queues = true } },
	{ .name = "leaves-only", .after = true, .triggers_nobody = true },
	{ .name = "no-leaf-wait", .after = true, .no_leaf_wait = true },
	{ .name = "root-test", .after = true, .root_test = true },
	{ .name = "no-repeat", .after = true, .once = true },
};

static char *policy = "ready";
module_param(policy, charp, 0444);
MODULE_PARM_DESC(policy, "ready, or other rules to be measured (README)");

static const struct variant *chosen = &variants[0];

/* The phase under way. */
static struct {
	const struct ready_step *step;
	const struct rules *rules;
	const int *error;
	pm_message_t state;
	bool down;
} run;

/* Where the kernel has none of its own: who queues a device. */
static DEFINE_MUTEX(own_claims);
static struct mutex *claims = &own_claims;

static bool no_item(async_func_t func, struct device *dev)
{
	return false;
}

/* async_schedule_dev_nocall(), which is not exported. */
DEFINE_STATIC_CALL(schedule_item, no_item);

static bool is_async(const struct device *dev)
{
	return dev->power.async_suspend;
}

/* Links and relatives */

static bool is_live(const struct device_link *link)
{
	return READ_ONCE(link->status) != DL_STATE_DORMANT;
}

/* A link for which devices wait. */
static bool is_waited_for(const struct device_link *link)
{
	const u32 marks = DL_FLAG_INFERRED | DL_FLAG_CYCLE;

	if (!is_live(link))
		return false;
	return (!chosen->no_sync_state && !NEW_KERNEL) ||
	       (link->flags & ~marks) !=
	       (DL_FLAG_SYNC_STATE_ONLY | DL_FLAG_MANAGED);
}

#define each_supplier	host_each_supplier
#define each_consumer(link, dev)					\
	list_for_each_entry_srcu(link, &(dev)->links.consumers, s_node,	\
				 srcu_read_lock_held(ready_host.links_srcu))

static int yes(struct device *dev, void *unused)
{
	return 1;
}

static bool has_child(struct device *dev)
{
	return device_for_each_child(dev, NULL, yes);
}

static bool is_end(struct device *dev, const struct rules *rules)
{
	if (run.down)
		return !has_child(dev) &&
		       (rules->ends == ENDS_TREE ||
			list_empty(&dev->links.consumers));
	if (rules->ends != ENDS_TREE && !list_empty(&dev->links.suppliers))
		return false;
	if (!dev->parent)
		return true;
	return rules->ends == ENDS_AND_CHILDREN && !dev->parent->parent &&
	       list_empty(&dev->parent->links.suppliers);
}

static int not_done(struct device *dev, void *unused)
{
	return !completion_done(&dev->power.completion);
}

/* Whether all that @dev waits for is done. */
static bool is_ready(struct device *dev)
{
	struct device_link *link;
	bool ready;
	int idx;

	if (run.down)
		ready = !device_for_each_child(dev, NULL, not_done);
	else
		ready = !dev->parent || !not_done(dev->parent, NULL);
	idx = host_links_lock();
	if (run.down)
		each_consumer(link, dev)
			ready = ready && (!is_live(link) ||
					  !not_done(link->consumer, NULL));
	else
		each_supplier(link, dev)
			ready = ready && (!is_live(link) ||
					  !not_done(link->supplier, NULL));
	host_links_unlock(idx);
	return ready;
}

/* Starting */

static void trigger(struct device *dev);

/* Runs @dev in a worker and, where the kernel does not do it, its neighbours. */
static void run_item(void *data, async_cookie_t cookie)
{
	struct device *dev = data;

	get_device(dev);
	run.step->run_async(dev, cookie);
	if (!NEW_KERNEL)
		trigger(dev);
	put_device(dev);
}

/* The same on the caller's thread. */
static void run_here(struct device *dev)
{
	run.step->run_sync(dev, run.state, false);
	if (!NEW_KERNEL)
		trigger(dev);
}

/* Queues @dev, if it is asynchronous and nobody has; whether it is queued. */
static bool claim(struct device *dev, bool keep)
{
	bool queued = true;

	mutex_lock(claims);
	if (!dev->power.in_progress) {
		queued = is_async(dev);
		dev->power.in_progress = queued || keep;
		if (queued) {
			get_device(dev);
			queued = static_call(schedule_item)(run_item, dev);
			if (!queued) {
				put_device(dev);
				dev->power.in_progress = keep;
			}
		}
	}
	mutex_unlock(claims);
	return queued;
}

static void offer(struct device *dev)
{
	if (run.rules->done == DONE_READY && !(is_async(dev) && is_ready(dev)))
		return;
	claim(dev, false);
}

static int offer_child(struct device *dev, void *unused)
{
	if (!list_empty(&dev->power.entry))
		offer(dev);
	return 0;
}

/* @dev is done: offers those that may wait for it. */
static void trigger(struct device *dev)
{
	struct device_link *link;
	int idx;

	if (run.rules->done == DONE_NONE ||
	    (run.down && READ_ONCE(*run.error)))
		return;
	mutex_lock(host_list_mtx);
	if (run.down && dev->parent)
		offer_child(dev->parent, NULL);
	else if (!run.down)
		device_for_each_child(dev, NULL, offer_child);
	mutex_unlock(host_list_mtx);
	if (run.rules->done == DONE_TREE)
		return;
	idx = host_links_lock();
	if (run.down)
		each_supplier(link, dev) {
			if (is_live(link))
				offer_child(link->supplier, NULL);
		}
	else
		each_consumer(link, dev) {
			if (is_live(link))
				offer_child(link->consumer, NULL);
		}
	host_links_unlock(idx);
}

/* Walk */

static void begin(struct device *dev)
{
	reinit_completion(&dev->power.completion);
	dev->power.in_progress = false;
}

static void first_pass(struct device *dev)
{
	begin(dev);
	switch (run.rules->first) {
	case FIRST_NONE:
	case FIRST_READY:
		break;
	case FIRST_ALL:
		claim(dev, false);
		break;
	case FIRST_ENDS:
		if (is_end(dev, run.rules))
			claim(dev, false);
		break;
	}
}

/* Whether somebody else runs @dev. */
static bool runs_elsewhere(struct device *dev)
{
	if (run.rules->late_init)
		begin(dev);
	if (run.rules->queues)
		return claim(dev, true);
	if (run.rules->first == FIRST_READY)
		return is_async(dev);
	return dev->power.in_progress;
}

/* Devices that are ready before any has run; all completions are begun anew. */
static void start_ready(struct list_head *list)
{
	struct device *dev;

	if (run.down) {
		list_for_each_entry_reverse(dev, list, power.entry)
			offer(dev);
	} else {
		list_for_each_entry(dev, list, power.entry)
			offer(dev);
	}
}

static void walk(struct list_head *from, struct list_head *to)
{
	while (!list_empty(from)) {
		struct device *dev;
		bool unlocked;

		if (run.down) {
			dev = list_last_entry(from, struct device, power.entry);
			list_move(&dev->power.entry, to);
		} else {
			dev = list_first_entry(from, struct device,
					       power.entry);
			list_move_tail(&dev->power.entry, to);
		}
		get_device(dev);
		unlocked = run.rules->unlocks;
		if (unlocked)
			mutex_unlock(host_list_mtx);
		if (!runs_elsewhere(dev)) {
			if (!unlocked)
				mutex_unlock(host_list_mtx);
			unlocked = true;
			run_here(dev);
		}
		put_device(dev);
		if (unlocked)
			mutex_lock(host_list_mtx);
		if (run.down && unlocked && READ_ONCE(*run.error))
			break;
	}
}

/*
 * After an error: nobody will run the devices that the walk did not reach, yet one
 * that was queued may wait for them. What was queued may be suspended, and the way
 * back must find it. From 6.16 on it passes over whatever is not; before, it takes
 * only what somebody began.
 */
static void leave_rest(const struct ready_step *step)
{
	struct device *dev, *next;

	lockdep_assert_held(host_list_mtx);
	list_for_each_entry_safe_reverse(dev, next, step->from, power.entry) {
		bool begun = dev->power.in_progress;

		if (!begun)
			complete_all(&dev->power.completion);
		if (begun || NEW_KERNEL)
			list_move(&dev->power.entry, step->to);
	}
}

void variants_run_phase(const struct ready_step *step, pm_message_t state,
			const int *error)
{
	struct device *dev;

	run.step = step;
	run.down = ready_goes_down(step->phase);
	run.rules = run.down ? &chosen->down : &chosen->up;
	run.error = error;
	run.state = state;
	mutex_lock(host_list_mtx);
	if (!run.rules->late_init) {
		if (run.down) {
			list_for_each_entry_reverse(dev, step->from, power.entry)
				first_pass(dev);
		} else {
			list_for_each_entry(dev, step->from, power.entry)
				first_pass(dev);
		}
	}
	if (run.rules->first == FIRST_READY)
		start_ready(step->from);
	walk(step->from, step->to);
	/* Where completions are begun late, those that the walk did not reach stand. */
	if (!list_empty(step->from) && !run.rules->late_init)
		leave_rest(step);
	mutex_unlock(host_list_mtx);
	async_synchronize_full();
}

/* Waits, in the place of the kernel's functions of these names */

static void wait_one(struct device *dev, bool async)
{
#if NEW_KERNEL
	if (dev->power.no_pm)
		return;
#endif
	if (async || (READ_ONCE(*ready_host.async_enabled) && is_async(dev)))
		wait_for_completion(&dev->power.completion);
}

/* Whether the parent of @dev waits for @supplier too, or is it. */
static bool parent_waits(struct device *dev, struct device *supplier)
{
	struct device *parent = dev->parent;
	struct device_link *link;

	if (!parent)
		return false;
	each_supplier(link, parent)
		if (link->supplier == supplier && is_waited_for(link))
			return true;
	return parent == supplier;
}

static int wait_child(struct device *dev, void *async)
{
	wait_one(dev, *(bool *)async);
	return 0;
}

static void wait_for_subordinate(struct device *dev, bool async)
{
	struct device_link *link;
	int idx;

	if (chosen->no_leaf_wait && list_empty(&dev->links.consumers) &&
	    !has_child(dev))
		return;
	device_for_each_child(dev, &async, wait_child);
	idx = host_links_lock();
	each_consumer(link, dev) {
		if (!is_waited_for(link))
			continue;
		/* Its parent is done only after it, and is waited for. */
		if (chosen->once && parent_waits(link->consumer, dev))
			continue;
		wait_one(link->consumer, async);
	}
	host_links_unlock(idx);
}

static bool wait_for_superior(struct device *dev, bool async)
{
	struct device_link *link;
	struct device *parent;
	int idx;

	if (chosen->root_test && !dev->parent &&
	    list_empty(&dev->links.suppliers))
		return true;
	/* Devices may be unregistered meanwhile. */
	mutex_lock(host_list_mtx);
	if (!dev->power.in_dpm_list) {
		mutex_unlock(host_list_mtx);
		return false;
	}
	parent = get_device(dev->parent);
	mutex_unlock(host_list_mtx);
	if (parent)
		wait_one(parent, async);
	idx = host_links_lock();
	each_supplier(link, dev) {
		if (!is_waited_for(link))
			continue;
		if (chosen->once && parent_waits(dev, link->supplier))
			continue;
		wait_one(link->supplier, async);
	}
	host_links_unlock(idx);
	put_device(parent);
	return dev->power.in_dpm_list;
}

static void trigger_nobody(struct device *dev)
{
}

/* Choice */

bool variants_walk(void)
{
	return chosen->walks;
}

bool variants_patch_only(void)
{
	return chosen != &variants[0] && !chosen->walks;
}

int variants_choose(struct klp_func *funcs,
		    unsigned long (*find)(const char *name))
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(variants); i++)
		if (!strcmp(policy, variants[i].name))
			break;
	if (i == ARRAY_SIZE(variants) ||
	    (i && !(NEW_KERNEL ? variants[i].after : variants[i].before))) {
		pr_err("dormouse_scheduler: policy %s is none that this kernel can have\n",
		       policy);
		return -EINVAL;
	}
	chosen = &variants[i];
	if (chosen->walks) {
		unsigned long item = find("async_schedule_dev_nocall");

		if (!item)
			return -ENOENT;
		static_call_update(schedule_item, (typeof(&no_item))item);
	}
	if (NEW_KERNEL && chosen->walks) {
		claims = (struct mutex *)find("async_wip_mtx");
		if (!claims)
			return -ENOENT;
	}
	if (chosen->no_leaf_wait || chosen->once ||
	    (chosen->no_sync_state && !NEW_KERNEL)) {
		funcs->old_name = "dpm_wait_for_subordinate";
		funcs++->new_func = wait_for_subordinate;
	}
	if (chosen->root_test || chosen->once ||
	    (chosen->no_sync_state && !NEW_KERNEL)) {
		funcs->old_name = "dpm_wait_for_superior";
		funcs++->new_func = wait_for_superior;
	}
	if (chosen->triggers_nobody) {
		funcs->old_name = "dpm_async_suspend_superior";
		funcs++->new_func = trigger_nobody;
	}
	return 0;
}
