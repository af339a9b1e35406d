// SPDX-License-Identifier: GPL-2.0
/*
 * The eight callbacks of a board device. Each has the presence, the times, the
 * result and the lock that the description gives it. Those of a hibernation
 * are the same functions.
 *
 * The PM core decides by the presence of a callback what it does with a device
 * (a device without any is direct-complete), so presence must be real: there is
 * one device type, with its own dev_pm_ops, for each of the 256 combinations.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/pm.h>
#include <linux/pm_runtime.h>
#include <linux/sched.h>

#include "board.h"

/* Loop length used to measure the speed of the CPU, and between reschedules. */
#define SPIN_CHUNK	20000U

static u32 spin_chunk_ns = 1;
static struct dev_pm_ops ops[1 << PHASE_COUNT];
static struct device_type types[1 << PHASE_COUNT];

static noinline void spin(unsigned int n)
{
	while (n--)
		barrier();
}

/*
 * How long a chunk takes on an undisturbed CPU. Computing is counted in
 * iterations and not by the clock, because two callbacks that compute on one
 * CPU must take twice as long, as real ones do.
 */
static void spin_calibrate(void)
{
	u64 best = U64_MAX;
	int i;

	for (i = 0; i < 5; i++) {
		unsigned long flags;
		u64 t;

		local_irq_save(flags);
		t = ktime_get_mono_fast_ns();
		spin(SPIN_CHUNK);
		t = ktime_get_mono_fast_ns() - t;
		local_irq_restore(flags);
		best = min(best, t);
	}
	spin_chunk_ns = clamp_t(u64, best, 1, U32_MAX);
}

static void compute(u64 ns)
{
	/* At most an hour times SPIN_CHUNK: fits in 64 bits. */
	u64 left = div_u64(ns * SPIN_CHUNK, spin_chunk_ns);

	while (left) {
		unsigned int n = min_t(u64, left, SPIN_CHUNK);

		spin(n);
		left -= n;
		cond_resched();
	}
}

/* Sleeps exactly so long: without slack, the timer is not merged with others. */
void board_sleep(u64 ns)
{
	ktime_t end = ktime_add_ns(ktime_get(), ns);
	int err;

	if (!ns)
		return;
	do {
		set_current_state(TASK_UNINTERRUPTIBLE);
		err = schedule_hrtimeout_range(&end, 0, HRTIMER_MODE_ABS);
	} while (err);
}

static int work(struct device *dev, enum board_phase phase)
{
	struct board_device *d = to_board_device(dev);
	const struct board_work *w = &d->work[phase];
	struct mutex *lock = w->lock ? &d->board->locks[w->lock - 1] : NULL;

	board_shake_begin(d, phase);
	/* As a USB controller waits for its companions: no graph shows it. */
	if (d->waits >= 0 && phase >= PHASE_RESUME_NOIRQ &&
	    phase <= PHASE_RESUME)
		device_pm_wait_for_dev(dev,
				       &d->board->devices[d->waits]->dev);
	if (lock)
		mutex_lock(lock);
	if (w->sleep_ns)
		board_sleep(w->sleep_ns);
	if (w->compute_ns)
		compute(w->compute_ns);
	if (lock)
		mutex_unlock(lock);
	return board_shake_end(d, phase, w->ret);
}

static int do_prepare(struct device *dev)
{
	return work(dev, PHASE_PREPARE);
}

static int do_suspend(struct device *dev)
{
	int ret;

	/* As pci_pm_suspend() does without SMART_SUSPEND, 6.1 to 7.3. */
	if (to_board_device(dev)->rpm_first) {
		ret = pm_runtime_resume(dev);
		if (ret < 0)
			return ret;
	}
	return work(dev, PHASE_SUSPEND);
}

static int do_late(struct device *dev)
{
	return work(dev, PHASE_LATE);
}

static int do_noirq(struct device *dev)
{
	return work(dev, PHASE_NOIRQ);
}

static int do_resume_noirq(struct device *dev)
{
	return work(dev, PHASE_RESUME_NOIRQ);
}

static int do_early(struct device *dev)
{
	return work(dev, PHASE_EARLY);
}

static int do_resume(struct device *dev)
{
	return work(dev, PHASE_RESUME);
}

static void do_complete(struct device *dev)
{
	work(dev, PHASE_COMPLETE);
}

static int run_time(struct device *dev, unsigned int which)
{
	const struct board_work *w = &to_board_device(dev)->run_time[which];

	if (w->sleep_ns)
		board_sleep(w->sleep_ns);
	if (w->compute_ns)
		compute(w->compute_ns);
	return w->ret;
}

static int do_runtime_suspend(struct device *dev)
{
	return run_time(dev, 0);
}

static int do_runtime_resume(struct device *dev)
{
	return run_time(dev, 1);
}

void board_callbacks_init(void)
{
	unsigned int i;

	spin_calibrate();
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		/*
		 * Called only where runtime PM is enabled; pm_ops_is_empty()
		 * does not look at them.
		 */
		ops[i].runtime_suspend = do_runtime_suspend;
		ops[i].runtime_resume = do_runtime_resume;
		if (i & BIT(PHASE_PREPARE))
			ops[i].prepare = do_prepare;
		/*
		 * A hibernation does the same work: freeze and poweroff that
		 * of suspend, thaw and restore that of resume.
		 */
		if (i & BIT(PHASE_SUSPEND)) {
			ops[i].suspend = do_suspend;
			ops[i].freeze = do_suspend;
			ops[i].poweroff = do_suspend;
		}
		if (i & BIT(PHASE_LATE)) {
			ops[i].suspend_late = do_late;
			ops[i].freeze_late = do_late;
			ops[i].poweroff_late = do_late;
		}
		if (i & BIT(PHASE_NOIRQ)) {
			ops[i].suspend_noirq = do_noirq;
			ops[i].freeze_noirq = do_noirq;
			ops[i].poweroff_noirq = do_noirq;
		}
		if (i & BIT(PHASE_RESUME_NOIRQ)) {
			ops[i].resume_noirq = do_resume_noirq;
			ops[i].thaw_noirq = do_resume_noirq;
			ops[i].restore_noirq = do_resume_noirq;
		}
		if (i & BIT(PHASE_EARLY)) {
			ops[i].resume_early = do_early;
			ops[i].thaw_early = do_early;
			ops[i].restore_early = do_early;
		}
		if (i & BIT(PHASE_RESUME)) {
			ops[i].resume = do_resume;
			ops[i].thaw = do_resume;
			ops[i].restore = do_resume;
		}
		if (i & BIT(PHASE_COMPLETE))
			ops[i].complete = do_complete;
		types[i].pm = &ops[i];
	}
}

/* The type of devices with exactly these callbacks; none without any. */
const struct device_type *board_type(u8 present, bool rpm)
{
	return present || rpm ? &types[present] : NULL;
}

/* The same for a driver. */
const struct dev_pm_ops *board_pm_ops(u8 present)
{
	return &ops[present];
}
