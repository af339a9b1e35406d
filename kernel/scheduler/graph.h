/* SPDX-License-Identifier: GPL-2.0 */
/* Devices of a list by position, and who waits for whom. */
#ifndef _READY_GRAPH_H
#define _READY_GRAPH_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/limits.h>
#include <linux/types.h>

#include "pool.h"

struct device;
struct list_head;

/* No position. */
#define NONE		U32_MAX
/* In a neighbour: the kernel does not wait for this link (counts() in core.c). */
#define WEAK		BIT(31)

struct ready_node {
	struct device *dev;
	/* What the edges were made of: does it still hold? */
	const struct device *parent;
	unsigned long links;
	/* The rest is of one phase. Devices that it waits for. */
	atomic_t waits;
	/* The next one that the same thread runs. */
	u32 more;
	struct ready_pool_job job;
	u8 kind;
	bool async;
	/* It acts on flags that its consumers write. */
	bool heeds;
	/* The caller's thread has taken it. */
	bool taken;
	/* Somebody waits for it against list order, on the way down or up. */
	bool against_down;
	bool against_up;
};

/* The one graph: there is only ever one phase. */
struct ready_graph {
	struct ready_node *nodes;
	u32 n, room;
	/* Positions by address of the device; a power of two. */
	u32 *slots;
	unsigned int slot_bits;
	/* Superior and subordinate of each edge, as found. */
	u32 *pairs;
	u32 edges, edge_room;
	/* How many of them are weak. */
	u32 weak;
	/* Neighbours of node i: from at[i] to at[i + 1]. */
	u32 *sup_at, *sub_at;
	u32 *sups, *subs;
	/* How often it was made, and found to hold. */
	unsigned long builds, reuses;
};

extern struct ready_graph ready_graph;

/*
 * A graph of @list. Takes the list's mutex and returns with it held, also where
 * there is none.
 */
int ready_graph_know(struct list_head *list);
/* Frees it, with its references of devices. */
void ready_graph_forget(void);

#endif
