// SPDX-License-Identifier: GPL-2.0
/*
 * The clock: devfreq looks at how busy the server was, and wants a level. A
 * change takes its time; the old level serves on until it is over, or, with
 * "blocks", nothing is served meanwhile.
 */
#include <linux/pm_opp.h>
#include "pdisk.h"

static int wanted_level(struct pdisk_host *h, unsigned long *freq, u32 flags)
{
	struct dev_pm_opp *opp;
	unsigned int i;

	/* As the published series does in UFS, at the next look (2025). */
	if (pdisk_lun_wants_most())
		*freq = h->law->levels[h->law->nr_levels - 1];
	opp = devfreq_recommended_opp(&h->pdev->dev, freq, flags);
	if (IS_ERR(opp))
		return PTR_ERR(opp);
	dev_pm_opp_put(opp);
	for (i = 0; i < h->law->nr_levels; i++)
		if (h->law->levels[i] == *freq)
			return i;
	return -EINVAL;
}

/* As UFS does: a look at an idle host is the last until a request. */
static void pause_if_idle(struct pdisk_host *h, bool idle, bool fastest)
{
	spin_lock_irq(&h->lock);
	if (pdisk_pauses > fastest && idle && !h->active && h->devfreq &&
	    !h->want_paused) {
		h->want_paused = true;
		queue_work(system_highpri_wq, &h->pause);
	}
	spin_unlock_irq(&h->lock);
}

static int clock_target(struct device *dev, unsigned long *freq, u32 flags)
{
	struct pdisk_host *h = dev_get_drvdata(dev);
	int level = wanted_level(h, freq, flags);
	unsigned int before;
	bool idle;

	if (level < 0)
		return level;
	spin_lock_irq(&h->lock);
	before = h->level;
	idle = !h->active;
	h->changing = level != before;
	spin_unlock_irq(&h->lock);
	if (level != before) {
		if (h->law->blocks)
			wait_event(h->drained, !READ_ONCE(h->serving));
		pdisk_sleep(h->law->switch_ns);
		spin_lock_irq(&h->lock);
		serve_count(h);
		h->level = level;
		h->changing = false;
		h->changes++;
		serve_next(h);
		spin_unlock_irq(&h->lock);
	}
	pause_if_idle(h, idle, level == h->law->nr_levels - 1);
	return 0;
}

static int clock_status(struct device *dev, struct devfreq_dev_status *stat)
{
	struct pdisk_host *h = dev_get_drvdata(dev);
	ktime_t now;

	spin_lock_irq(&h->lock);
	now = ktime_get();
	if (h->active) {
		h->busy_ns += ktime_to_ns(ktime_sub(now, h->busy_since));
		h->busy_since = now;
	}
	/* As with UFS, a window begins at the first look after a pause. */
	stat->total_time = !h->window_open ? 0 :
		div_u64(ktime_to_ns(ktime_sub(now, h->window)), NSEC_PER_USEC);
	stat->busy_time = !h->window_open ? 0 :
		div_u64(h->busy_ns, NSEC_PER_USEC);
	h->window_open = true;
	stat->current_frequency = h->law->levels[h->level];
	h->window = now;
	h->busy_ns = 0;
	spin_unlock_irq(&h->lock);
	return 0;
}

static int clock_now(struct device *dev, unsigned long *freq)
{
	struct pdisk_host *h = dev_get_drvdata(dev);

	*freq = h->law->levels[READ_ONCE(h->level)];
	return 0;
}

static void pause_or_go_on(struct work_struct *work)
{
	struct pdisk_host *h = container_of(work, struct pdisk_host, pause);

	if (READ_ONCE(h->want_paused) == h->paused)
		return;
	h->paused = !h->paused;
	if (h->paused) {
		devfreq_suspend_device(h->devfreq);
		spin_lock_irq(&h->lock);
		h->window_open = false;
		spin_unlock_irq(&h->lock);
	} else {
		devfreq_resume_device(h->devfreq);
	}
}

/*
 * A disk has fallen asleep, or is awake again. As with UFS, nobody looks at the
 * clock while all sleep, and it is on when they wake, gated or not before.
 */
void clock_awake(struct pdisk_host *h, int change)
{
	bool slept, sleeps;

	mutex_lock(&h->sleep);
	spin_lock_irq(&h->lock);
	serve_count(h);
	slept = !h->awake;
	h->awake += change;
	sleeps = !h->awake;
	if (slept && !sleeps)
		h->gated = false;
	spin_unlock_irq(&h->lock);
	if (sleeps)
		devfreq_suspend_device(h->devfreq);
	else if (slept)
		devfreq_resume_device(h->devfreq);
	mutex_unlock(&h->sleep);
}

int clock_add(struct pdisk_host *h)
{
	struct device *dev = &h->pdev->dev;
	struct devfreq *devfreq;
	unsigned int i;
	int ret;

	for (i = 0; i < h->law->nr_levels; i++) {
		ret = dev_pm_opp_add(dev, h->law->levels[i], 0);
		if (ret)
			goto no_opp;
	}
	INIT_WORK(&h->pause, pause_or_go_on);
	h->window = ktime_get();
	h->window_open = true;
	h->profile.initial_freq = h->law->levels[0];
	h->profile.polling_ms = pdisk_poll_ms;
	h->profile.timer = pdisk_deferrable ? DEVFREQ_TIMER_DEFERRABLE :
					      DEVFREQ_TIMER_DELAYED;
	h->profile.target = clock_target;
	h->profile.get_dev_status = clock_status;
	h->profile.get_cur_freq = clock_now;
	devfreq = devfreq_add_device(dev, &h->profile,
				     DEVFREQ_GOV_SIMPLE_ONDEMAND,
				     &h->thresholds);
	if (IS_ERR(devfreq)) {
		ret = PTR_ERR(devfreq);
		goto no_opp;
	}
	h->devfreq = devfreq;
	/* Until there is a disk. */
	devfreq_suspend_device(devfreq);
	return 0;
no_opp:
	dev_pm_opp_remove_all_dynamic(dev);
	return ret;
}

void clock_remove(struct pdisk_host *h)
{
	/* No request comes any more, so nobody queues it again but target(). */
	pdisk_pauses = 0;
	cancel_work_sync(&h->pause);
	devfreq_remove_device(h->devfreq);
	cancel_work_sync(&h->pause);
	dev_pm_opp_remove_all_dynamic(&h->pdev->dev);
}
