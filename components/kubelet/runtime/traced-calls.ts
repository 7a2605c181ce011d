import { endingWith, type Tracing } from "../../../pkg/tracing/tracing.ts"
import type { AroundCall } from "./runtime-calls.ts"

/**
 * Returns what makes a span for each call of the CRI that belongs to a span of the kubelet. Names and attributes are
 * those of otelgrpc, which upstream's client has. Requests are left out: they hold environment variables and registry
 * passwords.
 */
export const tracedCalls =
  (tracing: Tracing): AroundCall =>
  ({ service, method }, run) => {
    const attributes = { "rpc.system": "grpc", "rpc.service": service, "rpc.method": method }
    const span = tracing.start(`${service}/${method}`, { kind: "client", attributes })
    return span === undefined ? run() : endingWith(tracing, span, run)
  }
