/* SPDX-License-Identifier: GPL-2.0 */
/* Events of inputs.c: called and written as the function probes of later kernels. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM idle

#if !defined(_INPUTS_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _INPUTS_TRACE_H

#include <linux/tracepoint.h>

/* What a function that takes no pointer gave, and to whom. */
DECLARE_EVENT_CLASS(idle_gave,
	TP_PROTO(unsigned long to, s64 ret),
	TP_ARGS(to, ret),
	TP_STRUCT__entry(
		__field(unsigned long, to)
		__field(s64, ret)
	),
	TP_fast_assign(
		__entry->to = to;
		__entry->ret = ret;
	),
	TP_printk("(%pS) ret=%lld", (void *)__entry->to, __entry->ret)
);
DEFINE_EVENT(idle_gave, lr, TP_PROTO(unsigned long to, s64 ret), TP_ARGS(to, ret));
DEFINE_EVENT(idle_gave, ts, TP_PROTO(unsigned long to, s64 ret), TP_ARGS(to, ret));
DEFINE_EVENT(idle_gave, got, TP_PROTO(unsigned long to, s64 ret), TP_ARGS(to, ret));
DEFINE_EVENT(idle_gave, io, TP_PROTO(unsigned long to, s64 ret), TP_ARGS(to, ret));

TRACE_EVENT(sl,
	TP_PROTO(unsigned long to, s64 ret, s64 dt),
	TP_ARGS(to, ret, dt),
	TP_STRUCT__entry(
		__field(unsigned long, to)
		__field(s64, ret)
		__field(s64, dt)
	),
	TP_fast_assign(
		__entry->to = to;
		__entry->ret = ret;
		__entry->dt = dt;
	),
	TP_printk("(%pS) ret=%lld dt=%lld", (void *)__entry->to, __entry->ret,
		  __entry->dt)
);

TRACE_EVENT(sel,
	TP_PROTO(int idx, bool stop),
	TP_ARGS(idx, stop),
	TP_STRUCT__entry(
		__field(int, idx)
		__field(bool, stop)
	),
	TP_fast_assign(
		__entry->idx = idx;
		__entry->stop = stop;
	),
	TP_printk("() idx=%d stop=%d", __entry->idx, __entry->stop)
);

/* `ptl` is the byte that holds the flag, as a probe of later kernels reads it. */
TRACE_EVENT(refl,
	TP_PROTO(int index, u64 res, bool limit),
	TP_ARGS(index, res, limit),
	TP_STRUCT__entry(
		__field(int, index)
		__field(u64, res)
		__field(bool, limit)
	),
	TP_fast_assign(
		__entry->index = index;
		__entry->res = res;
		__entry->limit = limit;
	),
	TP_printk("() index=%d res=%llu ptl=%d", __entry->index, __entry->res,
		  __entry->limit ? 7 : 3)
);

DECLARE_EVENT_CLASS(idle_called,
	TP_PROTO(unsigned long at),
	TP_ARGS(at),
	TP_STRUCT__entry(__field(unsigned long, at)),
	TP_fast_assign(__entry->at = at;),
	TP_printk("(%pS)", (void *)__entry->at)
);
DEFINE_EVENT(idle_called, ent, TP_PROTO(unsigned long at), TP_ARGS(at));
DEFINE_EVENT(idle_called, en, TP_PROTO(unsigned long at), TP_ARGS(at));

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE inputs_trace
#include <trace/define_trace.h>
