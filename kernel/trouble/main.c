// SPDX-License-Identifier: GPL-2.0
/*
 * dormouse_trouble: devices, tasks and works that make trouble around one sleep, as a
 * plan says, so that the log of a real kernel is had with what is true of it.
 *
 * Files in debugfs, below dormouse_trouble/:
 *   plan     what the next sleep meets, a line each: DEVICE PHASE WHAT NUMBER, or
 *            "clear". PHASE is prepare, suspend, late, noirq, resume_noirq, early,
 *            resume or complete; WHAT is one of
 *              sleep N   the callback takes N ms
 *              fail N    it returns -N
 *              warn 0    it warns
 *              oops 0    it reads where nothing is
 *              bug 0     it says that it cannot be
 *              wake 0    it is a wake-up of that device
 *              stall N   it computes N ms and lets nobody else
 *              debounce N, settle N, poll N, answer N, vain N, bus N, event N, flush 0,
 *              load 0, i2c N, acpi N
 *                        it waits in one of the ways of inside.c
 *   hold     whoever waits by the files below stands until "clear"
 *   wait, thread, work  tasks, threads and works that do not freeze; see waits.c
 *   sync_ms  how long the file system dormouse_trouble takes to write; see slow.c
 *   runtime  DEVICE N WHAT: its callback of runtime PM returns -N, and it is asked for
 *            twice; WHAT is resume or suspend
 *   wake_ms  a wake-up so long after it is written
 *   idle_ms  how long suspend-to-idle lasts before a timer ends it; 0: for ever
 *   inside   what was waited for in those ways: DEVICE FUNCTION NANOSECONDS, a line each;
 *            empty once it was read
 *   measured what each step of the last sleep took, by this module's own clock
 */
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/pm.h>
#include <linux/pm_runtime.h>
#include <linux/pm_wakeup.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/suspend.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <trace/events/power.h>

#include "trouble.h"

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0) || \
	LINUX_VERSION_CODE >= KERNEL_VERSION(7, 4, 0)
#error "dormouse_trouble knows Linux 6.1 to 7.3"
#endif

enum phase {
	PREPARE, SUSPEND, LATE, NOIRQ, RESUME_NOIRQ, EARLY, RESUME, COMPLETE, PHASES
};

static const char * const phase_names[] = {
	"prepare", "suspend", "late", "noirq", "resume_noirq", "early", "resume",
	"complete",
};

enum what { NOTHING, SLEEP, FAIL, WARNS, OOPS, BUGS, WAKE, STALL, WHATS };

static const char * const what_names[] = {
	"nothing", "sleep", "fail", "warn", "oops", "bug", "wake", "stall",
};

#define TWO	2

/* One of the first, or so many more than these as the number of a way to wait. */
struct step {
	int what;
	unsigned int number;
};

struct one {
	struct platform_device *pdev;
	struct step steps[PHASES][TWO];
	int runtime;
};

static const char * const names[] = {
	"quux-phy", "vexnet", "zorb_codec", "wibble-hub", "elm-gpio", "firdsp",
	"yew_mmc", "oak-bridge",
};

static struct one devices[ARRAY_SIZE(names)];
static DEFINE_MUTEX(plan_lock);
static struct dentry *dir;

static noinline int trouble_warn(struct device *dev)
{
	WARN(1, "%s: state is not what it should be\n", dev_name(dev));
	return 0;
}

static noinline int trouble_oops(struct device *dev)
{
	int *nothing = NULL;

	OPTIMIZER_HIDE_VAR(nothing);
	return READ_ONCE(nothing[16]);
}

static noinline int trouble_bug(struct device *dev)
{
	BUG();
	return 0;
}

static noinline void trouble_stall(unsigned int ms)
{
	u64 end = local_clock() + (u64)ms * NSEC_PER_MSEC;

	preempt_disable();
	while (local_clock() < end)
		cpu_relax();
	preempt_enable();
}

