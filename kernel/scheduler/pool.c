// SPDX-License-Identifier: GPL-2.0
/*
 * Threads that take jobs. They live through a cycle and, if few, longer: the
 * kernel's workers end after five idle minutes, so that every real suspend
 * would begin without any.
 *
 * A job goes to the thread that was idle for the shortest time, else into a
 * queue. The manager makes threads while jobs wait and nobody is idle.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "host.h"
#include "pool.h"

/* Threads that live through quiet times, and how long the others do. */
#define FEW_WORKERS	4
#define KEEP_IDLE	(30 * HZ)
/* When to try again after a thread could not be made. */
#define RETRY		msecs_to_jiffies(10)

struct worker {
	struct task_struct *task;
	struct list_head idle;
	struct ready_pool_job *job;
};

unsigned int ready_pool_most = 512;

static const struct ready_pool_owner *owner;

static struct {
	spinlock_t lock;		/* protects all of it */
	struct list_head idle;		/* struct worker, last used first */
	struct ready_pool_job *head, *tail;	/* queue */
	unsigned int queued;
	unsigned int workers;
	unsigned int idlers;
	unsigned int warm;		/* how many to have before a cycle */
	unsigned int peak;		/* most at work at once, this cycle */
	bool failed;			/* a thread could not be made just now */
	struct task_struct *manager;
	wait_queue_head_t want;
} pool;

static struct ready_pool_job *next_job(void)
{
	struct ready_pool_job *job = pool.head;

	lockdep_assert_held(&pool.lock);
	if (!job)
		return NULL;
	pool.head = job->next;
	if (!pool.head)
		pool.tail = NULL;
	pool.queued--;
	return job;
}

bool ready_pool_wants_help(void)
{
	return READ_ONCE(pool.queued) &&
	       (READ_ONCE(pool.failed) || READ_ONCE(pool.workers) >= ready_pool_most);
}

void ready_pool_submit(struct ready_pool_job *job)
{
	struct worker *worker;

	spin_lock(&pool.lock);
	worker = list_first_entry_or_null(&pool.idle, struct worker, idle);
	if (worker) {
		list_del_init(&worker->idle);
		pool.idlers--;
		pool.peak = max(pool.peak, pool.workers - pool.idlers);
		/* Pairs with the load in worker_main(). */
		smp_store_release(&worker->job, job);
		spin_unlock(&pool.lock);
		wake_up_process(worker->task);
		return;
	}
	job->next = NULL;
	if (!pool.tail)
		pool.head = job;
	else
		pool.tail->next = job;
	pool.tail = job;
	pool.queued++;
	spin_unlock(&pool.lock);
	if (ready_pool_wants_help())
		owner->help();
	else
		wake_up(&pool.want);
}

static int worker_main(void *data)
{
	struct worker *worker = data;

	for (;;) {
		struct ready_pool_job *job;

		spin_lock(&pool.lock);
		job = next_job();
		if (!job) {
			worker->job = NULL;
			list_add(&worker->idle, &pool.idle);
			pool.idlers++;
		}
		spin_unlock(&pool.lock);
		while (!job) {
			set_current_state(TASK_IDLE);
			/* Pairs with the store in ready_pool_submit(). */
			job = smp_load_acquire(&worker->job);
			if (job || kthread_should_stop())
				break;
			schedule();
		}
		__set_current_state(TASK_RUNNING);
		if (!job)
			return 0;
		owner->run(job);
	}
}

static int add_worker(void)
{
	struct worker *worker;
	struct task_struct *task;

	worker = host_new(struct worker, GFP_NOIO | __GFP_NOWARN);
	if (!worker)
		return -ENOMEM;
	INIT_LIST_HEAD(&worker->idle);
	task = kthread_create(worker_main, worker, HOST_THREAD);
	if (IS_ERR(task)) {
		kfree(worker);
		return PTR_ERR(task);
	}
	worker->task = task;
	spin_lock(&pool.lock);
	pool.workers++;
	pool.peak = max(pool.peak, pool.workers - pool.idlers);
	spin_unlock(&pool.lock);
	wake_up_process(task);
	return 0;
}

/* Ends one idle worker, if there are more than @few. */
static bool end_worker(unsigned int few)
{
	struct worker *worker = NULL;

	spin_lock(&pool.lock);
	if (pool.workers > few && !list_empty(&pool.idle)) {
		/* The one that has been idle longest. */
		worker = list_last_entry(&pool.idle, struct worker, idle);
		list_del_init(&worker->idle);
		pool.idlers--;
		pool.workers--;
	}
	spin_unlock(&pool.lock);
	if (!worker)
		return false;
	kthread_stop(worker->task);
	kfree(worker);
	return true;
}

static bool wants_worker(void)
{
	return READ_ONCE(pool.queued) && !READ_ONCE(pool.idlers) &&
	       !READ_ONCE(pool.failed) &&
	       READ_ONCE(pool.workers) < ready_pool_most;
}

/* Makes workers while jobs wait; ends idle ones some time after a cycle. */
static int manager_main(void *unused)
{
	while (!kthread_should_stop()) {
		long left = wait_event_idle_timeout(pool.want,
			wants_worker() || kthread_should_stop(), KEEP_IDLE);

		if (wants_worker()) {
			if (add_worker()) {
				WRITE_ONCE(pool.failed, true);
				owner->help();
				schedule_timeout_idle(RETRY);
				WRITE_ONCE(pool.failed, false);
			}
		} else if (!left) {
			while (end_worker(FEW_WORKERS))
				cond_resched();
		}
	}
	return 0;
}

void ready_pool_warm(void)
{
	unsigned int n;

	spin_lock(&pool.lock);
	pool.warm = max(pool.peak, pool.warm / 2);
	pool.peak = 0;
	n = max_t(unsigned int, pool.warm, FEW_WORKERS);
	spin_unlock(&pool.lock);
	while (READ_ONCE(pool.workers) < min(n, ready_pool_most))
		if (add_worker())
			break;
}

struct ready_pool_job *ready_pool_take(void)
{
	struct ready_pool_job *job;

	spin_lock(&pool.lock);
	job = next_job();
	spin_unlock(&pool.lock);
	return job;
}

void ready_pool_figures(unsigned int *workers, unsigned int *peak)
{
	spin_lock(&pool.lock);
	*workers = pool.workers;
	*peak = pool.peak;
	spin_unlock(&pool.lock);
}

int ready_pool_start(const struct ready_pool_owner *of)
{
	owner = of;
	spin_lock_init(&pool.lock);
	INIT_LIST_HEAD(&pool.idle);
	init_waitqueue_head(&pool.want);
	pool.manager = kthread_run(manager_main, NULL, HOST_THREAD "_manager");
	return PTR_ERR_OR_ZERO(pool.manager);
}

void ready_pool_stop(void)
{
	kthread_stop(pool.manager);
	/* A worker that was just made is not idle yet. */
	while (READ_ONCE(pool.workers))
		if (!end_worker(0))
			fsleep(1000);
}
