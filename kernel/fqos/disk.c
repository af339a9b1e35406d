// SPDX-License-Identifier: GPL-2.0
/*
 * A disk, raised or not.
 *
 * probe, not raised     raised := 1, queue the work
 * work, raised          ask for the fastest clock, start the timer
 * timer, a request was
 *   seen since          start it again: due is the last request + time-out
 * timer, none was       raised := 0, look once more, queue the work
 * work, not raised      take the request back
 *
 * A request that is seen between the timer's two looks may not raise the disk;
 * the next one does. To keep it out would need a barrier in every request.
 */
#include <linux/delay.h>
#include <linux/math64.h>
#include <linux/pm_runtime.h>
#include "fqos.h"

struct workqueue_struct *fqos_wq;
int fqos_cpu_latency_us = -1;
bool fqos_as_published;

/* Gaps are worth to be written down from here on. */
#define LONG_GAP_NS	(512 * NSEC_PER_USEC)

static cycles_t last_seen(struct fqos_disk *d)
{
	cycles_t now = get_cycles(), age = ~(cycles_t)0, at;
	int cpu;

	for_each_possible_cpu(cpu) {
		at = READ_ONCE(per_cpu_ptr(d->last, cpu)->at);
		/* Clocks of CPUs may differ by a little. */
		age = min_t(cycles_t, age, (s64)(now - at) < 0 ? 0 : now - at);
	}
	return now - age;
}

/*
 * After a sleep in which the cycles began again, what was seen before would lie in
 * the future, and the disk stay raised until they come to it.
 */
void disk_wakes(struct fqos_disk *d)
{
	cycles_t now = get_cycles();
	int cpu;

	for_each_possible_cpu(cpu)
		WRITE_ONCE(per_cpu_ptr(d->last, cpu)->at, now);
	spin_lock_irq(&d->lock);
	WRITE_ONCE(d->both_cycles, now);
	WRITE_ONCE(d->both, ktime_get());
	spin_unlock_irq(&d->lock);
}

/* Cycles as nanoseconds: by what both clocks did since they were read together. */
static u64 cycles_ns(struct fqos_disk *d, cycles_t cycles, cycles_t now_cycles,
		     ktime_t now)
{
	cycles_t span = now_cycles - READ_ONCE(d->both_cycles);
	s64 ns = ktime_to_ns(ktime_sub(now, READ_ONCE(d->both)));

	if (!span || ns <= 0)
		return 0;
	return mul_u64_u64_div_u64(cycles, ns, span);
}

/* May run anywhere, on many CPUs at once. */
static void raise(struct fqos_disk *d)
{
	if (cmpxchg(&d->raised, 0, 1))
		return;
	WRITE_ONCE(d->limit, d->long_gap);
	queue_work(fqos_wq, &d->work);
	/* A host that sleeps shall wake now, while its clock is raised. */
	if (pm_runtime_status_suspended(d->listener))
		pm_request_resume(d->listener);
}

static void note(struct fqos_disk *d, cycles_t gap, cycles_t now)
{
	int me = raw_smp_processor_id(), cpu;
	unsigned long flags;
	cycles_t at;

	/* Other CPUs may have been busy. */
	for_each_possible_cpu(cpu) {
		if (cpu == me)
			continue;
		at = READ_ONCE(per_cpu_ptr(d->last, cpu)->at);
		gap = min_t(cycles_t, gap, (s64)(now - at) < 0 ? 0 : now - at);
	}
	if (gap <= d->long_gap)
		return;
	spin_lock_irqsave(&d->lock, flags);
	gaps_note(&d->gaps,
		  div_u64(cycles_ns(d, gap, now, ktime_get()), NSEC_PER_USEC));
	spin_unlock_irqrestore(&d->lock, flags);
}

/*
 * Probes call it for each request of a disk that is not raised (@limit is 0), and
 * for long gaps on their CPU: at most 2,000 a second on each.
 */
void disk_look(struct fqos_disk *d, cycles_t gap, cycles_t now)
{
	if (gap > d->long_gap)
		note(d, gap, now);
	if (!READ_ONCE(d->raised))
		raise(d);
	else
		WRITE_ONCE(d->limit, d->long_gap);
}

/* When the time-out is over; the last request counts. */
static ktime_t due(struct fqos_disk *d, cycles_t last)
{
	cycles_t now_cycles = get_cycles();
	ktime_t now = ktime_get();
	u64 age = cycles_ns(d, now_cycles - last, now_cycles, now);

	return ktime_add_us(ktime_sub_ns(now, age), READ_ONCE(d->timeout_us));
}

static enum hrtimer_restart timer_over(struct hrtimer *timer)
{
	struct fqos_disk *d = container_of(timer, struct fqos_disk, timer);
	cycles_t last = last_seen(d), again;
	ktime_t when = due(d, last);

	if (ktime_before(ktime_get(), when))
		goto later;
	d->due = when;
	xchg(&d->raised, 0);
	WRITE_ONCE(d->limit, 0);
	again = last_seen(d);
	if ((s64)(again - last) <= 0) {
		queue_work(fqos_wq, &d->work);
		return HRTIMER_NORESTART;
	}
	/* Whoever raised it meanwhile has queued the work, which starts us. */
	if (cmpxchg(&d->raised, 0, 1))
		return HRTIMER_NORESTART;
	WRITE_ONCE(d->limit, d->long_gap);
	when = due(d, again);
later:
	hrtimer_set_expires(timer, when);
	return HRTIMER_RESTART;
}