static int act(struct device *dev, enum phase phase)
{
	struct one *d = dev_get_drvdata(dev);
	int i, ret = 0;

	for (i = 0; i < TWO; i++) {
		unsigned int n = d->steps[phase][i].number;

		switch (d->steps[phase][i].what) {
		case SLEEP:
			msleep(n);
			break;
		case FAIL:
			ret = -(int)n;
			break;
		case WARNS:
			trouble_warn(dev);
			break;
		case OOPS:
			trouble_oops(dev);
			break;
		case BUGS:
			trouble_bug(dev);
			break;
		case WAKE:
			pm_wakeup_dev_event(dev, 100, true);
			break;
		case STALL:
			trouble_stall(n);
			break;
		case NOTHING:
			break;
		default:
			trouble_inside(dev, d->steps[phase][i].what - WHATS, n);
		}
	}
	return ret;
}

#define CALLBACK(name, phase)					\
static int trouble_##name(struct device *dev)			\
{								\
	return act(dev, phase);					\
}

CALLBACK(prepare, PREPARE)
CALLBACK(suspend, SUSPEND)
CALLBACK(suspend_late, LATE)
CALLBACK(suspend_noirq, NOIRQ)
CALLBACK(resume_noirq, RESUME_NOIRQ)
CALLBACK(resume_early, EARLY)
CALLBACK(resume, RESUME)

static void trouble_complete(struct device *dev)
{
	act(dev, COMPLETE);
}

static int trouble_runtime_suspend(struct device *dev)
{
	struct one *d = dev_get_drvdata(dev);

	return d->runtime > 0 ? -d->runtime : 0;
}

static int trouble_runtime_resume(struct device *dev)
{
	struct one *d = dev_get_drvdata(dev);

	return d->runtime < 0 ? d->runtime : 0;
}

/* A hibernation goes through the same steps twice. */
static const struct dev_pm_ops trouble_pm_ops = {
	.prepare = trouble_prepare,
	.complete = trouble_complete,
	SYSTEM_SLEEP_PM_OPS(trouble_suspend, trouble_resume)
	LATE_SYSTEM_SLEEP_PM_OPS(trouble_suspend_late, trouble_resume_early)
	NOIRQ_SYSTEM_SLEEP_PM_OPS(trouble_suspend_noirq, trouble_resume_noirq)
	RUNTIME_PM_OPS(trouble_runtime_suspend, trouble_runtime_resume, NULL)
};

static struct platform_driver drivers[ARRAY_SIZE(names)];

static int find(const char * const *list, int count, const char *name)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(list[i], name))
			return i;
	return -ENOENT;
}

static void clear(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		memset(devices[i].steps, 0, sizeof(devices[i].steps));
	trouble_let_go();
}

static int add(char *line)
{
	char device[24], phase[24], what[24];
	unsigned int number;
	int d, p, w, i;

	if (sscanf(line, "%23s %23s %23s %u", device, phase, what, &number) != 4)
		return -EINVAL;
	d = find(names, ARRAY_SIZE(names), device);
	p = find(phase_names, PHASES, phase);
	w = find(what_names, ARRAY_SIZE(what_names), what);
	if (w < 0) {
		w = trouble_inside_find(what);
		w = w < 0 ? w : w + WHATS;
	}
	if (d < 0 || p < 0 || w < 0)
		return -ENOENT;
	for (i = 0; i < TWO; i++) {
		struct step *s = &devices[d].steps[p][i];

		if (s->what == NOTHING) {
			s->what = w;
			s->number = number;
			return 0;
		}
	}
	return -ENOSPC;
}

static ssize_t plan_write(struct file *file, const char __user *from,
			  size_t count, loff_t *pos)
{
	char *text, *rest, *line;
	int ret = 0;

	if (count > 4096)
		return -EINVAL;
	text = memdup_user_nul(from, count);
	if (IS_ERR(text))
		return PTR_ERR(text);
	rest = text;
	mutex_lock(&plan_lock);
	while (!ret && (line = strsep(&rest, "\n;")) != NULL) {
		line = strim(line);
		if (!strcmp(line, "clear"))
			clear();
		else if (!strcmp(line, "hold"))
			trouble_hold();
		else if (*line)
			ret = add(line);
	}
	mutex_unlock(&plan_lock);
	kfree(text);
	return ret ? ret : count;
}

