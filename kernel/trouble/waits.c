// SPDX-License-Identifier: GPL-2.0
/*
 * Tasks, threads and works that do not freeze: each stands in a function of its own
 * name, by one of the kernel's ways to wait, until it is let go.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/freezer.h>
#include <linux/fs.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/semaphore.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "trouble.h"

static DECLARE_COMPLETION(gone);
static DECLARE_WAIT_QUEUE_HEAD(queue);
static DEFINE_MUTEX(lock);
static DECLARE_RWSEM(rwsem);
static struct semaphore semaphore;
static bool released = true;
static struct workqueue_struct *works;

static noinline void quux_wait_reply(void)
{
	wait_for_completion(&gone);
	barrier();
}

static noinline void zorb_wait_idle(void)
{
	wait_event(queue, READ_ONCE(released));
	barrier();
}

static noinline void wibble_lock_bus(void)
{
	mutex_lock(&lock);
	mutex_unlock(&lock);
	barrier();
}

static noinline void fnord_begin_read(void)
{
	down_read(&rwsem);
	up_read(&rwsem);
	barrier();
}

static noinline void fnord_begin_write(void)
{
	down_write(&rwsem);
	up_write(&rwsem);
	barrier();
}

static noinline void vexnet_take_slot(void)
{
	down(&semaphore);
	up(&semaphore);
	barrier();
}

static noinline void yewfs_read_sector(void)
{
	while (!READ_ONCE(released))
		io_schedule_timeout(HZ / 10);
	barrier();
}

static noinline void elm_poll_mailbox(void)
{
	while (!READ_ONCE(released))
		msleep(200);
	barrier();
}

static noinline void firdsp_load_blob(void)
{
	while (!wait_for_completion_timeout(&gone, 60 * HZ))
		barrier();
}

static noinline void oak_flush_cache(void)
{
	while (!READ_ONCE(released))
		wait_event_timeout(queue, READ_ONCE(released), 60 * HZ);
	barrier();
}

/* In state R: it computes, and lets others compute. */
static noinline void ash_scrub_pages(void)
{
	while (!READ_ONCE(released)) {
		udelay(20);
		cond_resched();
	}
	barrier();
}

static const struct {
	const char *name;
	void (*wait)(void);
} waits[] = {
	{ "quux_wait_reply", quux_wait_reply },
	{ "zorb_wait_idle", zorb_wait_idle },
	{ "wibble_lock_bus", wibble_lock_bus },
	{ "fnord_begin_read", fnord_begin_read },
	{ "fnord_begin_write", fnord_begin_write },
	{ "vexnet_take_slot", vexnet_take_slot },
	{ "yewfs_read_sector", yewfs_read_sector },
	{ "elm_poll_mailbox", elm_poll_mailbox },
	{ "firdsp_load_blob", firdsp_load_blob },
	{ "oak_flush_cache", oak_flush_cache },
	{ "ash_scrub_pages", ash_scrub_pages },
};

static void (*find(const char *name))(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(waits); i++)
		if (!strcmp(waits[i].name, name))
			return waits[i].wait;
	return NULL;
}

/* Whoever comes stands until trouble_let_go(). */
void trouble_hold(void)
{
	if (!released)
		return;
	reinit_completion(&gone);
	mutex_lock(&lock);
	down_write(&rwsem);
	down(&semaphore);
	WRITE_ONCE(released, false);
}

void trouble_let_go(void)
{
	if (released)
		return;
	WRITE_ONCE(released, true);
	complete_all(&gone);
	wake_up_all(&queue);
	mutex_unlock(&lock);
	up_write(&rwsem);
	up(&semaphore);
	flush_workqueue(works);
}

/* The word that user space writes, without blanks around it. */
static int word(char *text, size_t size, const char __user *from, size_t count)
{
	if (!count || count >= size)
		return -EINVAL;
	if (copy_from_user(text, from, count))
		return -EFAULT;
	text[count] = '\0';
	return 0;
}

/* `wait`: the task that writes stands in the function that it names. */
static ssize_t wait_write(struct file *file, const char __user *from,
			  size_t count, loff_t *pos)
{
	char text[64];
	void (*wait)(void);
	int ret = word(text, sizeof(text), from, count);

	if (ret)
		return ret;
	wait = find(strim(text));
	if (!wait)
		return -ENOENT;
	wait();
	return count;
}

static int thread(void *data)
{
	void (*wait)(void) = data;

	set_freezable();
	wait();
	return 0;
}

/* `thread`: a thread of the kernel, `NAME FUNCTION`. */
static ssize_t thread_write(struct file *file, const char __user *from,
			    size_t count, loff_t *pos)
{
	char text[64], *name, *rest = text;
	struct task_struct *task;
	void (*wait)(void);
	int ret = word(text, sizeof(text), from, count);

	if (ret)
		return ret;
	name = strsep(&rest, " ");
	wait = rest ? find(strim(rest)) : NULL;
	if (!wait)
		return -ENOENT;
	task = kthread_run(thread, wait, "%s", name);
	return IS_ERR(task) ? PTR_ERR(task) : count;
}

static void quux_update_stats(struct work_struct *work)
{
	while (!READ_ONCE(released))
		msleep(100);
}

static DECLARE_WORK(work, quux_update_stats);

/* `work`: a work of a queue that is to freeze. */
static ssize_t work_write(struct file *file, const char __user *from,
			  size_t count, loff_t *pos)
{
	queue_work(works, &work);
	return count;
}

static const struct file_operations wait_fops = {
	.owner = THIS_MODULE, .open = simple_open, .write = wait_write,
};
static const struct file_operations thread_fops = {
	.owner = THIS_MODULE, .open = simple_open, .write = thread_write,
};
static const struct file_operations work_fops = {
	.owner = THIS_MODULE, .open = simple_open, .write = work_write,
};

int trouble_waits_init(struct dentry *dir)
{
	sema_init(&semaphore, 1);
	works = alloc_workqueue("quux_stats", WQ_FREEZABLE | WQ_UNBOUND, 0);
	if (!works)
		return -ENOMEM;
	debugfs_create_file("wait", 0200, dir, NULL, &wait_fops);
	debugfs_create_file("thread", 0200, dir, NULL, &thread_fops);
	debugfs_create_file("work", 0200, dir, NULL, &work_fops);
	return 0;
}

void trouble_waits_exit(void)
{
	trouble_let_go();
	destroy_workqueue(works);
}
