// SPDX-License-Identifier: GPL-2.0
/*
 * dormouse_pdisk: what the parameters say, the host, and its disks.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pm_qos.h>
#include <linux/pm_runtime.h>
#include <linux/string.h>
#include "pdisk.h"

static char *levels = "100000000,400000000";
module_param(levels, charp, 0444);
MODULE_PARM_DESC(levels, "clocks in Hz, slowest first");

static unsigned long base_ns = 60000;
module_param(base_ns, ulong, 0444);
MODULE_PARM_DESC(base_ns, "time of a request, whatever its size and the clock");

static unsigned long transfer_ns = 96000;
module_param(transfer_ns, ulong, 0444);
MODULE_PARM_DESC(transfer_ns, "time of 64 KiB at the fastest clock");

static unsigned long switch_ns = 500000;
module_param(switch_ns, ulong, 0444);
MODULE_PARM_DESC(switch_ns, "time of a change of the clock");

static bool blocks;
module_param(blocks, bool, 0444);
MODULE_PARM_DESC(blocks, "requests wait for a change of the clock");

static unsigned long gate_ns;
module_param(gate_ns, ulong, 0444);
MODULE_PARM_DESC(gate_ns, "the clock is gated after this rest; 0: never");

static unsigned long ungate_ns = 100000;
module_param(ungate_ns, ulong, 0444);
MODULE_PARM_DESC(ungate_ns, "time to ungate the clock");

unsigned int pdisk_poll_ms = 60;
module_param_named(poll_ms, pdisk_poll_ms, uint, 0444);
MODULE_PARM_DESC(poll_ms, "devfreq looks so often");

bool pdisk_deferrable;
module_param_named(deferrable, pdisk_deferrable, bool, 0444);
MODULE_PARM_DESC(deferrable, "an idle CPU is not woken for a look");

unsigned int pdisk_pauses;
module_param_named(pauses, pdisk_pauses, uint, 0444);
MODULE_PARM_DESC(pauses, "a look at an idle host is the last until a request: 0 never, 1 unless it wants the fastest clock, 2 always");

static unsigned int up_threshold = 70;
module_param_named(up, up_threshold, uint, 0444);
MODULE_PARM_DESC(up, "upthreshold of the governor, percent");

static unsigned int down_differential = 5;
module_param_named(down, down_differential, uint, 0444);
MODULE_PARM_DESC(down, "downdifferential of the governor, percent");

int pdisk_autosuspend_ms = -1;
module_param_named(autosuspend_ms, pdisk_autosuspend_ms, int, 0444);
MODULE_PARM_DESC(autosuspend_ms, "disks are suspended after this rest; -1: never");

static unsigned long suspend_ns = 1000000;
module_param(suspend_ns, ulong, 0444);
MODULE_PARM_DESC(suspend_ns, "time of a disk's runtime suspend");

static unsigned long resume_ns = 3000000;
module_param(resume_ns, ulong, 0444);
MODULE_PARM_DESC(resume_ns, "time of a disk's runtime resume");

static unsigned long host_resume_ns;
module_param(host_resume_ns, ulong, 0444);
MODULE_PARM_DESC(host_resume_ns, "time of the host's runtime resume");

static unsigned int luns = 1;
module_param(luns, uint, 0444);
MODULE_PARM_DESC(luns, "disks, at most 8");

static unsigned int queues = 1;
module_param(queues, uint, 0444);
MODULE_PARM_DESC(queues, "hardware queues, at most 16");

static unsigned int depth = 64;
module_param(depth, uint, 0444);
MODULE_PARM_DESC(depth, "requests that a hardware queue takes, at most 1024");

static struct pdisk_law law;
static struct pdisk_host host;
static struct platform_device *lun[MAX_LUNS];

/*
 * Whether the constraint of any disk asks for more than the fastest clock. The
 * kernel's function that reads it is not exported in 6.12.
 */
bool pdisk_lun_wants_most(void)
{
	struct dev_pm_qos *qos;
	bool wants = false;
	unsigned int i;

	spin_lock_irq(&host.lock);
	for (i = 0; i < luns && !wants; i++) {
		qos = lun[i] ? lun[i]->dev.power.qos : NULL;
		/* In kHz, which is above every clock in Hz / 1000. */
		wants = !IS_ERR_OR_NULL(qos) &&
			READ_ONCE(qos->freq.min_freq.target_value) * 1000ULL >=
			law.levels[law.nr_levels - 1];
	}
	spin_unlock_irq(&host.lock);
	return wants;
}

static ssize_t figures_show(struct device *dev, struct device_attribute *attr,
			    char *buf)
{
	struct pdisk_host *h = dev_get_drvdata(dev);
	unsigned int i;
	int at;

	spin_lock_irq(&h->lock);
	serve_count(h);
	at = sysfs_emit(buf, "served %llu\nchanges %llu\nungates %llu\n",
			h->served, h->changes, h->ungates);
	at += sysfs_emit_at(buf, at, "asleep_ns %llu\ngated_ns %llu\n",
			    h->asleep_ns, h->gated_ns);
	for (i = 0; i < h->law->nr_levels; i++)
		at += sysfs_emit_at(buf, at, "at %llu %llu\n",
				    h->law->levels[i], h->at_level[i]);
	spin_unlock_irq(&h->lock);
	return at;
}
static DEVICE_ATTR_RO(figures);

static struct attribute *host_attrs[] = { &dev_attr_figures.attr, NULL };
ATTRIBUTE_GROUPS(host);

static int host_suspend(struct device *dev)
{
	return 0;
}

static int host_resume(struct device *dev)
{
	pdisk_sleep(law.host_resume_ns);
	return 0;
}

