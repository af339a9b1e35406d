// SPDX-License-Identifier: GPL-2.0
/*
 * Who waits for whom: the devices of a list by position, and their edges.
 *
 * An edge goes from a superior (nearest ancestor on the list, or supplier) to a
 * subordinate, if the superior stands before it, as the kernel keeps the list.
 * An edge against that order is left out: a thread that goes through the list
 * and one that waits against it would wait for ever.
 *
 * The graph is made once a cycle and looked through again at each phase.
 */
#include <linux/device.h>
#include <linux/hash.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "graph.h"
#include "host.h"

struct ready_graph ready_graph;

static void drop_devices(void)
{
	u32 i;

	for (i = 0; i < ready_graph.n; i++)
		put_device(ready_graph.nodes[i].dev);
	ready_graph.n = 0;
	ready_graph.edges = 0;
	ready_graph.weak = 0;
}

void ready_graph_forget(void)
{
	drop_devices();
	kvfree(ready_graph.nodes);
	kvfree(ready_graph.slots);
	kvfree(ready_graph.pairs);
	kvfree(ready_graph.sup_at);
	kvfree(ready_graph.sub_at);
	kvfree(ready_graph.sups);
	kvfree(ready_graph.subs);
	ready_graph = (struct ready_graph) {
		.builds = ready_graph.builds, .reuses = ready_graph.reuses,
	};
}

/* Room for what the list holds and a little more. */
static int make_room(u32 devices, u32 edges)
{
	const gfp_t gfp = GFP_NOIO | __GFP_NOWARN;
	u32 slots;

	ready_graph_forget();
	ready_graph.room = devices + devices / 8 + 64;
	ready_graph.edge_room = edges + edges / 8 + 256;
	slots = roundup_pow_of_two(2 * ready_graph.room);
	ready_graph.slot_bits = ilog2(slots);
	ready_graph.nodes = kvcalloc(ready_graph.room, sizeof(*ready_graph.nodes), gfp);
	ready_graph.slots = kvmalloc_array(slots, sizeof(u32), gfp);
	ready_graph.pairs = kvmalloc_array(ready_graph.edge_room, 2 * sizeof(u32), gfp);
	ready_graph.sup_at = kvcalloc(ready_graph.room + 1, sizeof(u32), gfp);
	ready_graph.sub_at = kvcalloc(ready_graph.room + 1, sizeof(u32), gfp);
	ready_graph.sups = kvmalloc_array(ready_graph.edge_room, sizeof(u32), gfp);
	ready_graph.subs = kvmalloc_array(ready_graph.edge_room, sizeof(u32), gfp);
	if (ready_graph.nodes && ready_graph.slots && ready_graph.pairs && ready_graph.sup_at &&
	    ready_graph.sub_at && ready_graph.sups && ready_graph.subs)
		return 0;
	ready_graph_forget();
	return -ENOMEM;
}

static u32 *slot_of(const struct device *dev)
{
	u32 mask = (1U << ready_graph.slot_bits) - 1;
	u32 at = hash_ptr(dev, ready_graph.slot_bits);

	while (ready_graph.slots[at] != NONE &&
	       ready_graph.nodes[ready_graph.slots[at]].dev != dev)
		at = (at + 1) & mask;
	return &ready_graph.slots[at];
}

/* A number that changes with the supplier links of a device. */
static unsigned long link_print(struct device *dev)
{
	struct device_link *link;
	unsigned long sum = 0;

	host_each_supplier(link, dev)
		sum = sum * 31 + (unsigned long)link->supplier +
		      READ_ONCE(link->status) * 8 + link->flags;
	return sum;
}

/* A link for which the kernel waits, whatever runs on which thread. */
static bool is_waited_for(const struct device_link *link)
{
	const u32 marks = DL_FLAG_INFERRED | DL_FLAG_CYCLE;

	if (READ_ONCE(link->status) == DL_STATE_DORMANT)
		return false;
	return HOST_WAITS_FOR_SYNC_STATE ||
	       (link->flags & ~marks) !=
	       (DL_FLAG_SYNC_STATE_ONLY | DL_FLAG_MANAGED);
}

static int add_edge(u32 sup, u32 sub, u32 weak)
{
	if (sup > sub) {
		if (!weak) {
			ready_graph.nodes[sub].against_down = true;
			ready_graph.nodes[sup].against_up = true;
		}
		return 0;
	}
	if (ready_graph.edges == ready_graph.edge_room)
		return -ENOSPC;
	ready_graph.pairs[2 * ready_graph.edges] = sup;
	ready_graph.pairs[2 * ready_graph.edges + 1] = sub | weak;
	ready_graph.edges++;
	ready_graph.weak += !!weak;
	return 0;
}

