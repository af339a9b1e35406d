// SPDX-License-Identifier: GPL-2.0
/*
 * dormouse_count: what a request costs until it would reach a queue.
 *
 * A disk that ends every bio at once, below the host of dormouse_pdisk, so that
 * dormouse_fqos serves it. Reading "cost" sends batches of reads and gives the
 * cycles of the cheapest: no interrupt came in between. Where a cycle is an
 * instruction, as in guests that count them, this is exact.
 *
 * "timer" does the same with a timer: the one that dormouse_fqos has pending while
 * a disk is raised makes others dearer.
 *
 * With probe=1 an empty probe hears of every bio, as that of dormouse_fqos does:
 * what the kernel needs to call one.
 */
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/string.h>
#include <linux/timex.h>
#include <linux/tracepoint.h>
#include <linux/version.h>

#define IS_6_12	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 0) && \
		 LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0))
#if !IS_6_12 && (LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0) || \
		 LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0))
#error "dormouse_count knows kernels 6.12 and 7.0 to 7.3 only"
#endif

#define BATCH	100
#define BATCHES	200

static struct gendisk *disk;
static struct device *host;
static struct tracepoint *queued;
static struct hrtimer timer;
static bool heard;
static bool ready;	/* parameters outlive our exit */
static DEFINE_MUTEX(lock);

static void ends(struct bio *bio)
{
	bio_endio(bio);
}

static const struct block_device_operations ops = {
	.owner		= THIS_MODULE,
	.submit_bio	= ends,
};

static void done(struct bio *bio)
{
}

static notrace void empty(void *unused, struct bio *bio)
{
}

static enum hrtimer_restart goes_off(struct hrtimer *timer)
{
	return HRTIMER_NORESTART;
}

static void timer_init(void)
{
#if IS_6_12
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
	timer.function = goes_off;
#else
	hrtimer_setup(&timer, goes_off, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
#endif
}

/* A read of our own disk, which moves nothing. */
static void read_ours(void)
{
	struct bio bio;

	bio_init(&bio, disk->part0, NULL, 0, REQ_OP_READ);
	bio.bi_end_io = done;
	submit_bio_noacct(&bio);
	bio_uninit(&bio);
}

/* A timer that is the next to go off, as many drivers have one for a request. */
static void time_one(void)
{
	hrtimer_start(&timer, ktime_add_us(ktime_get(), 50), HRTIMER_MODE_ABS);
	hrtimer_cancel(&timer);
}

static int least_cost(char *buf, void (*one)(void))
{
	cycles_t least = ~(cycles_t)0, begin;
	int i, j;

	for (i = 0; i < BATCHES; i++) {
		begin = get_cycles();
		for (j = 0; j < BATCH; j++)
			one();
		least = min(least, get_cycles() - begin);
	}
	return sysfs_emit(buf, "%llu.%02llu\n", (u64)least / BATCH,
			  (u64)least % BATCH * 100 / BATCH);
}

static int ask(char *buf, void (*one)(void))
{
	int ret;

	mutex_lock(&lock);
	ret = ready ? least_cost(buf, one) : -ENODEV;
	mutex_unlock(&lock);
	return ret;
}

static int cost_get(char *buf, const struct kernel_param *kp)
{
	return ask(buf, read_ours);
}

static const struct kernel_param_ops cost_ops = { .get = cost_get };
module_param_cb(cost, &cost_ops, NULL, 0400);
MODULE_PARM_DESC(cost, "cycles of a read, from its bio until it ends");

static int timer_get(char *buf, const struct kernel_param *kp)
{
	return ask(buf, time_one);
}

static const struct kernel_param_ops timer_ops = { .get = timer_get };
module_param_cb(timer, &timer_ops, NULL, 0400);
MODULE_PARM_DESC(timer, "cycles to start and stop the timer that is the next to go off");

static int hear(bool on)
{
	int ret = 0;

	if (on == heard)
		return 0;
	if (on)
		ret = tracepoint_probe_register(queued, empty, NULL);
	else
		ret = tracepoint_probe_unregister(queued, empty, NULL);
	tracepoint_synchronize_unregister();
	if (!ret)
		heard = on;
	return ret;
}

static int probe_set(const char *text, const struct kernel_param *kp)
{
	bool on;
	int ret = kstrtobool(text, &on);

	if (ret)
		return ret;
	mutex_lock(&lock);
	ret = ready ? hear(on) : -ENODEV;
	mutex_unlock(&lock);
	return ret;
}

static const struct kernel_param_ops probe_ops = {
	.set	= probe_set,
	.get	= param_get_bool,
};
module_param_cb(probe, &probe_ops, &heard, 0600);
MODULE_PARM_DESC(probe, "an empty probe hears of every bio");

static void look(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "block_bio_queue"))
		queued = tp;
}

static int __init count_init(void)
{
	struct queue_limits lim = { .logical_block_size = 512 };
	int ret;

	timer_init();
	for_each_kernel_tracepoint(look, NULL);
	host = bus_find_device_by_name(&platform_bus_type, NULL,
				       "dormouse_pdisk");
	if (!queued || !host) {
		pr_err("dormouse_count: %s\n",
		       host ? "this kernel has no tracepoint block_bio_queue" :
			      "load dormouse_pdisk before it");
		put_device(host);
		return -ENODEV;
	}
	disk = blk_alloc_disk(&lim, NUMA_NO_NODE);
	if (IS_ERR(disk)) {
		ret = PTR_ERR(disk);
		goto no_disk;
	}
	strscpy(disk->disk_name, "count0");
	disk->fops = &ops;
	disk->flags |= GENHD_FL_NO_PART;
	set_capacity(disk, SZ_1M >> SECTOR_SHIFT);
	ret = device_add_disk(host, disk, NULL);
	if (ret)
		goto not_added;
	mutex_lock(&lock);
	ready = true;
	mutex_unlock(&lock);
	return 0;
not_added:
	put_disk(disk);
no_disk:
	put_device(host);
	return ret;
}

static void __exit count_exit(void)
{
	mutex_lock(&lock);
	hear(false);
	ready = false;
	mutex_unlock(&lock);
	hrtimer_cancel(&timer);
	del_gendisk(disk);
	put_disk(disk);
	put_device(host);
}

module_init(count_init);
module_exit(count_exit);

MODULE_DESCRIPTION("What a request costs until it would reach a queue");
MODULE_LICENSE("GPL");
