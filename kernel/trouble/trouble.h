/* SPDX-License-Identifier: GPL-2.0 */
#ifndef DORMOUSE_TROUBLE_H
#define DORMOUSE_TROUBLE_H

#include <linux/types.h>

/* In waits.c: who stands where, until all are let go. */
struct dentry;
void trouble_let_go(void);
void trouble_hold(void);
int trouble_waits_init(struct dentry *dir);
void trouble_waits_exit(void);

/* In slow.c: a file system that takes long to write. */
int trouble_slow_init(struct dentry *dir);
void trouble_slow_exit(void);

/* In inside.c: what callbacks wait for, by kind. */
struct device;
int trouble_inside_find(const char *name);
void trouble_inside(struct device *dev, int kind, unsigned int number);
int trouble_inside_init(struct dentry *dir);
void trouble_inside_exit(void);

#endif
