"""Builds a Perfetto trace with the official protobufs.

Reads JSON from standard input:
  {"events": [{"time", "cpu", "pid", "name", "fields": {...}}, ...],
   "threads": {"PID": "name"}, "release": "6.1.0", "bundle": N,
   "compress": bool, "generic": bool, "filler": bytes}
and writes the trace to standard output. `filler` adds other packets, as in a
real trace. Exits with 77 if the protobufs are not installed.
"""

import json
import sys
import zlib

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
except ImportError:
    sys.exit(77)


def fill(event, e, generic):
    event.timestamp = e["time"]
    event.pid = e["pid"]
    if generic:
        event.generic.event_name = e["name"]
        for name, value in e["fields"].items():
            f = event.generic.field.add()
            f.name = name
            if isinstance(value, str):
                f.str_value = value
            else:
                f.int_value = value
        return
    message = getattr(event, e["name"])
    message.SetInParent()
    for name, value in e["fields"].items():
        setattr(message, name, value)


def main():
    spec = json.load(sys.stdin)
    packets = []
    first = pb.TracePacket()
    first.system_info.utsname.release = spec["release"]
    packets.append(first)
    tree = pb.TracePacket()
    for pid, name in spec["threads"].items():
        thread = tree.process_tree.threads.add()
        thread.tid = int(pid)
        thread.name = name
    packets.append(tree)

    # As traced does: one bundle a CPU and period, so that time runs back
    # between bundles.
    events = spec["events"]
    for start in range(0, len(events), spec["bundle"]):
        part = events[start : start + spec["bundle"]]
        for cpu in sorted({e["cpu"] for e in part}):
            packet = pb.TracePacket()
            packet.trusted_packet_sequence_id = 1
            bundle = packet.ftrace_events
            bundle.cpu = cpu
            for e in part:
                if e["cpu"] == cpu:
                    fill(bundle.event.add(), e, spec["generic"])
            packets.append(packet)
        if spec["filler"]:
            other = pb.TracePacket()
            other.for_testing.str = "x" * spec["filler"]
            packets.append(other)

    trace = pb.Trace()
    if spec["compress"]:
        for start in range(0, len(packets), 8):
            inner = pb.Trace()
            inner.packet.extend(packets[start : start + 8])
            outer = trace.packet.add()
            outer.compressed_packets = zlib.compress(inner.SerializeToString())
    else:
        trace.packet.extend(packets)
    sys.stdout.buffer.write(trace.SerializeToString())


main()
