/** How spans reach a collector. */
export interface OtlpSettings {
  readonly protocol: "grpc" | "http/protobuf" | "http/json"
  /**
   * For HTTP the URL that spans are sent to. For gRPC a URL whose scheme decides about TLS, or a gRPC target:
   * `localhost:4317`, `dns://…`, `unix:///path`.
   */
  readonly endpoint: string
  /** Headers of each request. They often contain a key, so they are never logged. */
  readonly headers: Readonly<Record<string, string>>
  readonly gzip: boolean
  /** The authorities that sign the collector's certificate, as PEM; by default those of the system. */
  readonly caPem?: string
  /** The longest time of one request, in milliseconds. */
  readonly timeoutMs: number
  /** Attributes of the resource, besides the name of the component as `service.name`. */
  readonly resource: Readonly<Record<string, string>>
  /** How long spans wait for others, in milliseconds. */
  readonly delayMs: number
  /** The number of spans that may wait; further ones are dropped. */
  readonly mostWaiting: number
  /** The number of spans in one request. */
  readonly mostTogether: number
}

/** The default settings. Source: OpenTelemetry specification, sdk-environment-variables. */
export const DEFAULT_OTLP: Omit<OtlpSettings, "endpoint" | "protocol"> = {
  headers: {},
  gzip: false,
  timeoutMs: 10_000,
  resource: {},
  delayMs: 5000,
  mostWaiting: 2048,
  mostTogether: 512,
}
