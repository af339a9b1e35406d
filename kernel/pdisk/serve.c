// SPDX-License-Identifier: GPL-2.0
/*
 * The server: it takes the oldest request when it is free, the clock is on and
 * is not being changed. A timer ends the service.
 */
#include <linux/math64.h>
#include "pdisk.h"

/* Time in each state is counted whenever one is about to change. */
void serve_count(struct pdisk_host *h)
{
	ktime_t now = ktime_get();
	s64 ns = ktime_to_ns(ktime_sub(now, h->counted));

	lockdep_assert_held(&h->lock);
	if (!h->awake)
		h->asleep_ns += ns;
	else if (h->gated)
		h->gated_ns += ns;
	else
		h->at_level[h->level] += ns;
	h->counted = now;
}

static u64 service_ns(struct pdisk_host *h, unsigned int bytes)
{
	const struct pdisk_law *law = h->law;
	u64 most = law->levels[law->nr_levels - 1];
	u64 ns = div_u64(law->transfer_ns * bytes, SZ_64K);

	/* At most 2^30 ns times a ratio in thousandths: no overflow. */
	ns = div_u64(ns * div_u64(most * 1000, law->levels[h->level]), 1000);
	return law->base_ns + ns;
}

/* Whoever makes service possible calls it, with the lock. */
void serve_next(struct pdisk_host *h)
{
	struct pdisk_cmd *cmd;
	struct request *rq;

	lockdep_assert_held(&h->lock);
	if (h->serving || h->gated || (h->changing && h->law->blocks))
		return;
	cmd = list_first_entry_or_null(&h->waiting, struct pdisk_cmd, node);
	if (!cmd)
		return;
	list_del_init(&cmd->node);
	h->serving = cmd;
	rq = blk_mq_rq_from_pdu(cmd);
	hrtimer_start(&h->server,
		      ktime_add_ns(ktime_get(),
				   service_ns(h, blk_rq_bytes(rq))),
		      HRTIMER_MODE_ABS);
}

void serve_add(struct pdisk_host *h, struct pdisk_cmd *cmd)
{
	unsigned long flags;

	spin_lock_irqsave(&h->lock, flags);
	list_add_tail(&cmd->node, &h->waiting);
	if (!h->active++) {
		h->busy_since = ktime_get();
		hrtimer_try_to_cancel(&h->gate);
		if (h->want_paused) {
			h->want_paused = false;
			queue_work(system_highpri_wq, &h->pause);
		}
	}
	if (h->gated)
		queue_work(system_highpri_wq, &h->ungate);
	serve_next(h);
	spin_unlock_irqrestore(&h->lock, flags);
}

static enum hrtimer_restart served(struct hrtimer *timer)
{
	struct pdisk_host *h = container_of(timer, struct pdisk_host, server);
	struct pdisk_cmd *cmd;
	unsigned long flags;
	ktime_t now;

	spin_lock_irqsave(&h->lock, flags);
	cmd = h->serving;
	h->serving = NULL;
	h->served++;
	if (!--h->active) {
		now = ktime_get();
		h->busy_ns += ktime_to_ns(ktime_sub(now, h->busy_since));
		if (h->law->gate_ns)
			hrtimer_start(&h->gate,
				      ktime_add_ns(now, h->law->gate_ns),
				      HRTIMER_MODE_ABS);
	}
	serve_next(h);
	if (h->changing)
		wake_up(&h->drained);
	spin_unlock_irqrestore(&h->lock, flags);
	blk_mq_complete_request(blk_mq_rq_from_pdu(cmd));
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart gate_closes(struct hrtimer *timer)
{
	struct pdisk_host *h = container_of(timer, struct pdisk_host, gate);
	unsigned long flags;

	spin_lock_irqsave(&h->lock, flags);
	/* A request may have come while this waited for the lock. */
	if (!h->active && !h->changing) {
		serve_count(h);
		h->gated = true;
	}
	spin_unlock_irqrestore(&h->lock, flags);
	return HRTIMER_NORESTART;
}

static void gate_opens(struct work_struct *work)
{
	struct pdisk_host *h = container_of(work, struct pdisk_host, ungate);

	pdisk_sleep(h->law->ungate_ns);
	spin_lock_irq(&h->lock);
	if (h->gated) {
		serve_count(h);
		h->gated = false;
		h->ungates++;
	}
	serve_next(h);
	spin_unlock_irq(&h->lock);
}

void serve_init(struct pdisk_host *h)
{
	spin_lock_init(&h->lock);
	INIT_LIST_HEAD(&h->waiting);
	init_waitqueue_head(&h->drained);
	pdisk_timer(&h->server, served);
	pdisk_timer(&h->gate, gate_closes);
	INIT_WORK(&h->ungate, gate_opens);
	h->counted = ktime_get();
}

/* Once no disk is left. */
void serve_stop(struct pdisk_host *h)
{
	hrtimer_cancel(&h->gate);
	cancel_work_sync(&h->ungate);
	hrtimer_cancel(&h->server);
}
