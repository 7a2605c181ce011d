import { Client, credentials, Metadata, status, type ServiceError } from "@grpc/grpc-js"
import { createSecureContext } from "node:tls"
import type { Clock } from "../../clock/clock.ts"
import { trusting } from "../../pki/trust.ts"
import { ExportTraceServiceRequest, type ExportRequest } from "./messages.ts"
import { SendError, type Sender } from "./sender.ts"
import type { OtlpSettings } from "./settings.ts"

const EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

/** Codes after which the same request may succeed later. Source: OpenTelemetry protocol specification, OTLP/gRPC response. */
const TEMPORARY: readonly number[] = [
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.ABORTED,
  status.OUT_OF_RANGE,
  status.UNAVAILABLE,
  status.DATA_LOSS,
  status.RESOURCE_EXHAUSTED,
]

/** Sends spans by OTLP over gRPC, with TLS only if the endpoint begins with `https://`. */
export function grpcSender(settings: OtlpSettings, clock: Clock): Sender {
  const { endpoint, headers, timeoutMs, caPem, gzip } = settings
  const isTls = endpoint.startsWith("https://")
  const client = new Client(
    endpoint.replace(/^https?:\/\//, "").replace(/\/$/, ""),
    isTls ? credentials.createFromSecureContext(createSecureContext(trusting(caPem))) : credentials.createInsecure(),
    // 2 is gzip. Source: grpc-js compression-algorithms.ts.
    { "grpc.enable_http_proxy": 0, ...(gzip ? { "grpc.default_compression_algorithm": 2 } : {}) },
  )
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value)
  return {
    send: (request: ExportRequest) =>
      new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          EXPORT,
          (value: ExportRequest) => Buffer.from(ExportTraceServiceRequest.encode(value)),
          () => undefined,
          request,
          metadata,
          { deadline: clock.now() + timeoutMs },
          (err: ServiceError | null) => {
            if (err === null) resolve()
            else reject(new SendError(err.details, TEMPORARY.includes(err.code)))
          },
        )
      }),
    close: () => client.close(),
  }
}
