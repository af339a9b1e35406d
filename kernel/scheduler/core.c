// SPDX-License-Identifier: GPL-2.0
/*
 * Device suspend and resume by readiness.
 *
 * The kernel's own walk starts a device in the order of a list, or when one of
 * its neighbours is done, and lets a thread wait for the others. Here each
 * device has a counter of those it waits for, and whoever finishes the last of
 * them starts it. No thread waits inside the scheduler but the caller's, so as
 * many threads are needed as callbacks overlap.
 *
 * Kinds. POOL is an asynchronous device; its callback runs in a worker. MAIN is
 * a synchronous one with a callback; the caller runs those in list order, which
 * drivers may rely on. RELAY has no callback in this phase: whoever makes it
 * ready passes it on.
 *
 * Invariants.
 *  - A device is run only after all devices that its counter stands for,
 *    so the waits inside async_suspend() and its like end at once.
 *  - Every device of the list is run, also after an error: the kernel's
 *    functions then do nothing but what the way back relies on.
 *  - Each device is run once: on kernels that start neighbours themselves,
 *    work_in_progress is set before the first one runs.
 *  - If memory or threads cannot be had, the list is walked in its order by
 *    the caller, or the caller runs what is queued.
 */
#include <linux/device.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/pm_runtime.h>
#include <linux/string.h>
#include <linux/wait.h>

#include "core.h"
#include "graph.h"
#include "host.h"
#include "pool.h"

/* What the caller waits for: any of its devices. */
#define ANY		(NONE - 1)

enum kind { RELAY, POOL, MAIN };

bool ready_conserve;

static struct ready_figures figures[READY_PHASES];
static unsigned long walks;

/* The phase under way; there is only ever one. */
static struct {
	const struct ready_step *step;
	pm_message_t state;
	bool down;
	atomic_t left;
	/* Devices of the caller's thread that are ready and not taken. */
	atomic_t ready;
	/* What the caller's thread waits for; NONE is the end of the phase. */
	u32 wanted;
	wait_queue_head_t caller;
} run;

/* Kinds */

typedef int (*pm_callback_t)(struct device *dev);