/* A driver that needs its device, and what it says when it does not get it. */
static void ask(struct device *dev, bool up)
{
	int ret;

	ret = up ? pm_runtime_resume(dev) : pm_runtime_suspend(dev);
	if (ret < 0)
		dev_err(dev, "runtime %s failed: %d\n", up ? "resume" : "suspend", ret);
}

static ssize_t runtime_write(struct file *file, const char __user *from,
			     size_t count, loff_t *pos)
{
	char text[64], device[24], what[24];
	unsigned int number;
	struct device *dev;
	bool up;
	int d;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, from, count))
		return -EFAULT;
	text[count] = '\0';
	if (sscanf(text, "%23s %u %23s", device, &number, what) != 3)
		return -EINVAL;
	d = find(names, ARRAY_SIZE(names), device);
	if (d < 0)
		return d;
	up = !strcmp(what, "resume");
	dev = &devices[d].pdev->dev;
	mutex_lock(&plan_lock);
	if (!up)
		pm_runtime_set_active(dev);
	devices[d].runtime = up ? -(int)number : (int)number;
	pm_runtime_enable(dev);
	ask(dev, up);
	msleep(20);
	ask(dev, up);
	pm_runtime_disable(dev);
	pm_runtime_set_suspended(dev);
	devices[d].runtime = 0;
	mutex_unlock(&plan_lock);
	return count;
}

static const struct file_operations runtime_fops = {
	.owner = THIS_MODULE, .open = simple_open, .write = runtime_write,
};

static const struct file_operations plan_fops = {
	.owner = THIS_MODULE, .open = simple_open, .write = plan_write,
};

/* A wake-up of the first device, so long after it is asked for; or of nobody. */
static struct hrtimer timer;
static bool anonymous;
static u64 idle_ms;

static enum hrtimer_restart wake(struct hrtimer *t)
{
	if (anonymous)
		pm_system_wakeup();
	else
		pm_wakeup_dev_event(&devices[0].pdev->dev, 100, true);
	return HRTIMER_NORESTART;
}

static int wake_set(void *data, u64 ms)
{
	hrtimer_cancel(&timer);
	anonymous = false;
	if (ms)
		hrtimer_start(&timer, ms_to_ktime(ms), HRTIMER_MODE_REL);
	return 0;
}

DEFINE_DEBUGFS_ATTRIBUTE(wake_fops, NULL, wake_set, "%llu\n");

/* What the kernel's own tracepoints say of the last sleep. */
#define STEPS	64
static struct { char name[24]; int val; u64 begin, end; } measured[STEPS];
static unsigned int count;

static void on_step(void *unused, const char *action, int val, bool start)
{
	u64 now = local_clock();
	int i;

	if (idle_ms && start && val == (__force int)PM_SUSPEND_TO_IDLE &&
	    !strcmp(action, "machine_suspend")) {
		anonymous = true;
		hrtimer_start(&timer, ms_to_ktime(idle_ms), HRTIMER_MODE_REL);
	}
	if (start) {
		if (count < STEPS) {
			strscpy(measured[count].name, action, sizeof(measured[0].name));
			measured[count].val = val;
			measured[count].begin = now;
			measured[count].end = 0;
			count++;
		}
		return;
	}
	for (i = count; i-- > 0;) {
		if (!measured[i].end && !strcmp(measured[i].name, action)) {
			measured[i].end = now;
			return;
		}
	}
}

static int measured_show(struct seq_file *s, void *unused)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		seq_printf(s, "%s %d %llu %llu\n", measured[i].name, measured[i].val,
			   measured[i].begin, measured[i].end);
	count = 0;
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(measured);

