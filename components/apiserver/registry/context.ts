import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { uuid } from "../../../pkg/clock/random.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import type { Cause } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource, StrategyContext } from "../../../pkg/apimachinery/resource.ts"
import type { Features } from "../../../pkg/component/features.ts"
import type { Storage, Write } from "../../../pkg/storage/storage.ts"
import type { Admission } from "../admission/admission.ts"
import type { Authorizer, Decider } from "../authorization/authorizer.ts"
import type { ClientHistory } from "../cacher/client-history.ts"
import type { Objects } from "../cacher/objects.ts"
import type { WatchHub } from "../cacher/watch-hub.ts"
import type { FlowControl } from "../flowcontrol/flow-control.ts"
import type { ApiRequest, ApiResult } from "../call/request.ts"
import type { TemplateSharing } from "./template-sharing.ts"

/** What the verbs of the registry need. */
export interface RegistryContext {
  readonly storage: Storage
  readonly hub: WatchHub
  readonly objects: Objects
  readonly history: Pick<ClientHistory, "expired">
  /** Whether the storage is a state of the past, of which there are no watches. */
  readonly isPast?: true
  readonly clock: Clock
  readonly random: Random
  readonly authorizer: Authorizer
  readonly admission: Admission
  /** Shares equal parts among new objects of one template. */
  readonly sharing: TemplateSharing
  /** How long objects are kept whose kind has a time to live, in seconds; what the kind says unless given. */
  readonly eventSeconds?: number | undefined
  /** Feature gates; all on unless given. */
  readonly features?: Features
  /** Flow control for requests of this process; undefined without priority and fairness. */
  readonly flow?: FlowControl | undefined
  /**
   * Throws once the server has stopped. What is under way then is not carried out any more: the store may outlive the
   * server, and another server may use it already, which knows nothing of what this one has reserved.
   * @throws ApiError ServiceUnavailable
   */
  checkRunning(): void
  /** Returns the hooks of a kind, if it has any. */
  hooks(resource: Resource): KindHooks | undefined
}

/** An object with what was allocated for it before its write, such as an address or a port. */
export interface Reservation {
  readonly object: KubeObject
  /** Called once the write has succeeded or failed. */
  settle(written: boolean): void
}

/** Returns the faults of an object as its kind judges them. */
export const remaining = (causes: readonly Cause[], hooks: KindHooks | undefined): readonly Cause[] =>
  causes.length === 0 || hooks?.judges === undefined ? causes : causes.flatMap((cause) => hooks.judges!(cause) ?? [])

/**
 * What a kind needs beside its declaration, because it depends on the store, the clock or other objects. The hooks are
 * methods, so that a KindHooks<Pod> can be held as KindHooks.
 */
export interface KindHooks<T extends KubeObject = KubeObject> {
  /** Sets what has to be allocated, such as cluster IPs. Called after `prepareForCreate`, before validation. */
  allocateForCreate?(object: T, dryRun: boolean): Reservation
  allocateForUpdate?(object: T, old: T, dryRun: boolean): Reservation
  /** Returns more writes for the transaction that changes `old` to `next`; either may be undefined. */
  alongside?(next: T | undefined, old: T | undefined): readonly Write[]
  /**
   * A rule that depends on other objects or on the user, whose rights `decider` knows. Throws ApiError. Called before
   * validating admission, and once more where a decision about rights takes time.
   */
  checkWrite?(request: ApiRequest, object: T, old: T | undefined, decider: Decider): void
  /**
   * Returns what the declaration finds wrong as it is with the gates that are on: another fault, or undefined where it
   * is right.
   */
  judges?(cause: Cause): Cause | undefined
  /** Whether something besides metadata.finalizers keeps a deleted object, such as the finalizers in a spec. */
  holdsDeletion?(object: T): boolean
  /** Returns the object as it is stored when its deletion has begun and has to wait. */
  markDeleting?(object: T): T
  /** Resolves when the server has processed a written object; the response is sent after that. */
  settled?(object: T): Promise<void>
  /** For kinds that are not stored: returns the response to a create. */
  createVirtual?(request: ApiRequest, object: T): Promise<KubeObject> | KubeObject
  /** Replaces the generic create. */
  readonly create?: SubresourceHandler
  /** For kinds that are not stored: returns all objects. */
  listVirtual?(): readonly KubeObject[]
  /** Subresources served by code of their own. */
  readonly subresources?: Readonly<Record<string, SubresourceHandler>>
}

export type SubresourceHandler = (context: RegistryContext, request: ApiRequest) => Promise<ApiResult>

export const strategyContext = (
  { clock, random }: Pick<RegistryContext, "clock" | "random">,
  { warn, user }: Pick<ApiRequest, "warn" | "user">,
): StrategyContext => ({
  now: timestamp(clock),
  uuid: () => uuid(random),
  warn,
  user,
})
