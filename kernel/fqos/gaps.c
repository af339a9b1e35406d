// SPDX-License-Identifier: GPL-2.0
/*
 * How long to stay raised after the last request. Nobody is asked for
 * latencies: what a change costs is measured when it is made, and gaps between
 * requests are seen.
 *
 * A gap g under the time-out T costs g at the fast clock with nothing to do. A
 * longer one costs T, then two changes, and the next request waits for one of
 * them. Waiting is worth WEIGHT times its length at the fast clock. The
 * time-out with the least sum over the gaps seen is taken; old gaps count half
 * at every turn, so that a new load is soon followed.
 */
#include <linux/minmax.h>
#include "fqos.h"

#define WEIGHT	16
#define TURN	64

static unsigned int class_of(u64 us)
{
	unsigned int c = 0;

	while (c < GAP_CLASSES && us > 1ULL << (GAP_FIRST + c))
		c++;
	return c;
}

void gaps_note(struct gaps *g, u64 us)
{
	unsigned int c = class_of(us);

	g->count[c]++;
	g->sum_us[c] += us;
	if (++g->seen < TURN)
		return;
	for (c = 0; c <= GAP_CLASSES; c++) {
		g->count[c] /= 2;
		g->sum_us[c] /= 2;
	}
	g->seen /= 2;
}

/* The time-out in microseconds, where a change up takes @change_ns. */
u32 gaps_timeout(struct gaps *g, u64 change_ns)
{
	u64 miss = max(div_u64(change_ns, NSEC_PER_USEC) * (2 + WEIGHT), 1);
	u64 best_cost = U64_MAX, bridged = 0;
	u32 best = 1U << GAP_FIRST, beyond = 0;
	unsigned int c;

	for (c = 0; c <= GAP_CLASSES; c++)
		beyond += g->count[c];
	for (c = 0; c < GAP_CLASSES; c++) {
		u32 timeout = 1U << (GAP_FIRST + c);
		u64 cost;

		bridged += g->sum_us[c];
		beyond -= g->count[c];
		cost = bridged + beyond * (timeout + miss);
		if (cost < best_cost) {
			best_cost = cost;
			best = timeout;
		}
	}
	return best;
}