static int find_edges(u32 sub)
{
	struct ready_node *node = &ready_graph.nodes[sub];
	struct device_link *link;
	struct device *parent;
	u32 sup = NONE;
	int ret = 0;

	node->parent = node->dev->parent;
	for (parent = node->dev->parent; parent && sup == NONE;
	     parent = parent->parent)
		sup = *slot_of(parent);
	if (sup != NONE)
		ret = add_edge(sup, sub, 0);
	host_each_supplier(link, node->dev) {
		if (ret)
			break;
		sup = *slot_of(link->supplier);
		if (sup != NONE)
			ret = add_edge(sup, sub,
				       is_waited_for(link) ? 0 : WEAK);
	}
	node->links = link_print(node->dev);
	return ret;
}

/* Neighbours by node, from pairs: counts, then places, back to front. */
static void sort_edges(void)
{
	u32 e, i;

	memset(ready_graph.sup_at, 0, (ready_graph.n + 1) * sizeof(u32));
	memset(ready_graph.sub_at, 0, (ready_graph.n + 1) * sizeof(u32));
	for (e = 0; e < ready_graph.edges; e++) {
		ready_graph.sub_at[ready_graph.pairs[2 * e]]++;
		ready_graph.sup_at[ready_graph.pairs[2 * e + 1] & ~WEAK]++;
	}
	for (i = 1; i <= ready_graph.n; i++) {
		ready_graph.sub_at[i] += ready_graph.sub_at[i - 1];
		ready_graph.sup_at[i] += ready_graph.sup_at[i - 1];
	}
	for (e = ready_graph.edges; e-- > 0;) {
		u32 sup = ready_graph.pairs[2 * e];
		u32 sub = ready_graph.pairs[2 * e + 1] & ~WEAK;
		u32 weak = ready_graph.pairs[2 * e + 1] & WEAK;

		ready_graph.subs[--ready_graph.sub_at[sup]] = sub | weak;
		ready_graph.sups[--ready_graph.sup_at[sub]] = sup | weak;
	}
}

/* Under the list's mutex and the links' read lock. */
static int build(struct list_head *list)
{
	struct device *dev;
	int ret = 0;
	u32 i;

	memset(ready_graph.slots, 0xff, sizeof(u32) << ready_graph.slot_bits);
	list_for_each_entry(dev, list, power.entry) {
		struct ready_node *node;

		if (ready_graph.n == ready_graph.room) {
			drop_devices();
			return -ENOSPC;
		}
		node = &ready_graph.nodes[ready_graph.n];
		memset(node, 0, sizeof(*node));
		node->dev = get_device(dev);
		*slot_of(dev) = ready_graph.n++;
	}
	for (i = 0; i < ready_graph.n && !ret; i++)
		ret = find_edges(i);
	if (ret) {
		drop_devices();
		return ret;
	}
	sort_edges();
	ready_graph.builds++;
	return 0;
}

/* Whether the graph of the last phase is that of this list. */
static bool still_holds(struct list_head *list)
{
	struct device *dev;
	u32 i = 0;

	list_for_each_entry(dev, list, power.entry) {
		struct ready_node *node = &ready_graph.nodes[i];

		if (i++ == ready_graph.n || node->dev != dev ||
		    node->parent != dev->parent ||
		    node->links != link_print(dev))
			return false;
	}
	return ready_graph.n && i == ready_graph.n;
}

static void measure(struct list_head *list, u32 *devices, u32 *edges)
{
	struct device_link *link;
	struct device *dev;

	*devices = 0;
	*edges = 0;
	list_for_each_entry(dev, list, power.entry) {
		++*devices;
		++*edges;
		host_each_supplier(link, dev)
			++*edges;
	}
}

/*
 * A graph of @list. Takes the list's mutex and returns with it held, also where
 * there is none.
 */
int ready_graph_know(struct list_head *list)
{
	u32 devices, edges;
	int tries, idx, ret = -ENOSPC;
	bool holds;

	mutex_lock(host_list_mtx);
	idx = host_links_lock();
	holds = still_holds(list);
	host_links_unlock(idx);
	if (holds) {
		ready_graph.reuses++;
		return 0;
	}
	/* One of them may be gone: its release must not run under the mutex. */
	mutex_unlock(host_list_mtx);
	drop_devices();
	mutex_lock(host_list_mtx);
	for (tries = 0; tries < 3 && ret == -ENOSPC; tries++) {
		idx = host_links_lock();
		if (ready_graph.room)
			ret = build(list);
		if (ret)
			measure(list, &devices, &edges);
		host_links_unlock(idx);
		if (ret != -ENOSPC)
			break;
		mutex_unlock(host_list_mtx);
		ret = make_room(devices, edges) ?: -ENOSPC;
		mutex_lock(host_list_mtx);
	}
	return ret;
}