/* Which operation of @ops this phase calls; as pm_op() and its like choose. */
static pm_callback_t operation(const struct dev_pm_ops *ops,
			       enum ready_phase phase, int event)
{
	bool late = phase == READY_LATE || phase == READY_EARLY;
	bool noirq = phase == READY_NOIRQ || phase == READY_RESUME_NOIRQ;

#define CHOOSE(down, up)						\
	(ready_goes_down(phase) ?					\
	 (noirq ? ops->down##_noirq : late ? ops->down##_late : ops->down) : \
	 (noirq ? ops->up##_noirq : late ? ops->up##_early : ops->up))

	switch (event) {
	case PM_EVENT_SUSPEND:
	case PM_EVENT_RESUME:
		return CHOOSE(suspend, resume);
	case PM_EVENT_FREEZE:
	case PM_EVENT_QUIESCE:
	case PM_EVENT_THAW:
	case PM_EVENT_RECOVER:
		return CHOOSE(freeze, thaw);
	case PM_EVENT_HIBERNATE:
	case PM_EVENT_RESTORE:
#ifdef PM_EVENT_POWEROFF
	case PM_EVENT_POWEROFF:
#endif
		return CHOOSE(poweroff, restore);
	}
#undef CHOOSE
	return NULL;
}

/*
 * Whether this phase may call a function of @dev. A driver's callback that the
 * kernel may yet skip counts as one: better once too often on the caller's
 * thread than beside a device that it should stand before.
 */
static bool has_callback(struct device *dev, enum ready_phase phase, int event)
{
	const struct dev_pm_ops *ops = NULL;

	if (dev->power.syscore)
		return false;
	/* On the way down a child may still take direct_complete away. */
	if (dev->power.direct_complete && phase != READY_SUSPEND)
		return false;
	if (dev->pm_domain)
		ops = &dev->pm_domain->ops;
	else if (dev->type && dev->type->pm)
		ops = dev->type->pm;
	else if (dev->class && dev->class->pm)
		ops = dev->class->pm;
	else if (dev->bus && dev->bus->pm)
		ops = dev->bus->pm;
	else if (dev->bus && phase == READY_SUSPEND && dev->bus->suspend)
		return true;
	else if (dev->bus && phase == READY_RESUME && dev->bus->resume)
		return true;
	if (ops && operation(ops, phase, event))
		return true;
	return dev->driver && dev->driver->pm &&
	       operation(dev->driver->pm, phase, event);
}

/*
 * Whether @sup and @sub keep an order in this phase. A weak link is one for which
 * the kernel does not wait. Yet on the way down a consumer writes flags of its
 * supplier, whatever the link is. So the order of the list is kept where the
 * supplier would act on them, and between devices that the caller's thread, which
 * goes by the list, would run itself: a relay must not overtake it.
 */
static bool counts(const struct ready_node *sup, const struct ready_node *sub,
		   u32 neighbour)
{
	if (!(neighbour & WEAK))
		return true;
	return run.down && (sup->heeds || (!sup->async && !sub->async));
}

/* Whether @dev still acts on flags that its consumers write in this phase. */
static bool heeds_consumers(struct device *dev)
{
	switch (run.step->phase) {
	case READY_SUSPEND:
		return dev->power.direct_complete &&
		       pm_runtime_status_suspended(dev);
	case READY_NOIRQ:
		return dev_pm_test_driver_flags(dev, DPM_FLAG_MAY_SKIP_RESUME);
	default:
		return false;
	}
}

/* How many devices node @i waits for. */
static int waits_of(u32 i)
{
	const u32 *at = run.down ? ready_graph.sub_at : ready_graph.sup_at;
	const u32 *to = run.down ? ready_graph.subs : ready_graph.sups;
	const struct ready_node *node = &ready_graph.nodes[i];
	int waits = at[i + 1] - at[i];
	u32 k;

	for (k = at[i]; ready_graph.weak && k < at[i + 1]; k++) {
		struct ready_node *other = &ready_graph.nodes[to[k] & ~WEAK];

		waits -= !(run.down ? counts(node, other, to[k]) :
			   counts(other, node, to[k]));
	}
	return waits;
}

/* Under the list's mutex: everything that no device may see half done. */
static void arrange(struct ready_figures *f, int event)
{
	u32 i;

	for (i = 0; i < ready_graph.n; i++) {
		struct ready_node *node = &ready_graph.nodes[i];
		struct device *dev = node->dev;

		node->async = dev->power.async_suspend;
		node->taken = false;
		if (!has_callback(dev, run.step->phase, event)) {
			node->kind = RELAY;
			f->relays++;
		} else if (node->async) {
			node->kind = POOL;
			f->pool++;
		} else {
			node->kind = MAIN;
			f->main++;
		}
		/* Only a weak edge asks. */
		if (ready_graph.weak)
			node->heeds = heeds_consumers(dev);
		/* Drivers wait for it in device_pm_wait_for_dev(). */
		if (!(run.down ? node->against_down : node->against_up))
			reinit_completion(&dev->power.completion);
		host_claim(dev);
	}
	atomic_set(&run.ready, 0);
	for (i = 0; i < ready_graph.n; i++) {
		struct ready_node *node = &ready_graph.nodes[i];
		int waits = waits_of(i);

		atomic_set(&node->waits, waits);
		if (node->kind == MAIN && !waits)
			atomic_inc(&run.ready);
	}
	f->devices = ready_graph.n;
}

static void run_device(u32 i)
{
	struct ready_node *node = &ready_graph.nodes[i];
	struct device *dev = node->dev;

	/* It was unregistered since the graph was made. */
	if (list_empty(&dev->power.entry))
		return;
	if (run.down ? node->against_down : node->against_up)
		reinit_completion(&dev->power.completion);
	/* As the kernel does, which waits for less where nothing is asynchronous. */
	if (!node->async) {
		run.step->run_sync(dev, run.state, false);
		return;
	}
	get_device(dev);
	run.step->run_async(dev, 0);
}

/* Gives @i, and what follows it in its chain, to a worker. */
static void submit(u32 i)
{
	ready_pool_submit(&ready_graph.nodes[i].job);
}

/*
 * Counts @i off at its successors. Relays that become ready go before @todo,
 * and what is returned is the chain for this thread. A worker keeps one
 * asynchronous device for itself, if there is nothing else to do.
 */
static u32 finish(u32 i, u32 todo, bool worker)
{
	const u32 *at = run.down ? ready_graph.sup_at : ready_graph.sub_at;
	const u32 *to = run.down ? ready_graph.sups : ready_graph.subs;
	const struct ready_node *done = &ready_graph.nodes[i];
	u32 mine = NONE, wanted, k;

	for (k = at[i]; k < at[i + 1]; k++) {
		u32 s = to[k] & ~WEAK;
		struct ready_node *node = &ready_graph.nodes[s];

		if (!(run.down ? counts(node, done, to[k]) :
		      counts(done, node, to[k])) ||
		    !atomic_dec_and_test(&node->waits))
			continue;
		switch (node->kind) {
		case RELAY:
			node->more = todo;
			todo = s;
			break;
		case POOL:
			node->more = NONE;
			if (worker && mine == NONE)
				mine = s;
			else
				submit(s);
			break;
		case MAIN:
			atomic_inc(&run.ready);
			wanted = READ_ONCE(run.wanted);
			if (wanted == s || wanted == ANY)
				wake_up(&run.caller);
			break;
		}
	}
	if (mine != NONE && todo == NONE)
		todo = mine;
	else if (mine != NONE)
		submit(mine);
	return todo;
}

/* Nothing of the phase may be touched by this thread after its last device. */
static void count_off(int done)
{
	if (atomic_sub_and_test(done, &run.left))
		wake_up(&run.caller);
}

static void work(u32 todo)
{
	int done = 0;

	while (todo != NONE) {
		u32 i = todo;

		run_device(i);
		todo = finish(i, ready_graph.nodes[i].more, true);
		done++;
	}
	count_off(done);
}

static void run_job(struct ready_pool_job *job)
{
	work(container_of(job, struct ready_node, job) - ready_graph.nodes);
}

static void wake_caller(void)
{
	wake_up(&run.caller);
}

/* Phase */

static bool may_go_on(u32 i)
{
	if (i == NONE)
		return !atomic_read_acquire(&run.left);
	if (i == ANY)
		return atomic_read_acquire(&run.ready) > 0;
	return !atomic_read_acquire(&ready_graph.nodes[i].waits);
}

/* Waits until @i is ready, or for NONE until all devices are done. */
static void wait_for(u32 i, struct ready_figures *f)
{
	ktime_t start;
	u64 took;

	if (may_go_on(i))
		return;
	start = ktime_get();
	WRITE_ONCE(run.wanted, i);
	for (;;) {
		struct ready_pool_job *job;

		wait_event(run.caller, may_go_on(i) || ready_pool_wants_help());
		if (may_go_on(i))
			break;
		job = ready_pool_take();
		if (job)
			run_job(job);
	}
	took = ktime_to_ns(ktime_sub(ktime_get(), start));
	if (took > f->wait_ns) {
		f->wait_ns = took;
		strscpy(f->waited_for, i == NONE ? "the end" :
			i == ANY ? "any device" :
			dev_name(ready_graph.nodes[i].dev), sizeof(f->waited_for));
	}
}

/*
 * Starts what waits for nobody. Counters change as soon as the first job runs,
 * so all of it is found before.
 */
static void start_ready(void)
{
	u32 relays = NONE, jobs = NONE, k;

	/* From the end, so that the chains stand in the order of the phase. */
	for (k = 0; k < ready_graph.n; k++) {
		u32 i = run.down ? k : ready_graph.n - 1 - k;
		struct ready_node *node = &ready_graph.nodes[i];

		if (atomic_read(&node->waits))
			continue;
		if (node->kind == RELAY) {
			node->more = relays;
			relays = i;
		} else if (node->kind == POOL) {
			node->more = jobs;
			jobs = i;
		}
	}
	/* The caller's first device need not wait until they are passed on. */
	if (relays != NONE)
		submit(relays);
	while (jobs != NONE) {
		u32 i = jobs;

		jobs = ready_graph.nodes[i].more;
		ready_graph.nodes[i].more = NONE;
		submit(i);
	}
}

/*
 * The next device of the caller's thread, from position *@k of the phase on;
 * *@k becomes the first that is not taken. NONE if all are, ANY if those that
 * are left are not @ready.
 */
static u32 next_main(u32 *k, bool ready)
{
	bool first = true;
	u32 at;

	for (at = *k; at < ready_graph.n; at++) {
		u32 i = run.down ? ready_graph.n - 1 - at : at;
		struct ready_node *node = &ready_graph.nodes[i];

		if (node->kind != MAIN || node->taken)
			continue;
		if (first)
			*k = at;
		first = false;
		if (!ready || !atomic_read_acquire(&node->waits))
			return i;
	}
	return first ? NONE : ANY;
}

static void run_on_caller(u32 i)
{
	u32 relays;

	ready_graph.nodes[i].taken = true;
	atomic_dec(&run.ready);
	run_device(i);
	relays = finish(i, NONE, false);
	if (relays != NONE)
		submit(relays);
	count_off(1);
}

static void stream(struct ready_figures *f)
{
	bool conserve = READ_ONCE(ready_conserve);
	u32 k = 0, i;

	while ((i = next_main(&k, conserve)) != NONE) {
		wait_for(i, f);
		if (i != ANY)
			run_on_caller(i);
	}
}

/*
 * A device that was registered since the others were prepared takes no part in
 * this cycle. Its parent waits for it in each phase on the way down all the same,
 * and 7.3 lets only one of those waits pass (device_pm_sleep_init() completes it
 * once, where 6.12 does so for good).
 */
static void let_new_devices_be(void)
{
	struct device *dev;

	lockdep_assert_held(host_list_mtx);
	list_for_each_entry(dev, host_new_devices, power.entry)
		complete_all(&dev->power.completion);
}

/*
 * One device after another, in list order, as the kernel does it where nothing
 * is asynchronous.
 */
static void walk(const struct ready_step *step, pm_message_t state)
{
	bool down = ready_goes_down(step->phase);
	struct device *dev;

	lockdep_assert_held(host_list_mtx);
	list_for_each_entry(dev, step->from, power.entry)
		host_claim(dev);
	while (!list_empty(step->from)) {
		if (down) {
			dev = list_last_entry(step->from, struct device,
					      power.entry);
			list_move(&dev->power.entry, step->to);
		} else {
			dev = list_first_entry(step->from, struct device,
					       power.entry);
			list_move_tail(&dev->power.entry, step->to);
		}
		reinit_completion(&dev->power.completion);
		get_device(dev);
		mutex_unlock(host_list_mtx);
		step->run_sync(dev, state, false);
		put_device(dev);
		mutex_lock(host_list_mtx);
	}
}

/* Runs every device of @step->from and moves it to @step->to. */
void ready_run_phase(const struct ready_step *step, pm_message_t state)
{
	struct ready_figures *f = &figures[step->phase];
	ktime_t start = ktime_get();

	memset(f, 0, sizeof(*f));
	if (!host_async()) {
		/* Whoever turns it off wants one thing after the other. */
		mutex_lock(host_list_mtx);
		f->serial = true;
	} else if (ready_graph_know(step->from)) {
		f->serial = true;
	}
	let_new_devices_be();
	if (f->serial) {
		walks++;
		walk(step, state);
		mutex_unlock(host_list_mtx);
		async_synchronize_full();
		return;
	}
	run.step = step;
	run.state = state;
	run.down = ready_goes_down(step->phase);
	run.wanted = NONE;
	arrange(f, state.event);
	atomic_set(&run.left, ready_graph.n);
	if (run.down)
		list_splice_init(step->from, step->to);
	else
		list_splice_tail_init(step->from, step->to);
	mutex_unlock(host_list_mtx);
	f->graph_ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	if (ready_graph.n) {
		start_ready();
		stream(f);
		wait_for(NONE, f);
	}
	/* Drivers start work of their own. */
	async_synchronize_full();
}

void ready_end_cycle(void)
{
	ready_graph_forget();
}

const struct ready_figures *ready_figures(enum ready_phase phase)
{
	return &figures[phase];
}

struct ready_totals ready_totals(void)
{
	struct ready_totals t = {
		.builds = ready_graph.builds, .reuses = ready_graph.reuses, .walks = walks,
	};

	ready_pool_figures(&t.workers, &t.peak);
	return t;
}

int ready_init(void)
{
	static const struct ready_pool_owner owner = {
		.run = run_job, .help = wake_caller,
	};

	init_waitqueue_head(&run.caller);
	return ready_pool_start(&owner);
}

/* No phase is under way, and none will come. */
void ready_exit(void)
{
	ready_pool_stop();
	ready_graph_forget();
}
