// SPDX-License-Identifier: GPL-2.0
/*
 * A file system without files, whose sync takes as long as a slow disk's would.
 */
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/fs_context.h>
#include <linux/module.h>

#include "trouble.h"

#define MAGIC	0x64726d73

static u32 sync_ms;

static int slow_sync(struct super_block *sb, int wait)
{
	if (wait && sync_ms)
		msleep(sync_ms);
	return 0;
}

static const struct super_operations slow_ops = {
	.statfs = simple_statfs,
	.sync_fs = slow_sync,
};

static int slow_fill(struct super_block *sb, struct fs_context *fc)
{
	static const struct tree_descr none[] = { { "" } };
	int ret = simple_fill_super(sb, MAGIC, none);

	if (!ret)
		sb->s_op = &slow_ops;
	return ret;
}

static int slow_get_tree(struct fs_context *fc)
{
	return get_tree_nodev(fc, slow_fill);
}

static const struct fs_context_operations slow_context = {
	.get_tree = slow_get_tree,
};

static int slow_init_context(struct fs_context *fc)
{
	fc->ops = &slow_context;
	return 0;
}

static struct file_system_type slow_type = {
	.owner = THIS_MODULE,
	.name = "dormouse_trouble",
	.init_fs_context = slow_init_context,
	.kill_sb = kill_anon_super,
};

int trouble_slow_init(struct dentry *dir)
{
	debugfs_create_u32("sync_ms", 0600, dir, &sync_ms);
	return register_filesystem(&slow_type);
}

void trouble_slow_exit(void)
{
	unregister_filesystem(&slow_type);
}
