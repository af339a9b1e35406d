/* SPDX-License-Identifier: GPL-2.0 */
/* The one event: a part begins, or has ended, to change its state. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM soc9000

#if !defined(_SOC9000_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _SOC9000_TRACE_H

#include <linux/tracepoint.h>

TRACE_EVENT(soc9000_transition,
	    TP_PROTO(const char *kind, const char *name, int state, bool begin),
	    TP_ARGS(kind, name, state, begin),
	    TP_STRUCT__entry(__string(kind, kind)
			     __string(name, name)
			     __field(int, state)
			     __field(bool, begin)),
	    TP_fast_assign(__assign_str(kind);
			   __assign_str(name);
			   __entry->state = state;
			   __entry->begin = begin;),
	    TP_printk("%s %s %d %s", __get_str(kind), __get_str(name),
		      __entry->state, __entry->begin ? "begin" : "end")
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE soc9000_trace
#include <trace/define_trace.h>
