import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import type { Storage } from "../../../pkg/storage/storage.ts"
import type { Authorizer } from "../authorization/authorizer.ts"
import type { Objects } from "../cacher/objects.ts"

/** What an admission plugin may use beside the request that it is asked about. */
export interface AdmissionContext {
  readonly objects: Objects
  readonly storage: Storage
  readonly clock: Clock
  readonly random: Random
  /** For questions beside the request itself. */
  readonly authorizer: Authorizer
}
