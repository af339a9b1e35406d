// SPDX-License-Identifier: GPL-2.0
/*
 * Trouble at random while devices sleep and wake: callbacks that fail, wake-up
 * events, devices that come and go, asynchronous flags that change between
 * cycles. And what must hold all the same: no callback runs beside that of its
 * device's parent or supplier in the same phase, and whatever went down comes up
 * once.
 *
 * debugfs dormouse/shake takes
 *   SEED FAIL WAKE PLUG   so many of a thousand callbacks do so; 0 0 0 0: none
 *   next                  between two cycles; flips flags, looks for devices
 *                         that did not come up
 * and tells how often that was.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/pm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <linux/uaccess.h>

#include "board.h"

#define PLUGS		8
/* A device that appears on the way down makes the kernel grumble: a few do. */
#define RARELY		16

struct plug {
	struct device dev;
	struct board_device *at;
};

static DEFINE_MUTEX(plug_lock);		/* guards the two below */
static struct plug *plugs[PLUGS];
static struct board *shaken;

static DEFINE_SPINLOCK(random_lock);	/* guards the state of chance */
static u64 chance;
static unsigned int fail, wake, plug;
static bool shaking;

static atomic_t fails, wakes, came, went, flips, overlaps, stuck, unasked;

/* A number below @below. */
static unsigned int draw(unsigned int below)
{
	unsigned long flags;
	u64 x;

	spin_lock_irqsave(&random_lock, flags);
	/* xorshift64 of Marsaglia. */
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	x = chance;
	spin_unlock_irqrestore(&random_lock, flags);
	return (u32)(x >> 32) % below;
}

static bool hit(unsigned int of_thousand)
{
	return of_thousand && draw(1000) < of_thousand;
}

static int plug_work(struct device *dev)
{
	usleep_range(1, 20);
	return 0;
}

static const struct dev_pm_ops plug_ops = {
	.suspend	= plug_work,
	.resume		= plug_work,
	.suspend_late	= plug_work,
	.resume_early	= plug_work,
	.suspend_noirq	= plug_work,
	.resume_noirq	= plug_work,
};

static const struct device_type plug_type = {
	.name	= "plug",
	.pm	= &plug_ops,
};

static void plug_release(struct device *dev)
{
	kfree(container_of(dev, struct plug, dev));
}

static struct plug *plug_add(struct board_device *at, unsigned int number)
{
	struct plug *p = kzalloc(sizeof(*p), GFP_NOIO);

	if (!p)
		return NULL;
	p->at = at;
	device_initialize(&p->dev);
	p->dev.release = plug_release;
	p->dev.type = &plug_type;
	p->dev.parent = &at->dev;
	if (draw(2))
		device_enable_async_suspend(&p->dev);
	dev_set_uevent_suppress(&p->dev, true);
	if (dev_set_name(&p->dev, "plug%u", number) || device_add(&p->dev)) {
		put_device(&p->dev);
		return NULL;
	}
	atomic_inc(&came);
	return p;
}

/*
 * Devices below @d only, and from its own callback, as the driver of a hub does:
 * nobody else can be in the way.
 */
static void plug_or_unplug(struct board_device *d, enum board_phase phase)
{
	unsigned int number = draw(PLUGS);

	mutex_lock(&plug_lock);
	if (plugs[number] && plugs[number]->at == d) {
		device_unregister(&plugs[number]->dev);
		plugs[number] = NULL;
		atomic_inc(&went);
	} else if (!plugs[number] &&
		   (phase >= PHASE_RESUME || !draw(RARELY))) {
		plugs[number] = plug_add(d, number);
	}
	mutex_unlock(&plug_lock);
}

/* The callback of the same device that undoes @phase; PHASE_COUNT for none. */
static enum board_phase answer(enum board_phase phase)
{
	if (phase < PHASE_SUSPEND || phase > PHASE_RESUME)
		return PHASE_COUNT;
	return PHASE_SUSPEND + PHASE_RESUME - phase;
}

static bool waited_for(enum board_link_kind kind)
{
	return kind != LINK_DORMANT && kind != LINK_SYNC_STATE_ONLY;
}