/* A device that waits for what never comes. */
static int late_probe(struct platform_device *pdev)
{
	return dev_err_probe(&pdev->dev, -EPROBE_DEFER, "cannot get its supply\n");
}

static struct platform_driver late_driver = {
	.probe = late_probe,
	.driver = { .name = "cask-sensor" },
};
static struct platform_device *late;

static void remove_all(void)
{
	unsigned int i;

	if (!IS_ERR_OR_NULL(late)) {
		platform_device_unregister(late);
		platform_driver_unregister(&late_driver);
	}
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!IS_ERR_OR_NULL(devices[i].pdev))
			platform_device_unregister(devices[i].pdev);
		if (drivers[i].driver.name)
			platform_driver_unregister(&drivers[i]);
	}
}

/* The core forgets the data of a device when its driver lets go of it. */
static int trouble_probe(struct platform_device *pdev)
{
	int d = find(names, ARRAY_SIZE(names), pdev->name);

	if (d < 0)
		return d;
	platform_set_drvdata(pdev, &devices[d]);
	return 0;
}

static int make_all(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		drivers[i].probe = trouble_probe;
		drivers[i].driver.pm = &trouble_pm_ops;
		drivers[i].driver.name = names[i];
		ret = platform_driver_register(&drivers[i]);
		if (ret) {
			drivers[i].driver.name = NULL;
			return ret;
		}
		devices[i].pdev = platform_device_alloc(names[i], 0);
		if (!devices[i].pdev)
			return -ENOMEM;
		/* Every other one in a thread of its own. */
		if (i % 2)
			device_enable_async_suspend(&devices[i].pdev->dev);
		ret = platform_device_add(devices[i].pdev);
		if (ret) {
			platform_device_put(devices[i].pdev);
			devices[i].pdev = NULL;
			return ret;
		}
		device_init_wakeup(&devices[i].pdev->dev, true);
	}
	ret = platform_driver_register(&late_driver);
	if (ret)
		return ret;
	late = platform_device_register_simple("cask-sensor", 3, NULL, 0);
	if (IS_ERR(late))
		platform_driver_unregister(&late_driver);
	return PTR_ERR_OR_ZERO(late);
}

static int __init trouble_init(void)
{
	int ret;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&timer, wake, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(&timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer.function = wake;
#endif
	dir = debugfs_create_dir("dormouse_trouble", NULL);
	ret = trouble_waits_init(dir);
	if (ret)
		goto no_waits;
	ret = trouble_slow_init(dir);
	if (ret)
		goto no_slow;
	ret = trouble_inside_init(dir);
	if (ret)
		goto no_inside;
	ret = make_all();
	if (ret)
		goto no_devices;
	ret = register_trace_suspend_resume(on_step, NULL);
	if (ret)
		goto no_devices;
	debugfs_create_file("plan", 0200, dir, NULL, &plan_fops);
	debugfs_create_file("runtime", 0200, dir, NULL, &runtime_fops);
	debugfs_create_file("measured", 0400, dir, NULL, &measured_fops);
	debugfs_create_file("wake_ms", 0200, dir, NULL, &wake_fops);
	debugfs_create_u64("idle_ms", 0600, dir, &idle_ms);
	return 0;
no_devices:
	remove_all();
	trouble_inside_exit();
no_inside:
	trouble_slow_exit();
no_slow:
	trouble_waits_exit();
no_waits:
	debugfs_remove_recursive(dir);
	return ret;
}

static void __exit trouble_exit(void)
{
	debugfs_remove_recursive(dir);
	unregister_trace_suspend_resume(on_step, NULL);
	tracepoint_synchronize_unregister();
	hrtimer_cancel(&timer);
	remove_all();
	trouble_inside_exit();
	trouble_slow_exit();
	trouble_waits_exit();
}

module_init(trouble_init);
module_exit(trouble_exit);

MODULE_DESCRIPTION("Trouble around a sleep, as a plan says");
MODULE_LICENSE("GPL");