static const struct dev_pm_ops host_pm = {
	RUNTIME_PM_OPS(host_suspend, host_resume, NULL)
};

static int host_probe(struct platform_device *pdev)
{
	int ret;

	host.pdev = pdev;
	host.law = &law;
	host.thresholds.upthreshold = up_threshold;
	host.thresholds.downdifferential = down_differential;
	platform_set_drvdata(pdev, &host);
	mutex_init(&host.sleep);
	serve_init(&host);
	ret = clock_add(&host);
	if (ret)
		return ret;
	pm_runtime_set_active(&pdev->dev);
	pm_runtime_enable(&pdev->dev);
	return 0;
}

static void host_remove(struct platform_device *pdev)
{
	pm_runtime_disable(&pdev->dev);
	clock_remove(&host);
	serve_stop(&host);
}

static struct platform_driver host_driver = {
	.probe	= host_probe,
	.remove	= host_remove,
	.driver	= {
		.name		= "dormouse_pdisk",
		.pm		= pm_ptr(&host_pm),
		.dev_groups	= host_groups,
		/* Its disks want it to be bound when they are made. */
		.probe_type	= PROBE_FORCE_SYNCHRONOUS,
	},
};

static int read_law(void)
{
	const unsigned long times[] = {
		base_ns, transfer_ns, switch_ns, gate_ns, ungate_ns,
		suspend_ns, resume_ns, host_resume_ns,
	};
	char *copy, *rest, *word;
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(times); i++) {
		if (times[i] > NSEC_PER_SEC) {
			pr_err("dormouse_pdisk: no time may be above a second\n");
			return -EINVAL;
		}
	}
	if (!luns || luns > MAX_LUNS || !queues || queues > 16 || !depth ||
	    depth > 1024) {
		pr_err("dormouse_pdisk: luns 1 to %d, queues 1 to 16, depth 1 to 1024\n",
		       MAX_LUNS);
		return -EINVAL;
	}
	law.base_ns = base_ns;
	law.transfer_ns = transfer_ns;
	law.switch_ns = switch_ns;
	law.blocks = blocks;
	law.gate_ns = gate_ns;
	law.ungate_ns = ungate_ns;
	law.suspend_ns = suspend_ns;
	law.resume_ns = resume_ns;
	law.host_resume_ns = host_resume_ns;

	copy = kstrdup(levels, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	rest = copy;
	while (!ret && (word = strsep(&rest, ","))) {
		u64 *l = law.levels;
		unsigned int n = law.nr_levels;

		/* A ratio of at most 1000 keeps service times within 64 bits. */
		if (n == MAX_LEVELS || kstrtou64(word, 10, &l[n]) ||
		    l[n] < 1000 || l[n] > 100ULL * NSEC_PER_SEC ||
		    (n && (l[n] <= l[n - 1] || l[n] > 1000 * l[0]))) {
			pr_err("dormouse_pdisk: levels are 1 to %d clocks in Hz, slowest first\n",
			       MAX_LEVELS);
			ret = -EINVAL;
		}
		law.nr_levels++;
	}
	kfree(copy);
	return ret;
}

static void set_lun(unsigned int i, struct platform_device *pdev)
{
	spin_lock_irq(&host.lock);
	lun[i] = pdev;
	spin_unlock_irq(&host.lock);
}

static void remove_luns(void)
{
	struct platform_device *pdev;
	int i;

	for (i = MAX_LUNS - 1; i >= 0; i--) {
		pdev = lun[i];
		if (!pdev)
			continue;
		set_lun(i, NULL);
		platform_device_unregister(pdev);
	}
}

static int __init pdisk_init(void)
{
	struct platform_device *pdev;
	unsigned int i;
	int ret = read_law();

	if (ret)
		return ret;
	ret = platform_driver_register(&host_driver);
	if (ret)
		return ret;
	ret = platform_driver_register(&pdisk_lun_driver);
	if (ret)
		goto no_lun_driver;
	pdev = platform_device_register_simple("dormouse_pdisk",
					       PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(pdev)) {
		ret = PTR_ERR(pdev);
		goto no_host;
	}
	if (!host.devfreq) {
		pr_err("dormouse_pdisk: the clock was refused; is governor_simpleondemand loaded?\n");
		ret = -ENODEV;
		goto no_tags;
	}
	ret = lun_tags_add(&host, queues, depth);
	if (ret)
		goto no_tags;
	for (i = 0; i < luns; i++) {
		struct platform_device_info info = {
			.parent	= &pdev->dev,
			.name	= "dormouse_pdisk_lun",
			.id	= i,
		};
		struct platform_device *disk;

		disk = platform_device_register_full(&info);
		if (IS_ERR(disk)) {
			ret = PTR_ERR(disk);
			goto no_luns;
		}
		set_lun(i, disk);
	}
	return 0;
no_luns:
	remove_luns();
	lun_tags_remove();
no_tags:
	platform_device_unregister(pdev);
no_host:
	platform_driver_unregister(&pdisk_lun_driver);
no_lun_driver:
	platform_driver_unregister(&host_driver);
	return ret;
}

static void __exit pdisk_exit(void)
{
	remove_luns();
	lun_tags_remove();
	platform_device_unregister(host.pdev);
	platform_driver_unregister(&pdisk_lun_driver);
	platform_driver_unregister(&host_driver);
}

module_init(pdisk_init);
module_exit(pdisk_exit);

MODULE_DESCRIPTION("A disk whose power states cost what they are told to cost");
MODULE_SOFTDEP("pre: governor_simpleondemand");
MODULE_LICENSE("GPL");
