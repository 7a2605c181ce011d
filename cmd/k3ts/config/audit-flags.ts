import { AUDIT_LOG_FORMATS, AUDIT_MODES, type AuditMode } from "../../../components/apiserver/audit/audit-backend.ts"
import type { AuditConfig, Passing } from "../../../components/apiserver/audit/create-audit.ts"
import { boolean, oneOf, value, type FlagsOf } from "../cli/flags.ts"
import { UsageError } from "../cli/usage-error.ts"
import * as v from "../cli/values.ts"

/** The versions of events. */
const VERSIONS = ["audit.k8s.io/v1"] as const

/** What both backends can be told. Source of names and defaults: apiserver pkg/server/options/audit.go. */
const passingFlags = <const B extends "log" | "webhook">(backend: B, mode: AuditMode, isThrottled: boolean) => {
  const count = (summary: string, text: string) =>
    value(v.count.prefault(text), summary, { placeholder: "COUNT", defaultText: text })
  const flags = {
    mode: oneOf(AUDIT_MODES, mode, "Whether requests wait for the backend, and fail without it (blocking-strict)", {
      placeholder: "MODE",
    }),
    "batch-buffer-size": count("Most audit events that wait in mode batch; others are lost", "10000"),
    "batch-max-size": count("Most audit events of a batch", backend === "log" ? "1" : "400"),
    "batch-max-wait": value(v.duration.prefault(backend === "log" ? "0s" : "30s"), "Longest wait for a full batch", {
      placeholder: "DURATION",
      defaultText: backend === "log" ? "0s" : "30s",
    }),
    "batch-throttle-enable": boolean(
      "Limit the rate of batches",
      isThrottled ? { defaultText: "true" } : {},
      isThrottled,
    ),
    "batch-throttle-qps": value(v.rate.prefault(isThrottled ? "10" : "0"), "Most batches a second", {
      placeholder: "RATE",
      defaultText: isThrottled ? "10" : "0",
    }),
    "batch-throttle-burst": count("Batches that may come at once", isThrottled ? "15" : "0"),
    "truncate-enabled": boolean("Leave objects out of large audit events, and split large batches"),
    "truncate-max-batch-size": value(v.count.prefault("10485760"), "Bytes of a batch with truncating", {
      placeholder: "BYTES",
      defaultText: "10485760",
    }),
    "truncate-max-event-size": value(v.count.prefault("102400"), "Bytes of an audit event with truncating", {
      placeholder: "BYTES",
      defaultText: "102400",
    }),
    version: oneOf(VERSIONS, "audit.k8s.io/v1", "Version of the audit events", { placeholder: "VERSION" }),
  }
  type Names = keyof typeof flags
  return Object.fromEntries(Object.entries(flags).map(([name, flag]) => [`audit-${backend}-${name}`, flag])) as {
    readonly [N in Names as `audit-${B}-${N}`]: (typeof flags)[N]
  }
}

/** What is audited, and where audit events go. */
export const auditFlags = {
  "audit-policy-file": value(
    v.fileToRead.optional(),
    "File with an audit Policy: which requests are audited, also of this server's components, and how much of them",
    { placeholder: "FILE", path: true },
  ),
  "audit-log-path": value(
    v.fileOrDash.optional(),
    "File in which requests are logged, - for standard output: one JSON line each, and another when a watch or a " +
      "stream begins, or as --audit-policy-file says",
    { placeholder: "FILE", path: true },
  ),
  "audit-log-maxsize": value(v.count.prefault("100"), "Size in MiB at which the audit log is rotated; 0 for any size", {
    placeholder: "MIB",
    defaultText: "100",
  }),
  "audit-log-maxbackup": value(v.count.prefault("10"), "How many rotated audit logs are kept; 0 for any number", {
    placeholder: "COUNT",
    defaultText: "10",
  }),
  "audit-log-maxage": value(v.count.prefault("0"), "How many days rotated audit logs are kept; 0 for ever", {
    placeholder: "DAYS",
    defaultText: "0",
  }),
  "audit-log-format": oneOf(AUDIT_LOG_FORMATS, "json", "Form of the lines in the audit log", { placeholder: "FORMAT" }),
  "audit-log-compress": boolean("Compress rotated audit logs with gzip"),
  ...passingFlags("log", "blocking", false),
  "audit-webhook-config-file": value(
    v.fileToRead.optional(),
    "File in the form of a kubeconfig: where audit events are sent",
    { placeholder: "FILE", path: true },
  ),
  "audit-webhook-initial-backoff": value(v.duration.prefault("10s"), "Wait before a failed call is made again", {
    placeholder: "DURATION",
    defaultText: "10s",
  }),
  ...passingFlags("webhook", "batch", true),
}
export type AuditFlags = FlagsOf<typeof auditFlags>

/** Returns what the flags say; undefined where nothing is audited. @throws UsageError for flags that do not fit */
export function auditOf(flags: AuditFlags): AuditConfig | undefined {
  const {
    "audit-policy-file": policyFile,
    "audit-log-path": path,
    "audit-webhook-config-file": configFile,
    "audit-webhook-initial-backoff": backoff,
  } = flags
  if (policyFile === undefined && path === undefined && configFile === undefined) return undefined
  return {
    policyFile,
    ...(path === undefined
      ? {}
      : {
          log: {
            path,
            format: flags["audit-log-format"],
            compress: flags["audit-log-compress"],
            mostBytes: flags["audit-log-maxsize"] * 2 ** 20,
            mostFiles: flags["audit-log-maxbackup"],
            mostAgeMs: flags["audit-log-maxage"] * 24 * 3_600_000,
            ...passingOf(flags, "log"),
          },
        }),
    ...(configFile === undefined
      ? {}
      : { webhook: { configFile, initialBackoffMs: backoff * 1000, ...passingOf(flags, "webhook") } }),
  }
}

function passingOf(flags: AuditFlags, backend: "log" | "webhook"): Required<Pick<Passing, "mode" | "batch">> & Passing {
  const mode = flags[`audit-${backend}-mode`]
  const positive = (name: "batch-buffer-size" | "batch-max-size" | "batch-throttle-qps" | "batch-throttle-burst") => {
    const number = flags[`audit-${backend}-${name}`]
    if (number <= 0) throw new UsageError(`--audit-${backend}-${name} ${number} must be a positive number`)
    return number
  }
  const isBatch = mode === "batch"
  const isThrottled = isBatch && flags[`audit-${backend}-batch-throttle-enable`]
  const bytes = flags[`audit-${backend}-truncate-max-event-size`]
  const batchBytes = flags[`audit-${backend}-truncate-max-batch-size`]
  if (bytes <= 0) throw new UsageError(`--audit-${backend}-truncate-max-event-size ${bytes} must be a positive number`)
  if (batchBytes < bytes)
    throw new UsageError(
      `--audit-${backend}-truncate-max-batch-size ${batchBytes} must be at least ` +
        `--audit-${backend}-truncate-max-event-size ${bytes}`,
    )
  return {
    mode,
    batch: {
      bufferSize: isBatch ? positive("batch-buffer-size") : 1,
      mostEvents: isBatch ? positive("batch-max-size") : 1,
      mostWaitMs: flags[`audit-${backend}-batch-max-wait`] * 1000,
      throttle: isThrottled
        ? { perSecond: positive("batch-throttle-qps"), burst: positive("batch-throttle-burst") }
        : undefined,
    },
    truncate: flags[`audit-${backend}-truncate-enabled`]
      ? { mostEventBytes: bytes, mostBatchBytes: batchBytes }
      : undefined,
  }
}
