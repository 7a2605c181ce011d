import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import { KubeconfigWebhook, readWebhookKubeconfig } from "../webhooks/kubeconfig-webhook.ts"
import type { AuditBackend } from "./audit-backend.ts"
import type { AuditMetrics } from "./audit-metrics.ts"

/** Where events are sent. */
export interface AuditWebhookOptions {
  /** A file in the form of a kubeconfig. */
  readonly configFile: string
  /** How long the first failed call waits before it is made again, in milliseconds. */
  readonly initialBackoffMs: number
}

/** Source: apiserver pkg/util/webhook/webhook.go DefaultRetryBackoffWithInitialDelay. */
const ATTEMPTS = 5

interface WebhookBackendParts {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly metrics: AuditMetrics
}

/**
 * Returns the backend of `--audit-webhook-config-file`: each call sends an EventList. Every failure is tried again,
 * since the webhook may come back. Source: apiserver plugin/pkg/audit/webhook/webhook.go.
 * @throws Error when the file cannot be used
 */
export function webhookBackend(
  { configFile, initialBackoffMs }: AuditWebhookOptions,
  { log, metrics, ...parts }: WebhookBackendParts,
): AuditBackend {
  const webhook = new KubeconfigWebhook(readWebhookKubeconfig(configFile, "--audit-webhook-config-file"), parts)
  const backoff = { initialMs: initialBackoffMs, attempts: ATTEMPTS, isWorthIt: () => true }
  const closing = new AbortController()
  return {
    async process(events) {
      const items = events.map(({ json }) => json).join(",")
      const list = `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[${items}]}`
      try {
        await webhook.post(list, backoff, closing.signal)
        return true
      } catch (err) {
        metrics.lost("webhook", events.length)
        log.error("Failed to send audit events", { webhook: configFile, lost: events.length, error: errorMessage(err) })
        return false
      }
    },
    close() {
      closing.abort()
      webhook.close()
    },
  }
}
