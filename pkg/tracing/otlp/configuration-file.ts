import { parse } from "yaml"
import { z } from "zod"

/**
 * A TracingConfiguration. Source: component-base tracing/api/v1/types.go, config.go; apiserver pkg/apis/apiserver,
 * whose three versions have the same fields.
 */
const TracingConfiguration = z.strictObject({
  apiVersion: z.enum([
    "apiserver.config.k8s.io/v1",
    "apiserver.config.k8s.io/v1beta1",
    "apiserver.config.k8s.io/v1alpha1",
  ]),
  kind: z.literal("TracingConfiguration"),
  endpoint: z.string().refine(isTarget, "expected host:port, dns://…, unix:///path or unix-abstract:name").optional(),
  samplingRatePerMillion: z.int().min(0).max(1_000_000).optional(),
})

export interface TracingFile {
  /** A gRPC target; by default that of a collector on this machine. */
  readonly endpoint?: string | undefined
  /** How many of a million requests without a parent span are recorded; by default none. */
  readonly samplingRatePerMillion?: number | undefined
}

/** Parses the content of the file of --tracing-config-file. @throws Error that says what is wrong with it */
export function parseTracingFile(text: string): TracingFile {
  const parsed = TracingConfiguration.safeParse(parse(text))
  if (parsed.success) return parsed.data
  throw new Error(parsed.error.issues.map(({ path, message }) => `${path.join(".") || "file"}: ${message}`).join("; "))
}

/** Source: component-base tracing/api/v1/config.go validateEndpoint. */
function isTarget(endpoint: string): boolean {
  if (!endpoint.includes("//")) return endpoint !== ""
  return /^(dns|unix|unix-abstract):/.test(endpoint)
}
