"""Prints the ftrace events of a Perfetto trace as the official protobufs read
them: one line an event, `TIME CPU PID NAME FIELD=VALUE...`, in order of the
file. Exits with 77 if the protobufs are not installed.
"""

import sys
import zlib

try:
    from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
except ImportError:
    sys.exit(77)


def dump(trace):
    for packet in trace.packet:
        if packet.HasField("compressed_packets"):
            inner = pb.Trace()
            inner.ParseFromString(zlib.decompress(packet.compressed_packets))
            dump(inner)
        bundle = packet.ftrace_events
        for event in bundle.event:
            kind = event.WhichOneof("event")
            message = getattr(event, kind)
            fields = " ".join(
                f"{f.name}={getattr(message, f.name)}" for f in message.DESCRIPTOR.fields
            )
            print(event.timestamp, bundle.cpu, event.pid, kind, fields)


trace = pb.Trace()
trace.ParseFromString(sys.stdin.buffer.read())
dump(trace)
