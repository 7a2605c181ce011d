import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Logger } from "../../../pkg/log/log.ts"
import type { Quarantine } from "../../../pkg/quarantine/quarantine.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import type { Authorizer } from "../authorization/authorizer.ts"
import type { Objects } from "../cacher/objects.ts"

/** What an admission plugin may use beside the attributes of the request. */
export interface AdmissionContext {
  readonly objects: Objects
  readonly storage: Storage
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly quarantine?: Quarantine | undefined
  /** Called when an object is left out: see `Seam`. */
  leftOut(object: KubeObject | undefined, reason: string, why: string): void
  /** Aborted when the API server ends. */
  readonly signal: AbortSignal
  /** Answers whether a user may do something other than the request itself. */
  readonly authorizer: Authorizer
}
