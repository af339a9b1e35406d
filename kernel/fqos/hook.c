// SPDX-License-Identifier: GPL-2.0
/*
 * Sees requests. block_bio_queue (block/blk-core.c, submit_bio_noacct_nocheck)
 * fires for every bio before it may wait for a runtime resume, so that waking
 * and raising overlap. It is not exported and found by its name.
 * block_bio_remap fires where a stacked disk hands the same bio down, for which
 * the former is silent.
 *
 * No lock, no counter that two CPUs share: the probe writes one word of its own
 * CPU, and reads what changes twice in a busy period.
 */
#include <linux/rculist.h>
#include <linux/tracepoint.h>
#include "fqos.h"

#define NAME_QUEUE	"block_bio_queue"
#define NAME_REMAP	"block_bio_remap"

static struct tracepoint *queued, *remapped;

/* Structures of disks lie at least this far apart. */
#define APART	11
#define PLACES	64

/*
 * A disk that is served has a place of its own, by the address of its gendisk.
 * Whose place is taken stands in the crowd.
 *
 * Readers are probes. What they may still see is freed after
 * tracepoint_synchronize_unregister(), which waits for all of them: they need
 * no lock of RCU. Writers hold main.c's mutex.
 */
static struct fqos_disk nobody;
static struct fqos_disk *places[PLACES] = { [0 ... PLACES - 1] = &nobody };
static struct hlist_head crowd;
static unsigned int served;

static void (*first_seen)(const struct class *class);
static bool hearing;

static __always_inline struct fqos_disk **place(struct gendisk *gendisk)
{
	return &places[((unsigned long)gendisk >> APART) % PLACES];
}

static __always_inline void touch(struct fqos_disk *d)
{
	cycles_t now = get_cycles();
	cycles_t gap = now - this_cpu_read(d->last->at);

	this_cpu_write(d->last->at, now);
	if (unlikely(gap > READ_ONCE(d->limit)))
		disk_look(d, gap, now);
}

static noinline notrace void one_of_the_crowd(struct gendisk *gendisk)
{
	struct fqos_disk *d;

	hlist_for_each_entry_rcu_notrace(d, &crowd, node)
		if (d->gendisk == gendisk)
			return touch(d);
}

static __always_inline void saw(struct bio *bio)
{
	struct gendisk *gendisk;
	struct fqos_disk *d;

	if (!op_is_sync(bio->bi_opf))
		return;
	gendisk = bio->bi_bdev->bd_disk;
	d = READ_ONCE(*place(gendisk));
	if (likely(d->gendisk == gendisk))
		touch(d);
	else if (unlikely(!hlist_empty(&crowd)))
		one_of_the_crowd(gendisk);
}

static notrace void bio_queued(void *unused, struct bio *bio)
{
	saw(bio);
}

static notrace void bio_remapped(void *unused, struct bio *bio, dev_t dev,
				 sector_t from)
{
	saw(bio);
}

/* Until the class of disks is known, which no symbol gives. */
static void bio_first(void *unused, struct bio *bio)
{
	void (*seen)(const struct class *class) = READ_ONCE(first_seen);

	if (seen && cmpxchg(&first_seen, seen, NULL) == seen)
		seen(disk_to_dev(bio->bi_bdev->bd_disk)->class);
}

static void look(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, NAME_QUEUE))
		queued = tp;
	else if (!strcmp(tp->name, NAME_REMAP))
		remapped = tp;
}

int hook_find(void)
{
	for_each_kernel_tracepoint(look, NULL);
	if (queued && remapped)
		return 0;
	pr_err("dormouse_fqos: this kernel has no tracepoint %s\n",
	       queued ? NAME_REMAP : NAME_QUEUE);
	return -ENOENT;
}

int hook_first_begin(void (*seen)(const struct class *class))
{
	int ret;

	WRITE_ONCE(first_seen, seen);
	/* A bio may be seen, and the probe taken away, before we come back. */
	WRITE_ONCE(hearing, true);
	ret = tracepoint_probe_register(queued, bio_first, NULL);
	if (ret)
		WRITE_ONCE(hearing, false);
	return ret;
}

static void forget(struct fqos_disk *d)
{
	struct fqos_disk **p = place(d->gendisk);

	if (*p == d)
		WRITE_ONCE(*p, &nobody);
	else
		hlist_del_rcu(&d->node);
}

/* The first disk that is served switches the probes on. */
int hook_add(struct fqos_disk *d)
{
	struct fqos_disk **p = place(d->gendisk);
	int ret;

	if (*p == &nobody) {
		/* A probe that finds it reads through the pointer: all is ready. */
		smp_store_release(p, d);
	} else {
		hlist_add_head_rcu(&d->node, &crowd);
	}
	if (served++)
		return 0;
	ret = tracepoint_probe_register(queued, bio_queued, NULL);
	if (ret)
		goto no_queued;
	ret = tracepoint_probe_register(remapped, bio_remapped, NULL);
	if (ret)
		goto no_remapped;
	return 0;
no_remapped:
	tracepoint_probe_unregister(queued, bio_queued, NULL);
no_queued:
	served--;
	forget(d);
	tracepoint_synchronize_unregister();
	return ret;
}

/* Returns once no probe knows @d; the last one switches the probes off. */
void hook_remove(struct fqos_disk *d)
{
	forget(d);
	if (!--served) {
		tracepoint_probe_unregister(queued, bio_queued, NULL);
		tracepoint_probe_unregister(remapped, bio_remapped, NULL);
	}
	tracepoint_synchronize_unregister();
}

/* May be called twice, also at once. */
void hook_first_end(void)
{
	if (!xchg(&hearing, false))
		return;
	tracepoint_probe_unregister(queued, bio_first, NULL);
	tracepoint_synchronize_unregister();
}
