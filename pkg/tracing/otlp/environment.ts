import { byRatio, parentBased, type Sampler } from "../sampler.ts"
import { DEFAULT_OTLP, type OtlpSettings } from "./settings.ts"

type Environment = Readonly<Record<string, string | undefined>>

/** The settings from environment variables. */
export interface TracingEnvironment {
  /** Whether the variables alone turn traces on. */
  readonly isOn: boolean
  readonly sampler: Sampler
  readonly settings: Omit<OtlpSettings, "caPem"> & {
    /** The file with the authorities that sign the collector's certificate. */
    readonly caFile?: string
  }
  /** Messages about invalid values, which are ignored as the specification demands. */
  readonly warnings: readonly string[]
}

const PROTOCOLS = ["grpc", "http/protobuf", "http/json"] as const
const DEFAULT_PROTOCOL = "http/protobuf"
/** Reads a variable for traces, or else the one for all signals. */
const forTraces = (env: Environment, name: string): string | undefined =>
  given(env[`OTEL_EXPORTER_OTLP_TRACES_${name}`]) ?? given(env[`OTEL_EXPORTER_OTLP_${name}`])

/** An empty variable counts as one that is not set. */
const given = (text: string | undefined): string | undefined =>
  text === undefined || text.trim() === "" ? undefined : text.trim()

/**
 * Reads the variables with which any OpenTelemetry program is configured. Source: OpenTelemetry specification,
 * sdk-environment-variables and protocol/exporter.
 */
export function tracingEnvironment(env: Environment): TracingEnvironment {
  const warnings: string[] = []
  const ignored = (name: string, why: string) => void warnings.push(`${name} is ignored: ${why}`)
  const number = (name: string, value: string | undefined, otherwise: number): number => {
    if (value === undefined) return otherwise
    if (/^\d{1,9}$/.test(value) && Number(value) > 0) return Number(value)
    ignored(name, `expected a positive whole number, got ${JSON.stringify(value)}`)
    return otherwise
  }

  const exporter = given(env["OTEL_TRACES_EXPORTER"])
  if (exporter !== undefined && exporter !== "otlp" && exporter !== "none")
    ignored("OTEL_TRACES_EXPORTER", `expected otlp or none, got ${JSON.stringify(exporter)}`)
  const hasEndpoint = forTraces(env, "ENDPOINT") !== undefined
  const isOff = env["OTEL_SDK_DISABLED"]?.toLowerCase() === "true" || exporter === "none"
  const protocol = protocolOf(forTraces(env, "PROTOCOL"), ignored)
  const mostWaiting = number("OTEL_BSP_MAX_QUEUE_SIZE", given(env["OTEL_BSP_MAX_QUEUE_SIZE"]), DEFAULT_OTLP.mostWaiting)
  const together = given(env["OTEL_BSP_MAX_EXPORT_BATCH_SIZE"])
  const caFile = forTraces(env, "CERTIFICATE")
  return {
    isOn: !isOff && (exporter === "otlp" || hasEndpoint),
    sampler: samplerOf(env, ignored),
    settings: {
      protocol,
      endpoint: endpointOf(env, protocol, ignored),
      headers: pairs(forTraces(env, "HEADERS"), "OTEL_EXPORTER_OTLP_HEADERS", ignored),
      gzip: forTraces(env, "COMPRESSION") === "gzip",
      timeoutMs: number("OTEL_EXPORTER_OTLP_TIMEOUT", forTraces(env, "TIMEOUT"), DEFAULT_OTLP.timeoutMs),
      resource: resourceOf(env, ignored),
      delayMs: number("OTEL_BSP_SCHEDULE_DELAY", given(env["OTEL_BSP_SCHEDULE_DELAY"]), DEFAULT_OTLP.delayMs),
      mostWaiting,
      mostTogether: Math.min(
        number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", together, DEFAULT_OTLP.mostTogether),
        mostWaiting,
      ),
      ...(caFile === undefined ? {} : { caFile }),
    },
    warnings,
  }
}

type Ignored = (name: string, why: string) => void

function protocolOf(text: string | undefined, ignored: Ignored): OtlpSettings["protocol"] {
  const found = PROTOCOLS.find((protocol) => protocol === text)
  if (text !== undefined && found === undefined)
    ignored("OTEL_EXPORTER_OTLP_PROTOCOL", `expected one of ${PROTOCOLS.join(", ")}, got ${JSON.stringify(text)}`)
  return found ?? DEFAULT_PROTOCOL
}

/**
 * Returns the endpoint. The variable for traces is used unchanged; to the one for all signals HTTP adds the path of
 * traces.
 */
function endpointOf(env: Environment, protocol: OtlpSettings["protocol"], ignored: Ignored): string {
  const isGrpc = protocol === "grpc"
  const own = given(env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"])
  const common = given(env["OTEL_EXPORTER_OTLP_ENDPOINT"])
  const otherwise = isGrpc ? "http://localhost:4317" : "http://localhost:4318/v1/traces"
  const endpoint = own ?? (common === undefined || isGrpc ? common : `${common.replace(/\/$/, "")}/v1/traces`)
  if (endpoint === undefined) return otherwise
  if (isGrpc || /^https?:$/.test(URL.parse(endpoint)?.protocol ?? "")) return endpoint
  // The value may contain a password, so it is not shown.
  ignored("OTEL_EXPORTER_OTLP_ENDPOINT", "expected a URL that begins with http:// or https://")
  return otherwise
}

function samplerOf(env: Environment, ignored: Ignored): Sampler {
  const name = given(env["OTEL_TRACES_SAMPLER"]) ?? "parentbased_always_on"
  const ratio = ratioOf(given(env["OTEL_TRACES_SAMPLER_ARG"]), ignored)
  switch (name) {
    case "always_on":
      return byRatio(1)
    case "always_off":
      return byRatio(0)
    case "traceidratio":
      return byRatio(ratio)
    case "parentbased_always_on":
      return parentBased(1)
    case "parentbased_always_off":
      return parentBased(0)
    case "parentbased_traceidratio":
      return parentBased(ratio)
    default:
      ignored("OTEL_TRACES_SAMPLER", `no sampler has the name ${JSON.stringify(name)}`)
      return parentBased(1)
  }
}

function ratioOf(text: string | undefined, ignored: Ignored): number {
  const ratio = text === undefined ? 1 : Number(text)
  if (ratio >= 0 && ratio <= 1) return ratio
  ignored("OTEL_TRACES_SAMPLER_ARG", `expected a number from 0 to 1, got ${JSON.stringify(text)}`)
  return 1
}

function resourceOf(env: Environment, ignored: Ignored): Readonly<Record<string, string>> {
  const service = given(env["OTEL_SERVICE_NAME"])
  return {
    ...pairs(given(env["OTEL_RESOURCE_ATTRIBUTES"]), "OTEL_RESOURCE_ATTRIBUTES", ignored),
    ...(service === undefined ? {} : { "service.name": service }),
  }
}

/** Parses `key=value,key=value` with percent-encoded values. Source: W3C Baggage. */
function pairs(text: string | undefined, name: string, ignored: Ignored): Readonly<Record<string, string>> {
  if (text === undefined) return {}
  try {
    return Object.fromEntries(
      text.split(",").map((pair) => {
        const [key = "", ...rest] = pair.split("=")
        if (key.trim() === "" || rest.length === 0) throw new Error("not key=value")
        return [decodeURIComponent(key.trim()), decodeURIComponent(rest.join("=").trim())]
      }),
    )
  } catch {
    // The value may contain a key, so it is not shown.
    ignored(name, "expected key=value,key=value")
    return {}
  }
}
