// SPDX-License-Identifier: GPL-2.0
/*
 * Disks: each is a device of its own below the host, and suspended at run time
 * by the block layer. What is written is not kept, and reading gives nothing:
 * requests take time, and that is all.
 */
#include <linux/blk-pm.h>
#include <linux/module.h>
#include <linux/pm_runtime.h>
#include "pdisk.h"

#define SECTORS	(SZ_1G >> SECTOR_SHIFT)

static struct blk_mq_tag_set tags;

static blk_status_t lun_queue_rq(struct blk_mq_hw_ctx *hctx,
				 const struct blk_mq_queue_data *bd)
{
	struct pdisk_host *h = hctx->queue->tag_set->driver_data;

	blk_mq_start_request(bd->rq);
	serve_add(h, blk_mq_rq_to_pdu(bd->rq));
	return BLK_STS_OK;
}

static void lun_complete(struct request *rq)
{
	blk_mq_end_request(rq, BLK_STS_OK);
}

static const struct blk_mq_ops lun_mq_ops = {
	.queue_rq	= lun_queue_rq,
	.complete	= lun_complete,
};

static const struct block_device_operations lun_ops = {
	.owner		= THIS_MODULE,
};

int lun_tags_add(struct pdisk_host *h, unsigned int queues, unsigned int depth)
{
	tags.ops = &lun_mq_ops;
	tags.nr_hw_queues = queues;
	tags.queue_depth = depth;
	tags.numa_node = NUMA_NO_NODE;
	tags.cmd_size = sizeof(struct pdisk_cmd);
	tags.driver_data = h;
	return blk_mq_alloc_tag_set(&tags);
}

void lun_tags_remove(void)
{
	blk_mq_free_tag_set(&tags);
}

static struct pdisk_host *host_of(struct device *dev)
{
	return dev_get_drvdata(dev->parent);
}

static int lun_probe(struct platform_device *pdev)
{
	struct queue_limits lim = {
		.logical_block_size	= 512,
		.max_hw_sectors		= SZ_1M >> SECTOR_SHIFT,
		.max_segments		= 256,
	};
	struct device *dev = &pdev->dev;
	struct gendisk *disk;
	int ret;

	disk = blk_mq_alloc_disk(&tags, &lim, NULL);
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	snprintf(disk->disk_name, sizeof(disk->disk_name), "pdisk%d", pdev->id);
	disk->fops = &lun_ops;
	disk->flags |= GENHD_FL_NO_PART;
	set_capacity(disk, SECTORS);
	platform_set_drvdata(pdev, disk);

	pm_runtime_get_noresume(dev);
	pm_runtime_set_active(dev);
	blk_pm_runtime_init(disk->queue, dev);
	pm_runtime_set_autosuspend_delay(dev, pdisk_autosuspend_ms);
	pm_runtime_enable(dev);

	clock_awake(host_of(dev), 1);
	ret = device_add_disk(dev, disk, NULL);
	if (ret) {
		clock_awake(host_of(dev), -1);
		pm_runtime_disable(dev);
		pm_runtime_put_noidle(dev);
		put_disk(disk);
		return ret;
	}
	pm_runtime_mark_last_busy(dev);
	pm_runtime_put_autosuspend(dev);
	return 0;
}

static void lun_remove(struct platform_device *pdev)
{
	struct gendisk *disk = platform_get_drvdata(pdev);

	/* Awake until the end: what is queued is still served. */
	pm_runtime_get_sync(&pdev->dev);
	del_gendisk(disk);
	put_disk(disk);
	clock_awake(host_of(&pdev->dev), -1);
	pm_runtime_disable(&pdev->dev);
	pm_runtime_dont_use_autosuspend(&pdev->dev);
	pm_runtime_put_noidle(&pdev->dev);
}

static int lun_suspend(struct device *dev)
{
	struct gendisk *disk = dev_get_drvdata(dev);
	int ret = blk_pre_runtime_suspend(disk->queue);

	if (ret)
		return ret;
	pdisk_sleep(host_of(dev)->law->suspend_ns);
	blk_post_runtime_suspend(disk->queue, 0);
	clock_awake(host_of(dev), -1);
	return 0;
}

static int lun_resume(struct device *dev)
{
	struct gendisk *disk = dev_get_drvdata(dev);

	blk_pre_runtime_resume(disk->queue);
	pdisk_sleep(host_of(dev)->law->resume_ns);
	clock_awake(host_of(dev), 1);
	blk_post_runtime_resume(disk->queue);
	return 0;
}

static const struct dev_pm_ops lun_pm = {
	RUNTIME_PM_OPS(lun_suspend, lun_resume, NULL)
};

struct platform_driver pdisk_lun_driver = {
	.probe	= lun_probe,
	.remove	= lun_remove,
	.driver	= {
		.name	= "dormouse_pdisk_lun",
		.pm	= pm_ptr(&lun_pm),
	},
};
