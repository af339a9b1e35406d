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
#include <linux/srcu.h>
#include <linux/string.h>
#include <linux/version.h>

#include "core.h"
#include "graph.h"

/* From 6.17.8 on no device waits for a link that only sync_state() needs. */
#define SYNC_STATE_WAITS	(LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 8))

struct ready_graph graph;

static void drop_devices(void)
{
	u32 i;

	for (i = 0; i < graph.n; i++)
		put_device(graph.nodes[i].dev);
	graph.n = 0;
	graph.edges = 0;
}

void graph_forget(void)
{
	drop_devices();
	kvfree(graph.nodes);
	kvfree(graph.slots);
	kvfree(graph.pairs);
	kvfree(graph.sup_at);
	kvfree(graph.sub_at);
	kvfree(graph.sups);
	kvfree(graph.subs);
	graph = (struct ready_graph) {
		.builds = graph.builds, .reuses = graph.reuses,
	};
}

/* Room for what the list holds and a little more. */
static int make_room(u32 devices, u32 edges)
{
	const gfp_t gfp = GFP_NOIO | __GFP_NOWARN;
	u32 slots;

	graph_forget();
	graph.room = devices + devices / 8 + 64;
	graph.edge_room = edges + edges / 8 + 256;
	slots = roundup_pow_of_two(2 * graph.room);
	graph.slot_bits = ilog2(slots);
	graph.nodes = kvcalloc(graph.room, sizeof(*graph.nodes), gfp);
	graph.slots = kvmalloc_array(slots, sizeof(u32), gfp);
	graph.pairs = kvmalloc_array(graph.edge_room, 2 * sizeof(u32), gfp);
	graph.sup_at = kvcalloc(graph.room + 1, sizeof(u32), gfp);
	graph.sub_at = kvcalloc(graph.room + 1, sizeof(u32), gfp);
	graph.sups = kvmalloc_array(graph.edge_room, sizeof(u32), gfp);
	graph.subs = kvmalloc_array(graph.edge_room, sizeof(u32), gfp);
	if (graph.nodes && graph.slots && graph.pairs && graph.sup_at &&
	    graph.sub_at && graph.sups && graph.subs)
		return 0;
	graph_forget();
	return -ENOMEM;
}

static u32 *slot_of(const struct device *dev)
{
	u32 mask = (1U << graph.slot_bits) - 1;
	u32 at = hash_ptr(dev, graph.slot_bits);

	while (graph.slots[at] != NONE &&
	       graph.nodes[graph.slots[at]].dev != dev)
		at = (at + 1) & mask;
	return &graph.slots[at];
}

/* A number that changes with the supplier links of a device. */
static unsigned long link_print(struct device *dev)
{
	struct device_link *link;
	unsigned long sum = 0;

	list_for_each_entry_srcu(link, &dev->links.suppliers, c_node,
				 srcu_read_lock_held(ready_host.links_srcu))
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
	return SYNC_STATE_WAITS ||
	       (link->flags & ~marks) !=
	       (DL_FLAG_SYNC_STATE_ONLY | DL_FLAG_MANAGED);
}

static int add_edge(u32 sup, u32 sub, u32 weak)
{
	if (sup > sub) {
		if (!weak) {
			graph.nodes[sub].against_down = true;
			graph.nodes[sup].against_up = true;
		}
		return 0;
	}
	if (graph.edges == graph.edge_room)
		return -ENOSPC;
	graph.pairs[2 * graph.edges] = sup;
	graph.pairs[2 * graph.edges + 1] = sub | weak;
	graph.edges++;
	return 0;
}

static int find_edges(u32 sub)
{
	struct ready_node *node = &graph.nodes[sub];
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
	list_for_each_entry_srcu(link, &node->dev->links.suppliers, c_node,
				 srcu_read_lock_held(ready_host.links_srcu)) {
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

	memset(graph.sup_at, 0, (graph.n + 1) * sizeof(u32));
	memset(graph.sub_at, 0, (graph.n + 1) * sizeof(u32));
	for (e = 0; e < graph.edges; e++) {
		graph.sub_at[graph.pairs[2 * e]]++;
		graph.sup_at[graph.pairs[2 * e + 1] & ~WEAK]++;
	}
	for (i = 1; i <= graph.n; i++) {
		graph.sub_at[i] += graph.sub_at[i - 1];
		graph.sup_at[i] += graph.sup_at[i - 1];
	}
	for (e = graph.edges; e-- > 0;) {
		u32 sup = graph.pairs[2 * e];
		u32 sub = graph.pairs[2 * e + 1] & ~WEAK;
		u32 weak = graph.pairs[2 * e + 1] & WEAK;

		graph.subs[--graph.sub_at[sup]] = sub | weak;
		graph.sups[--graph.sup_at[sub]] = sup | weak;
	}
}

/* Under the list's mutex and the links' read lock. */
static int build(struct list_head *list)
{
	struct device *dev;
	int ret = 0;
	u32 i;

	drop_devices();
	memset(graph.slots, 0xff, sizeof(u32) << graph.slot_bits);
	list_for_each_entry(dev, list, power.entry) {
		struct ready_node *node;

		if (graph.n == graph.room) {
			drop_devices();
			return -ENOSPC;
		}
		node = &graph.nodes[graph.n];
		memset(node, 0, sizeof(*node));
		node->dev = get_device(dev);
		*slot_of(dev) = graph.n++;
	}
	for (i = 0; i < graph.n && !ret; i++)
		ret = find_edges(i);
	if (ret) {
		drop_devices();
		return ret;
	}
	sort_edges();
	graph.builds++;
	return 0;
}

/* Whether the graph of the last phase is that of this list. */
static bool still_holds(struct list_head *list)
{
	struct device *dev;
	u32 i = 0;

	list_for_each_entry(dev, list, power.entry) {
		struct ready_node *node = &graph.nodes[i];

		if (i++ == graph.n || node->dev != dev ||
		    node->parent != dev->parent ||
		    node->links != link_print(dev))
			return false;
	}
	return graph.n && i == graph.n;
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
		list_for_each_entry_srcu(link, &dev->links.suppliers, c_node,
					 srcu_read_lock_held(ready_host.links_srcu))
			++*edges;
	}
}

/*
 * A graph of @list. Takes the list's mutex and returns with it held, also where
 * there is none.
 */
int graph_know(struct list_head *list)
{
	u32 devices, edges;
	int tries, idx, ret = -ENOSPC;

	mutex_lock(ready_host.list_mtx);
	for (tries = 0; tries < 3 && ret == -ENOSPC; tries++) {
		idx = srcu_read_lock(ready_host.links_srcu);
		if (graph.room && still_holds(list)) {
			ret = 0;
			graph.reuses++;
		} else if (graph.room) {
			ret = build(list);
		}
		if (ret)
			measure(list, &devices, &edges);
		srcu_read_unlock(ready_host.links_srcu, idx);
		if (ret != -ENOSPC)
			break;
		mutex_unlock(ready_host.list_mtx);
		ret = make_room(devices, edges) ?: -ENOSPC;
		mutex_lock(ready_host.list_mtx);
	}
	return ret;
}
