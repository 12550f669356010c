/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ringfence

#if !defined(RF_DM_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define RF_DM_TRACE_H

#include <linux/tracepoint.h>

/* of a grant: the deadline asked for, and the answer; of the end: now, and why */
DECLARE_EVENT_CLASS(rf_epoch,
		    TP_PROTO(dev_t dev, u64 epoch, u64 ns, int code),
		    TP_ARGS(dev, epoch, ns, code),
		    TP_STRUCT__entry(__field(dev_t, dev) __field(u64, epoch)
				     __field(u64, ns) __field(int, code)),
		    TP_fast_assign(__entry->dev = dev; __entry->epoch = epoch;
				   __entry->ns = ns; __entry->code = code;),
		    TP_printk("%d:%d epoch=%llu ns=%llu code=%d", MAJOR(__entry->dev),
			      MINOR(__entry->dev), __entry->epoch, __entry->ns,
			      __entry->code)
);

DEFINE_EVENT(rf_epoch, rf_grant,
	     TP_PROTO(dev_t dev, u64 epoch, u64 ns, int code),
	     TP_ARGS(dev, epoch, ns, code));
DEFINE_EVENT(rf_epoch, rf_shut,
	     TP_PROTO(dev_t dev, u64 epoch, u64 ns, int code),
	     TP_ARGS(dev, epoch, ns, code));

TRACE_EVENT(rf_refuse,
	    TP_PROTO(dev_t dev, unsigned int op, u64 sector, int reason),
	    TP_ARGS(dev, op, sector, reason),
	    TP_STRUCT__entry(__field(dev_t, dev) __field(unsigned int, op)
			     __field(u64, sector) __field(int, reason)),
	    TP_fast_assign(__entry->dev = dev; __entry->op = op; __entry->sector = sector;
			   __entry->reason = reason;),
	    TP_printk("%d:%d op=%u sector=%llu reason=%d", MAJOR(__entry->dev),
		      MINOR(__entry->dev), __entry->op, __entry->sector, __entry->reason)
);

#endif

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
