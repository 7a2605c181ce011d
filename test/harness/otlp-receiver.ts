import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { ExportTraceServiceRequest } from "../../pkg/tracing/otlp/messages.ts"

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly service: string
  readonly name: string
  readonly traceId: string
  readonly spanId: string
  /** Empty for the root of a trace. */
  readonly parentSpanId: string
  /** Nanoseconds since the epoch. */
  readonly start: bigint
  readonly end: bigint
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  /** The trace ids of the spans that are linked. */
  readonly links: readonly string[]
}

export interface OtlpReceiver extends AsyncDisposable {
  readonly url: string
  readonly spans: readonly ReceivedSpan[]
  /** Resolves when `wanted` holds for the spans that have arrived. */
  until(wanted: (spans: readonly ReceivedSpan[]) => boolean): Promise<void>
}

/** Starts a collector that takes OTLP over HTTP in protobuf. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = []
  const waiting = new Set<() => void>()
  const server = createServer((req, res) => {
    const parts: Buffer[] = []
    req.on("data", (part: Buffer) => parts.push(part))
    req.on("end", () => {
      spans.push(...received(Buffer.concat(parts)))
      res.writeHead(200, { "content-type": "application/x-protobuf" }).end()
      for (const look of waiting) look()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    until: (wanted) =>
      new Promise((resolve) => {
        const look = () => {
          if (!wanted(spans)) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function received(bytes: Uint8Array): readonly ReceivedSpan[] {
  const { resourceSpans } = ExportTraceServiceRequest.decode(bytes)
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(valuesOf(resource?.attributes ?? [])["service.name"])
    return scopeSpans.flatMap(({ spans }) =>
      spans.map((span) => ({
        service,
        name: span.name,
        traceId: hex(span.traceId),
        spanId: hex(span.spanId),
        parentSpanId: hex(span.parentSpanId),
        start: span.startTimeUnixNano,
        end: span.endTimeUnixNano,
        attributes: valuesOf(span.attributes),
        links: span.links.map(({ traceId }) => hex(traceId)),
      })),
    )
  })
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex")

const valuesOf = <T>(pairs: readonly { readonly key: string; readonly value: T }[]): Readonly<Record<string, T>> =>
  Object.fromEntries(pairs.map(({ key, value }) => [key, value]))
