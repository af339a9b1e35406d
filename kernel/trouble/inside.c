// SPDX-License-Identifier: GPL-2.0
/*
 * What callbacks wait for, each in a function of its own name, and how long each took by
 * the clock that traces use: so that a recording of it can be checked.
 */
#include <linux/acpi.h>
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/firmware.h>
#include <linux/hrtimer.h>
#include <linux/i2c.h>
#include <linux/iopoll.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/version.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "trouble.h"

/* What was waited for since `inside` was read. */
#define WAITS	512
static struct {
	const char *device, *function;
	u64 ns;
} waits[WAITS];
static atomic_t count;

static void note(struct device *dev, const char *function, u64 since)
{
	u64 now = ktime_get_boot_fast_ns();
	int i = atomic_inc_return(&count) - 1;

	if (i >= WAITS)
		return;
	waits[i].device = dev_name(dev);
	waits[i].function = function;
	waits[i].ns = now - since;
}

#define TIMED(dev, function, call) do {			\
	u64 since = ktime_get_boot_fast_ns();		\
							\
	call;						\
	note(dev, function, since);			\
} while (0)

/* Five times so long, as a hub waits for a port to be quiet. */
static noinline void wibble_debounce(struct device *dev, unsigned int ms)
{
	int i;

	for (i = 0; i < 5; i++)
		TIMED(dev, "msleep", msleep(ms));
}

static noinline void zorb_settle(struct device *dev, unsigned int ms)
{
	TIMED(dev, "usleep_range_state",
	      usleep_range(ms * USEC_PER_MSEC, ms * USEC_PER_MSEC + 50));
}

static unsigned int polls;

static bool ready(void)
{
	return !polls || !--polls;
}

/* A register that is ready when it was read so often. */
static noinline void vexnet_poll(struct device *dev, unsigned int times)
{
	bool is;

	polls = times;
	TIMED(dev, "poll", read_poll_timeout(ready, is, is, 500, 10 * USEC_PER_SEC, false));
	barrier();
}

static DECLARE_COMPLETION(done);
static struct hrtimer answer;

static enum hrtimer_restart on_answer(struct hrtimer *timer)
{
	complete(&done);
	return HRTIMER_NORESTART;
}

static noinline void quux_wait_answer(struct device *dev, unsigned int ms)
{
	reinit_completion(&done);
	hrtimer_start(&answer, ms_to_ktime(ms), HRTIMER_MODE_REL);
	TIMED(dev, "wait_for_completion", wait_for_completion(&done));
	hrtimer_cancel(&answer);
}

static DECLARE_COMPLETION(never);

static noinline void oak_wait_in_vain(struct device *dev, unsigned int ms)
{
	TIMED(dev, "wait_for_completion_timeout",
	      wait_for_completion_timeout(&never, msecs_to_jiffies(ms)));
}

static DECLARE_WAIT_QUEUE_HEAD(queue);
static bool came;

static noinline void zorb_wait_event(struct device *dev, unsigned int ms)
{
	TIMED(dev, "wait_event",
	      wait_event_timeout(queue, READ_ONCE(came), msecs_to_jiffies(ms)));
	barrier();
}

static noinline void fnord_work(struct work_struct *work)
{
	msleep(20);
}

static DECLARE_WORK(work, fnord_work);

static noinline void fnord_flush(struct device *dev, unsigned int unused)
{
	schedule_work(&work);
	TIMED(dev, "flush_work", flush_work(&work));
}

static DEFINE_MUTEX(bus);

/* Two that do so at once take turns. */
static noinline void fnord_use_bus(struct device *dev, unsigned int ms)
{
	TIMED(dev, "mutex_lock", mutex_lock(&bus));
	TIMED(dev, "msleep", msleep(ms));
	mutex_unlock(&bus);
}

static noinline void firdsp_load(struct device *dev, unsigned int unused)
{
	const struct firmware *fw = NULL;
	int ret;

	TIMED(dev, "request_firmware",
	      ret = request_firmware(&fw, "dormouse/firdsp.bin", dev));
	if (ret)
		dev_err(dev, "no firmware: %d\n", ret);
	release_firmware(fw);
}

static int xfer(struct i2c_adapter *adapter, struct i2c_msg *msgs, int num)
{
	usleep_range(msgs[0].len * USEC_PER_MSEC, msgs[0].len * USEC_PER_MSEC + 50);
	return num;
}

static u32 functionality(struct i2c_adapter *adapter)
{
	return I2C_FUNC_I2C;
}

static const struct i2c_algorithm algorithm = {
	.master_xfer = xfer,
	.functionality = functionality,
};

static struct i2c_adapter adapter = {
	.owner = THIS_MODULE,
	.name = "dormouse_trouble",
	.algo = &algorithm,
	.retries = 0,
};

/* A byte a millisecond. */
static noinline void elm_read_gpio(struct device *dev, unsigned int ms)
{
	static u8 buffer[256];
	struct i2c_msg msg = {
		.addr = 0x20, .flags = I2C_M_RD, .buf = buffer,
		.len = min_t(unsigned int, ms, sizeof(buffer)),
	};

	TIMED(dev, "i2c_transfer", i2c_transfer(&adapter, &msg, 1));
}

static noinline void yew_ask_firmware(struct device *dev, unsigned int times)
{
	while (times--) {
		struct acpi_buffer buffer = { ACPI_ALLOCATE_BUFFER, NULL };

		TIMED(dev, "acpi_evaluate_object",
		      acpi_evaluate_object(NULL, "\\_S5_", NULL, &buffer));
		kfree(buffer.pointer);
	}
}

static const struct {
	const char *name;
	void (*wait)(struct device *dev, unsigned int number);
} kinds[] = {
	{ "debounce", wibble_debounce },
	{ "settle", zorb_settle },
	{ "poll", vexnet_poll },
	{ "answer", quux_wait_answer },
	{ "vain", oak_wait_in_vain },
	{ "bus", fnord_use_bus },
	{ "event", zorb_wait_event },
	{ "flush", fnord_flush },
	{ "load", firdsp_load },
	{ "i2c", elm_read_gpio },
	{ "acpi", yew_ask_firmware },
};

/* The number of the kind that is called so, or an error. */
int trouble_inside_find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return i;
	return -ENOENT;
}

void trouble_inside(struct device *dev, int kind, unsigned int number)
{
	kinds[kind].wait(dev, number);
}

static int inside_show(struct seq_file *s, void *unused)
{
	int i, n = min(atomic_read(&count), WAITS);

	for (i = 0; i < n; i++)
		seq_printf(s, "%s %s %llu\n", waits[i].device, waits[i].function,
			   waits[i].ns);
	atomic_set(&count, 0);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(inside);

int trouble_inside_init(struct dentry *dir)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&answer, on_answer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(&answer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	answer.function = on_answer;
#endif
	debugfs_create_file("inside", 0400, dir, NULL, &inside_fops);
	return i2c_add_adapter(&adapter);
}

void trouble_inside_exit(void)
{
	i2c_del_adapter(&adapter);
	hrtimer_cancel(&answer);
}
