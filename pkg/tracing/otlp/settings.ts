/** How spans reach a collector. */
export interface OtlpSettings {
  readonly protocol: "grpc" | "http/protobuf" | "http/json"
  /**
   * For HTTP the URL that spans are sent to. For gRPC a URL whose scheme says whether TLS is used, or a target of gRPC:
   * `localhost:4317`, `dns://…`, `unix:///path`.
   */
  readonly endpoint: string
  /** Sent with each request; often they have a key, so they are never logged. */
  readonly headers: Readonly<Record<string, string>>
  readonly gzip: boolean
  /** PEM of the authorities that sign the collector's certificate; those of the system unless given. */
  readonly caPem?: string
  /** Most time for one request, in milliseconds. */
  readonly timeoutMs: number
  /** Attributes of the resource, besides the name of the component as `service.name`. */
  readonly resource: Readonly<Record<string, string>>
  /** Spans wait this long for others, in milliseconds. */
  readonly delayMs: number
  /** Most spans that wait; more are dropped. */
  readonly mostWaiting: number
  /** Most spans in one request. */
  readonly mostTogether: number
}

/** What a collector may be told where nothing else is said. Source: OpenTelemetry specification, sdk-environment-variables. */
export const DEFAULT_OTLP: Omit<OtlpSettings, "endpoint" | "protocol"> = {
  headers: {},
  gzip: false,
  timeoutMs: 10_000,
  resource: {},
  delayMs: 5000,
  mostWaiting: 2048,
  mostTogether: 512,
}
