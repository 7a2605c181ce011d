import { Registry } from "../../../../pkg/metrics/registry.ts"
import type { Operation } from "../../webhooks/review.ts"
import type { WebhookType } from "./webhook-source.ts"

/** Metrics of admission webhooks, with upstream's names. Source: apiserver pkg/admission/metrics/metrics.go. */
export interface WebhookMetrics {
  called(call: {
    readonly name: string
    readonly type: WebhookType
    readonly operation: Operation
    readonly code: number
    readonly rejected: boolean
    readonly seconds: number
  }): void
  refused(refusal: {
    readonly name: string
    readonly type: WebhookType
    readonly operation: Operation
    readonly why: "no_error" | "calling_webhook_error"
    readonly code: number
  }): void
  failedOpen(name: string, type: WebhookType): void
}

const BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25]
/** Higher codes are counted as this one, so that a webhook cannot create an unlimited number of time series. */
const MOST_CODE = 600

export function webhookMetrics(registry: Registry = new Registry()): WebhookMetrics {
  const duration = registry.histogram(
    "apiserver_admission_webhook_admission_duration_seconds",
    "Duration of webhook calls in seconds, by name, operation and whether they refused.",
    BUCKETS,
    "name",
    "operation",
    "rejected",
    "type",
  )
  const requests = registry.counter(
    "apiserver_admission_webhook_request_total",
    "Calls of webhooks, by name, operation, code and whether they refused.",
    "code",
    "name",
    "operation",
    "rejected",
    "type",
  )
  const rejections = registry.counter(
    "apiserver_admission_webhook_rejection_count",
    "Requests that webhooks refused, by name, operation, kind of error and code.",
    "error_type",
    "name",
    "operation",
    "rejection_code",
    "type",
  )
  const failOpen = registry.counter(
    "apiserver_admission_webhook_fail_open_count",
    "Failed calls of webhooks that were ignored because of their failurePolicy.",
    "name",
    "type",
  )
  return {
    called({ name, type, operation, code, rejected, seconds }) {
      duration.with(name, operation, String(rejected), type).observe(seconds)
      requests.with(String(Math.min(code, MOST_CODE)), name, operation, String(rejected), type).inc()
    },
    refused: ({ name, type, operation, why, code }) =>
      rejections.with(why, name, operation, String(Math.min(code, MOST_CODE)), type).inc(),
    failedOpen: (name, type) => failOpen.with(name, type).inc(),
  }
}