/* Before a callback. */
void board_shake_begin(struct board_device *d, enum board_phase phase)
{
	struct board *b = d->board;
	unsigned int i;

	if (!READ_ONCE(shaking) || answer(phase) == PHASE_COUNT)
		return;
	atomic_set(&d->busy, 1);
	/* Pairs with itself: of two that overlap, one sees the other. */
	smp_mb();
	if (d->parent >= 0 && atomic_read(&b->devices[d->parent]->busy))
		atomic_inc(&overlaps);
	for (i = 0; i < b->n_devices; i++)
		if (b->devices[i]->parent >= 0 &&
		    b->devices[b->devices[i]->parent] == d &&
		    atomic_read(&b->devices[i]->busy))
			atomic_inc(&overlaps);
	for (i = 0; i < b->n_links; i++) {
		struct board_device *c = b->devices[b->links[i].consumer];
		struct board_device *s = b->devices[b->links[i].supplier];

		if (waited_for(b->links[i].kind) &&
		    ((c == d && atomic_read(&s->busy)) ||
		     (s == d && atomic_read(&c->busy))))
			atomic_inc(&overlaps);
	}
}

/* After its work; what it is to return instead of @ret. */
int board_shake_end(struct board_device *d, enum board_phase phase, int ret)
{
	enum board_phase other = answer(phase);

	if (!READ_ONCE(shaking))
		return ret;
	if (hit(wake)) {
		atomic_inc(&wakes);
		pm_system_wakeup();
	}
	if (hit(plug))
		plug_or_unplug(d, phase);
	if (!ret && phase != PHASE_COMPLETE && hit(fail)) {
		atomic_inc(&fails);
		ret = -EIO;
	}
	if (other == PHASE_COUNT)
		return ret;
	if (d->present & BIT(other)) {
		bool down = phase < other;

		if (down && !ret && test_and_set_bit(phase, &d->down))
			atomic_inc(&unasked);
		if (!down && (d->present & BIT(other)) &&
		    !test_and_clear_bit(other, &d->down))
			atomic_inc(&unasked);
	}
	atomic_set(&d->busy, 0);
	return ret;
}

/* Between two cycles. */
static void next(void)
{
	unsigned int i;

	for (i = 0; shaken && i < shaken->n_devices; i++) {
		struct board_device *d = shaken->devices[i];

		if (d->down) {
			atomic_inc(&stuck);
			d->down = 0;
		}
		if (draw(4) || d->no_pm)
			continue;
		if (d->dev.power.async_suspend)
			device_disable_async_suspend(&d->dev);
		else
			device_enable_async_suspend(&d->dev);
		atomic_inc(&flips);
	}
}

/* The board whose devices are there now; NULL before they go. */
void board_shake_board(struct board *b)
{
	unsigned int i;

	mutex_lock(&plug_lock);
	shaken = b;
	for (i = 0; !b && i < PLUGS; i++) {
		if (plugs[i])
			device_unregister(&plugs[i]->dev);
		plugs[i] = NULL;
	}
	mutex_unlock(&plug_lock);
}

static ssize_t shake_write(struct file *file, const char __user *from,
			   size_t count, loff_t *pos)
{
	unsigned int f, w, p;
	char text[64];
	u64 seed;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, count))
		return -EFAULT;
	text[count] = '\0';
	if (!strcmp(strim(text), "next")) {
		mutex_lock(&plug_lock);
		next();
		mutex_unlock(&plug_lock);
		return count;
	}
	if (sscanf(text, "%llu %u %u %u", &seed, &f, &w, &p) != 4)
		return -EINVAL;
	spin_lock_irq(&random_lock);
	chance = seed * 2 + 1;
	spin_unlock_irq(&random_lock);
	fail = f;
	wake = w;
	plug = p;
	WRITE_ONCE(shaking, f || w || p);
	return count;
}

static ssize_t shake_read(struct file *file, char __user *to, size_t count,
			  loff_t *pos)
{
	char text[192];
	int len = scnprintf(text, sizeof(text),
			    "fails %d\nwakes %d\ncame %d\nwent %d\nflips %d\n"
			    "overlaps %d\nstuck %d\nunasked %d\n",
			    atomic_read(&fails), atomic_read(&wakes),
			    atomic_read(&came), atomic_read(&went),
			    atomic_read(&flips), atomic_read(&overlaps),
			    atomic_read(&stuck), atomic_read(&unasked));

	return simple_read_from_buffer(to, count, pos, text, len);
}

static const struct file_operations shake_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= shake_read,
	.write	= shake_write,
	.llseek	= default_llseek,
};

void board_shake_init(struct dentry *dir)
{
	debugfs_create_file("shake", 0600, dir, NULL, &shake_fops);
}
