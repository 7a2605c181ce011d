import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Registry } from "../../../pkg/metrics/registry.ts"
import type { Scheme } from "../../../pkg/api/scheme.ts"
import type { Pipeline } from "../call/request.ts"
import { auditIds } from "../call/audit-id.ts"
import { auditedPipeline } from "./audited-pipeline.ts"
import { ignoringErrors, type AuditBackend, type AuditMode } from "./audit-backend.ts"
import { auditMetrics, type AuditMetrics } from "./audit-metrics.ts"
import { readAuditPolicy } from "./audit-policy.ts"
import { auditRules, withoutPolicy } from "./audit-rules.ts"
import { auditSink, type AuditSink } from "./audit-sink.ts"
import { bufferedBackend, type BatchOptions } from "./buffered-backend.ts"
import { logBackend, type AuditLogOptions } from "./log-backend.ts"
import { truncatingBackend, type TruncateOptions } from "./truncating-backend.ts"
import { webhookBackend, type AuditWebhookOptions } from "./webhook-backend.ts"

/** How a backend gets events. */
export interface Passing {
  readonly mode?: AuditMode
  /** How events are batched in mode `batch`. */
  readonly batch?: BatchOptions
  /** Undefined where events are passed on whatever their size. */
  readonly truncate?: TruncateOptions | undefined
}

/** What is audited, and where events go. Source: apiserver pkg/server/options/audit.go. */
export interface AuditConfig {
  /** The file with the Policy; undefined for an event of level Metadata for each request over HTTP. */
  readonly policyFile?: string | undefined
  readonly log?: (AuditLogOptions & Passing) | undefined
  readonly webhook?: (AuditWebhookOptions & Passing) | undefined
}

export interface Audit {
  readonly sink: AuditSink
  readonly clock: Clock
  readonly nextAuditId: () => string
  /** Wraps the pipeline for components of this process: their calls have events where a policy says which. */
  ownCalls(pipeline: Pipeline): Pipeline
}

export interface AuditParts {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly scheme: Pick<Scheme, "of">
  /** Gets the metrics of the audit. */
  readonly metrics: Registry
}

/** The batches of the log, which gain nothing by waiting. Source: options/audit.go defaultLogBatchConfig. */
const LOG_BATCH: BatchOptions = { bufferSize: 10_000, mostEvents: 1, mostWaitMs: 0 }
/** Source: options/audit.go defaultWebhookBatchConfig. */
const WEBHOOK_BATCH: BatchOptions = {
  bufferSize: 10_000,
  mostEvents: 400,
  mostWaitMs: 30_000,
  throttle: { perSecond: 10, burst: 15 },
}

/**
 * Makes what a configuration says.
 * @throws Error, or ConfigurationError, that names the file and the fault
 */
export function createAudit(config: AuditConfig, parts: AuditParts): Audit | undefined {
  const { clock, random, scheme } = parts
  const policy = config.policyFile === undefined ? undefined : readAuditPolicy(config.policyFile)
  const metrics = auditMetrics(parts.metrics)
  const { log, webhook } = config
  const made = { ...parts, metrics }
  const backends = [
    log && passing(logBackend(log, made), { mode: "blocking", batch: LOG_BATCH, ...log }, made),
    webhook && passing(webhookBackend(webhook, made), { mode: "batch", batch: WEBHOOK_BATCH, ...webhook }, made),
  ].filter((backend) => backend !== undefined)
  if (backends.length === 0) return undefined
  const rules = policy === undefined ? withoutPolicy : auditRules(policy)
  const sink = auditSink({ rules, backends, metrics, clock })
  const nextAuditId = auditIds(random)
  return {
    sink,
    clock,
    nextAuditId,
    ownCalls: (pipeline) =>
      policy === undefined ? pipeline : auditedPipeline(pipeline, { audit: sink, clock, scheme, nextAuditId }),
  }
}

function passing(
  backend: AuditBackend,
  { mode, batch, truncate }: Required<Pick<Passing, "mode" | "batch">> & Pick<Passing, "truncate">,
  parts: Omit<AuditParts, "metrics"> & { readonly metrics: AuditMetrics },
): AuditBackend {
  const timed =
    mode === "blocking-strict"
      ? backend
      : mode === "blocking"
        ? ignoringErrors(backend)
        : bufferedBackend({ backend, ...parts }, batch)
  return truncate === undefined ? timed : truncatingBackend({ backend: timed, ...parts }, truncate)
}