static void rise(struct fqos_disk *d)
{
	ktime_t begin = ktime_get();
	u64 took;

	/* Devices beyond the largest value take their fastest clock. */
	dev_pm_qos_update_request(&d->frequency, PM_QOS_MAX_FREQUENCY_DEFAULT_VALUE);
	if (fqos_cpu_latency_us >= 0)
		cpu_latency_qos_update_request(&d->latency, fqos_cpu_latency_us);
	took = ktime_to_ns(ktime_sub(ktime_get(), begin));
	spin_lock_irq(&d->lock);
	/* A change that was none took no time; what one takes is kept for long. */
	d->change_ns = max(took, d->change_ns - d->change_ns / 8);
	d->raises++;
	d->began = begin;
	WRITE_ONCE(d->both_cycles, get_cycles());
	WRITE_ONCE(d->both, ktime_get());
	spin_unlock_irq(&d->lock);
	d->applied = true;
}

static void fall(struct fqos_disk *d)
{
	ktime_t now = ktime_get();
	s64 late = ktime_to_ns(ktime_sub(now, d->due));

	dev_pm_qos_update_request(&d->frequency, PM_QOS_MIN_FREQUENCY_DEFAULT_VALUE);
	if (fqos_cpu_latency_us >= 0)
		cpu_latency_qos_update_request(&d->latency, PM_QOS_DEFAULT_VALUE);
	d->applied = false;
	/* A probe may have written it after the timer did. */
	if (!READ_ONCE(d->raised))
		WRITE_ONCE(d->limit, 0);
	spin_lock_irq(&d->lock);
	d->drops++;
	d->held_ns += ktime_to_ns(ktime_sub(now, d->began));
	if (late > 0 && late > d->late_ns)
		d->late_ns = late;
	if (!d->wanted_us)
		WRITE_ONCE(d->timeout_us, gaps_timeout(&d->gaps, d->change_ns));
	spin_unlock_irq(&d->lock);
}

static void work_over(struct work_struct *work)
{
	struct fqos_disk *d = container_of(work, struct fqos_disk, work);

	d->works++;
	if (READ_ONCE(d->raised)) {
		if (!d->applied)
			rise(d);
		hrtimer_start(&d->timer, due(d, last_seen(d)), HRTIMER_MODE_ABS);
	} else if (d->applied) {
		fall(d);
	}
}

/* Reads both clocks twice, so that cycles can be told in nanoseconds. */
static int learn_cycles(struct fqos_disk *d)
{
	cycles_t cycles = get_cycles();
	ktime_t now = ktime_get();
	u64 ns;

	d->both_cycles = cycles;
	d->both = now;
	usleep_range(1000, 2000);
	cycles = get_cycles() - cycles;
	ns = ktime_to_ns(ktime_sub(ktime_get(), now));
	if (!cycles)
		return -ENODEV;
	d->long_gap = mul_u64_u64_div_u64(cycles, LONG_GAP_NS, ns);
	return 0;
}

/* @d->listener is known; returns with the disk not raised. */
int disk_begin(struct fqos_disk *d)
{
	int ret;

	d->last = alloc_percpu(struct last);
	if (!d->last)
		return -ENOMEM;
	ret = learn_cycles(d);
	if (ret)
		goto no_request;
	d->raised = 0;
	d->limit = 0;
	d->applied = false;
	d->timeout_us = d->wanted_us ?: gaps_timeout(&d->gaps, d->change_ns);
	INIT_WORK(&d->work, work_over);
	fqos_timer(&d->timer, timer_over);
	ret = dev_pm_qos_add_request(fqos_as_published ?
				     disk_to_dev(d->gendisk)->parent :
				     d->listener, &d->frequency,
				     DEV_PM_QOS_MIN_FREQUENCY,
				     PM_QOS_MIN_FREQUENCY_DEFAULT_VALUE);
	if (ret < 0)
		goto no_request;
	if (fqos_cpu_latency_us >= 0)
		cpu_latency_qos_add_request(&d->latency, PM_QOS_DEFAULT_VALUE);
	ret = hook_add(d);
	if (!ret)
		return 0;
	if (fqos_cpu_latency_us >= 0)
		cpu_latency_qos_remove_request(&d->latency);
	dev_pm_qos_remove_request(&d->frequency);
no_request:
	free_percpu(d->last);
	return ret;
}

/* From here on nobody raises it; returns once nothing of it is under way. */
void disk_end(struct fqos_disk *d)
{
	hook_remove(d);
	/*
	 * No probe is left. A work that is disabled starts no timer, and a
	 * timer queues none: so the timer, cancelled last, is the end.
	 */
	disable_work_sync(&d->work);
	hrtimer_cancel(&d->timer);
	if (d->applied)
		d->held_ns += ktime_to_ns(ktime_sub(ktime_get(), d->began));
	if (fqos_cpu_latency_us >= 0)
		cpu_latency_qos_remove_request(&d->latency);
	dev_pm_qos_remove_request(&d->frequency);
	free_percpu(d->last);
}
