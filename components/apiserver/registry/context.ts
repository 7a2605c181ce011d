import type { Clock } from "../../../pkg/clock/clock.ts"
import type { Random } from "../../../pkg/clock/random.ts"
import { uuid } from "../../../pkg/clock/random.ts"
import { timestamp } from "../../../pkg/clock/clock.ts"
import type { KubeObject, Resource, StrategyContext } from "../../../pkg/apimachinery/resource.ts"
import type { Features } from "../../../pkg/component/features.ts"
import type { Storage, Write } from "../../../pkg/storage/storage.ts"
import type { Admission } from "../admission/admission.ts"
import type { Authorizer } from "../authorization/authorizer.ts"
import type { ClientHistory } from "../cacher/client-history.ts"
import type { Objects } from "../cacher/objects.ts"
import type { WatchHub } from "../cacher/watch-hub.ts"
import type { FlowControl } from "../flowcontrol/flow-control.ts"
import type { ApiRequest, ApiResult } from "../request.ts"
import type { TemplateSharing } from "./template-sharing.ts"

/** What the verbs of the registry work with. */
export interface RegistryContext {
  readonly storage: Storage
  readonly hub: WatchHub
  readonly objects: Objects
  readonly history: ClientHistory
  readonly clock: Clock
  readonly random: Random
  readonly authorizer: Authorizer
  readonly admission: Admission
  /** Lets new objects of one template share their equal parts. */
  readonly sharing: TemplateSharing
  /** All on unless given. */
  readonly features?: Features
  /** Decides when a request of this process is served; undefined without priority and fairness. */
  readonly flow?: FlowControl | undefined
  /** What a kind adds to the generic way, if anything. */
  hooks(resource: Resource): KindHooks | undefined
}

/** Something that was taken for an object before its write: an address, a port. */
export interface Reservation {
  readonly object: KubeObject
  /** Called once the write has happened or failed. */
  settle(written: boolean): void
}

/** What a kind needs beside its declaration, because it takes a store, a clock or other objects. */
export interface KindHooks {
  /** Sets what has to be allotted. Called after `prepareForCreate`, before validation. */
  allocateForCreate?(object: KubeObject, dryRun: boolean): Reservation
  allocateForUpdate?(object: KubeObject, old: KubeObject, dryRun: boolean): Reservation
  /** What is written in one transaction with an object that goes from `old` to `next`; either may be absent. */
  alongside?(next: KubeObject | undefined, old: KubeObject | undefined): readonly Write[]
  /** A rule that looks at other objects or at who asks. Throws ApiError. Called before validating admission. */
  checkWrite?(request: ApiRequest, object: KubeObject, old: KubeObject | undefined): void
  /** Somebody besides metadata.finalizers still has to agree to the removal. */
  holdsDeletion?(object: KubeObject): boolean
  /** The object as a deletion leaves it that cannot be carried out at once. */
  markDeleting?(object: KubeObject): KubeObject
  /** Waits for what the server itself makes of a written object; the answer goes out after it. */
  settled?(object: KubeObject): Promise<void>
  /** For kinds that are not stored: what a create answers. */
  createVirtual?(request: ApiRequest, object: KubeObject): Promise<KubeObject> | KubeObject
  /** Takes the place of the generic create. */
  readonly create?: SubresourceHandler
  /** For kinds that are not stored: what there is. */
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
