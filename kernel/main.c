// SPDX-License-Identifier: GPL-2.0
/*
 * dormouse_board: makes devices from a description, so that a real kernel can
 * be watched while it suspends and resumes any device graph.
 *
 * Four files in debugfs, below dormouse/:
 *   board    one write() is one description; it replaces the devices of the
 *            one before. "clear" takes them away. Reading tells the state, or
 *            the line and the reason of a refusal.
 *   uevents  whether the devices of the next board are announced to udev
 *   shake    trouble at random; see shake.c
 *   wake_ns  how long suspend-to-idle lasts before a timer ends it; 0: for ever
 */
#include <linux/debugfs.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "board.h"

static DEFINE_MUTEX(board_lock);	/* guards the three below */
static struct board *current_board;
static struct board_error last_error;
static int last_result;
static struct dentry *dir;

static int replace_board(char *text)
{
	struct board *new = NULL;
	int ret = 0;

	if (strcmp(strim(text), "clear")) {
		new = board_parse(text, &last_error);
		if (IS_ERR(new))
			return PTR_ERR(new);
	}
	board_remove(current_board);
	current_board = new;
	if (new)
		ret = board_add(new, &last_error);
	if (ret) {
		board_remove(new);
		current_board = NULL;
	}
	return ret;
}

static ssize_t board_write(struct file *file, const char __user *from,
			   size_t count, loff_t *pos)
{
	char *text;
	int ret;

	mutex_lock(&board_lock);
	last_error = (struct board_error){ };
	if (*pos) {
		ret = board_refuse(&last_error, 0,
				   "a description is one write");
	} else if (count > BOARD_MAX_TEXT) {
		ret = board_refuse(&last_error, 0, "more than %d bytes",
				   BOARD_MAX_TEXT);
	} else {
		text = kvmalloc(count + 1, GFP_KERNEL);
		if (!text) {
			ret = -ENOMEM;
		} else if (copy_from_user(text, from, count)) {
			ret = -EFAULT;
		} else {
			text[count] = '\0';
			ret = replace_board(text);
		}
		kvfree(text);
	}
	last_result = ret;
	mutex_unlock(&board_lock);
	if (ret)
		return ret;
	*pos += count;
	return count;
}

static ssize_t board_read(struct file *file, char __user *to, size_t count,
			  loff_t *pos)
{
	char text[192];
	int len;

	mutex_lock(&board_lock);
	if (last_error.text[0])
		len = scnprintf(text, sizeof(text), "line %u: %s\n",
				last_error.line, last_error.text);
	else if (last_result)
		len = scnprintf(text, sizeof(text), "error %d\n", last_result);
	else if (current_board)
		len = scnprintf(text, sizeof(text), "%u devices, %u links\n",
				current_board->n_devices,
				current_board->n_links);
	else
		len = scnprintf(text, sizeof(text), "no board\n");
	mutex_unlock(&board_lock);
	return simple_read_from_buffer(to, count, pos, text, len);
}

static const struct file_operations board_fops = {
	.owner	= THIS_MODULE,
	.open	= simple_open,
	.read	= board_read,
	.write	= board_write,
	.llseek	= default_llseek,
};

static int __init board_init(void)
{
	int ret;

	board_callbacks_init();
	ret = board_devices_init();
	if (ret)
		return ret;
	ret = board_wake_init();
	if (ret) {
		board_devices_exit();
		return ret;
	}
	dir = debugfs_create_dir("dormouse", NULL);
	debugfs_create_file("board", 0600, dir, NULL, &board_fops);
	debugfs_create_bool("uevents", 0600, dir, &board_uevents);
	debugfs_create_u64("wake_ns", 0600, dir, &board_wake_ns);
	board_shake_init(dir);
	return 0;
}

static void __exit board_exit(void)
{
	debugfs_remove_recursive(dir);
	board_remove(current_board);
	board_wake_exit();
	board_devices_exit();
}

module_init(board_init);
module_exit(board_exit);

MODULE_DESCRIPTION("Devices on demand, to watch a kernel suspend them");
MODULE_LICENSE("GPL");
