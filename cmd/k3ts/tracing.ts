import { readFileSync } from "node:fs"
import type { ComponentContext } from "../../pkg/component/component.ts"
import type { ExportedTracing } from "../../pkg/tracing/otlp/start.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { UsageError } from "./cli/usage-error.ts"
import type { ServerFlags } from "./config/server-flags.ts"

type Environment = Readonly<Record<string, string | undefined>>

/**
 * Starts to trace if a flag or the variables of OpenTelemetry ask for it; undefined otherwise, and then none of the
 * code for traces is loaded. Of endpoint and sampling the file of the flag decides, of the rest the variables do.
 * @throws UsageError for a file that cannot be used
 */
export async function tracingOf(
  flags: Pick<ServerFlags, "tracing-config-file">,
  env: Environment,
  { clock, random, log }: Pick<ComponentContext, "clock" | "random" | "log">,
): Promise<ExportedTracing | undefined> {
  const path = flags["tracing-config-file"]
  if (path === undefined && !Object.keys(env).some((name) => name.startsWith("OTEL_"))) return undefined
  const { tracingEnvironment } = await import("../../pkg/tracing/otlp/environment.ts")
  const { isOn, warnings, ...rest } = tracingEnvironment(env)
  if (path === undefined && !isOn) return undefined
  for (const warning of warnings) log.warn("A variable of OpenTelemetry is ignored", { why: warning })
  const { caFile, ...settings } = rest.settings
  const [{ startTracing }, { parentBased }] = await Promise.all([
    import("../../pkg/tracing/otlp/start.ts"),
    import("../../pkg/tracing/sampler.ts"),
  ])
  const file = path === undefined ? undefined : await readTracingFile(path)
  const fromFile =
    file === undefined ? {} : ({ protocol: "grpc", endpoint: file.endpoint ?? "localhost:4317" } as const)
  return startTracing({
    clock,
    random,
    log,
    sampler: file === undefined ? rest.sampler : parentBased((file.samplingRatePerMillion ?? 0) / 1e6),
    settings: { ...settings, ...fromFile, ...(caFile === undefined ? {} : { caPem: readCertificates(caFile) }) },
  })
}

async function readTracingFile(path: string) {
  const { parseTracingFile } = await import("../../pkg/tracing/otlp/configuration-file.ts")
  try {
    return parseTracingFile(readFileSync(path, "utf8"))
  } catch (err) {
    throw new UsageError(`--tracing-config-file ${path} cannot be used: ${errorMessage(err)}`)
  }
}

function readCertificates(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch (err) {
    throw new UsageError(`OTEL_EXPORTER_OTLP_CERTIFICATE ${path} cannot be read: ${errorMessage(err)}`)
  }
}
