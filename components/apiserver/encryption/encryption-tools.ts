import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { EncryptionMetrics } from "./encryption-metrics.ts"

export interface EncryptionTools {
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly metrics?: EncryptionMetrics | undefined
}
