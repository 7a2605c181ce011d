import type { Cause } from "./errors.ts"
import { f, message, type Input, type Output } from "./fields.ts"
import type { Fields, Message } from "./field-spec.ts"
import { ObjectMetaOfRequest, type ObjectMeta, type ObjectMetaInput } from "./meta.ts"
import type { Problem } from "./validation/names.ts"
import type { UpstreamChecks } from "./validation/objectmeta.ts"

/** Any object of any kind, for shared code. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}
/** An object that may be passed to create or change one: kind and version may be absent if the call names them. */
export interface KubeObjectInput {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?: ObjectMetaInput | undefined
}

/** Time and random values for strategy hooks, and a way to warn the client. */
export interface StrategyContext {
  /** RFC 3339, whole seconds. */
  readonly now: string
  readonly uuid: () => string
  readonly warn: (text: string) => void
  /** The user of the request; undefined for objects that the server creates itself. */
  readonly user?: {
    readonly name: string
    readonly uid?: string
    readonly groups: readonly string[]
    readonly extra?: Readonly<Record<string, readonly string[]>>
  }
}

/**
 * Everything that is specific to a kind. `T` is the decoded object, `I` what a client may send. Hooks take and return
 * values, and must not change their arguments. They are methods, so that a Resource<Pod> can be held as a Resource.
 * Source of the hooks: registry/rest/{create,update,delete}.go.
 */
export interface ResourceDeclaration<T extends KubeObject> {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  /** By default the lower-case kind. */
  readonly singular?: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly scope: "Namespaced" | "Cluster"
  /** The path of the pod template in objects of this kind, such as `spec.template`; absent for kinds without one. */
  readonly podTemplate?: string
  /** By default all verbs; virtual kinds (reviews, bindings) allow only create. */
  readonly verbs?: readonly Verb[]
  /** What the kind is for, in a sentence or two. */
  readonly doc: string
  /** OpenAPI name without `io.k8s.api.`, e.g. "apps.v1.Deployment"; by default made from group, version and kind. */
  readonly schemaName?: string
  /** Protobuf number of `metadata`; 1 in nearly every kind. */
  readonly metadataNumber?: number

  /** The subresources, their verbs and strategies. */
  readonly subresources?: Subresources<T>
  /**
   * How the server counts metadata.generation; absent: not at all. With true: from 1, at every change outside of
   * metadata and status.
   */
  readonly generation?: true | GenerationRule<T>
  /**
   * Columns of `kubectl get` between Name and Age, which are added unless `ageColumn` is false. Without this, the
   * columns are Name and Created At.
   */
  readonly columns?: readonly Column<T>[]
  readonly ageColumn?: boolean
  /** False when the name is not the first column (Event); such a kind has it among its columns. */
  readonly nameColumn?: boolean
  /** The order of a table's rows, when it differs from that of the list. */
  rowOrder?(a: T, b: T): number
  /** Returns the conditions of a table row. */
  rowConditions?(obj: T): readonly RowCondition[]
  /** Field selectors beside metadata.name and metadata.namespace: path → value as text. */
  readonly fieldSelectors?: { readonly [path: string]: { of(obj: T): string }["of"] }
  /** Returns the error for a field selector that is none of `fieldSelectors`, when the kind has its own message. */
  unknownFieldSelector?(path: string): string
  /** Checks the name; by default as a DNS-1123 subdomain. Returns what is wrong, or undefined. */
  validateName?(name: string): Problem | undefined
  /** Whether an update may create the object (Lease, Endpoints, Event … upstream's AllowCreateOnUpdate). */
  readonly allowCreateOnUpdate?: boolean
  /** Whether an update without resourceVersion overwrites any state; true by default. */
  readonly allowUnconditionalUpdate?: boolean
  /**
   * Whether a deletion returns the object instead of a Status. Source: ReturnDeletedObject of genericregistry.Store.
   */
  readonly returnsDeletedObject?: true
  /**
   * What happens to dependents when neither the deletion nor a finalizer of the object decides it; DeleteDependents by
   * default. With Unsupported the garbage collector ignores deletions of the kind. Source:
   * rest.GarbageCollectionDeleteStrategy.
   */
  readonly defaultGarbageCollectionPolicy?: "DeleteDependents" | "OrphanDependents" | "Unsupported"
  /** The warning for a deletion without a propagation policy. */
  readonly defaultPolicyWarning?: string
  /** Seconds after which a stored object expires, unless the server is configured otherwise; 3600 for Events. */
  readonly ttlSeconds?: number
  /** Whether only the newest revision of objects is stored (Lease). */
  readonly highChurn?: boolean
  /**
   * Another group-version-kind under which the same stored objects are served, e.g. events.k8s.io Event over core
   * Event.
   */
  readonly storedAs?: {
    readonly group: string
    readonly version: string
    readonly kind: string
    toStored(obj: T): KubeObject
    fromStored(obj: KubeObject): T
    /**
     * Returns whether an object written at a revision has the same content in the present schema; without it none has.
     */
    isCurrent?(revision: number): boolean
    /**
     * Calls a webhook to convert objects to another `<group>/<version>`, before `toStored`, which then changes no
     * version itself, and in place of `fromStored`. The objects are given to it with the defaults of their own version,
     * and get none of the other.
     */
    convert?(objects: readonly KubeObject[], apiVersion: string): Promise<readonly KubeObject[]>
    /** Returns a custom resource in another version of its definition, whether that is served or not. */
    atVersion?(apiVersion: string): Resource | undefined
  }
  /**
   * Whether only the name of the kind is known in this program: the server that serves the kind has the declaration.
   */
  readonly namedOnly?: true
  /** Whether the kind is served only where `--runtime-config` turns it on. */
  readonly offByDefault?: true
  /**
   * Whether another server stores the objects of the kind, so that this server's store and registry do not have them.
   */
  readonly remote?: true
  /** For a custom resource: its definition, and whether that is being deleted. */
  readonly definition?: { readonly uid: string; readonly terminating: boolean }

  /**
   * Sets defaults that concern a whole object, including its metadata; defaults of one struct are in its message.
   * Decoding calls it. `old` is the decoded object that this one was made from, if there is one: what both share has
   * its defaults already.
   */
  defaults?(obj: T, old?: T): T
  /**
   * Fields, besides the status, that a write to the object itself does not own: its strategy resets them on updates.
   * Source: the GetResetFields of strategies.
   */
  readonly resets?: readonly (readonly string[])[]
  /**
   * Whether a status that is sent at creation is stored although there is a status subresource: kubelets create their
   * Node with one.
   */
  readonly keepsStatusOnCreate?: boolean

  /**
   * Clears the fields that a client may not set at creation, and sets those that the server decides. For a kind with a
   * status subresource the status was cleared before.
   */
  prepareForCreate?(obj: T, context: StrategyContext): T
  /** Does the same for an update; the status (for a status update everything else) has been reset before. */
  prepareForUpdate?(obj: T, old: T, context: StrategyContext): T
  /** Which of upstream's checks of the metadata run for this kind, where it differs from most kinds. */
  readonly upstreamChecks?: UpstreamChecks
  /**
   * Rules across fields outside of the spec. Rules of a single field are in its declaration. `old` is the object that
   * an update replaces; undefined at creation.
   */
  validate?(obj: T, old?: T): readonly Cause[]
  /** Rules across fields of the spec. Skipped for an update that does not change the spec. */
  validateSpec?(obj: T, old?: T): readonly Cause[]
  /** Rules about new objects only, in addition to `validate` and `validateSpec`. */
  validateCreate?(obj: T): readonly Cause[]
  /** Rules about updates only, in addition to `validate` and `validateSpec`. */
  validateUpdate?(obj: T, old: T): readonly Cause[]
  /** Rules about updates of the spec. Skipped for an update that does not change the spec, and for subresources. */
  validateSpecUpdate?(obj: T, old: T): readonly Cause[]
  /** For a deprecated kind: the warning for every client that uses it. */
  readonly deprecated?: string
  /** Returns why the object of this name may not be deleted; undefined when it may. */
  refusesDeletion?(name: string): string | undefined
  /** Returns warnings about what is accepted but discouraged. */
  warnings?(obj: T, old: T | undefined): readonly string[]
  /**
   * Returns the grace period of a deletion that requests none, e.g. a Pod's terminationGracePeriodSeconds; undefined
   * when deletion is not graceful.
   */
  gracefulDeletion?(obj: T, requested: number | undefined): number | undefined
}

/** How metadata.generation counts. Source: PrepareForCreate and PrepareForUpdate of the strategies. */
export interface GenerationRule<T> {
  /** The generation of a new object; 0 is left out, and `sent` is the client's value. */
  readonly first?: 0 | 1 | "sent"
  counts?(obj: T, old: T): boolean
}

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection"

export interface Subresources<T> {
  /** `/status`: a write changes only the status, and metadata that controllers own. */
  readonly status?: true | SubresourceStrategy<T>
  /** `/scale` as autoscaling/v1 Scale: paths into the object; `selector` gives the text form. */
  readonly scale?: {
    readonly specReplicas: string
    readonly statusReplicas: string
    selector(obj: T): string
    /** An object without the field of the wanted number has no scale. */
    readonly needsReplicas?: true
  }
  /**
   * Other subresources: name → verbs and the Kind in discovery, e.g. `log: { verbs: ["get"], kind: "Pod" }`, `eviction:
   * { verbs: ["create"], kind: "Eviction", group: "policy", version: "v1" }`. One with a `strategy` shows the whole
   * object and is written by the generic code; the others are served by code in registry/<group>/<kind>/.
   */
  readonly other?: Readonly<
    Record<
      string,
      {
        readonly verbs: readonly Verb[]
        readonly kind: string
        readonly group?: string
        readonly version?: string
        readonly strategy?: SubresourceStrategy<T>
      }
    >
  >
}

/** What a write to a subresource may change of the object, and the rules of the change. */
export interface SubresourceStrategy<T> {
  /** Whether a write to this subresource may change the status, although the kind has `/status`. */
  readonly writesStatus?: true
  /**
   * Fields that a write here leaves unchanged, so that its manager does not own them: `["metadata", "labels"]` and
   * everything below; for a status the spec. Source: GetResetFields of the strategies.
   */
  readonly resets?: readonly (readonly string[])[]
  /**
   * The only fields that a write here changes, if that list is shorter than `resets`; `*` stands for every item of a
   * list.
   */
  readonly changes?: readonly (readonly string[])[]
  prepareForUpdate?(obj: T, old: T, context: StrategyContext): T
  validateUpdate?(obj: T, old: T): readonly Cause[]
}

/** A condition of a table row. Source: metav1.TableRowCondition. */
export interface RowCondition {
  readonly type: "Completed"
  readonly status: "True"
  readonly reason: string
  readonly message: string
}

export interface Column<T> {
  readonly name: string
  readonly type: "string" | "integer" | "number" | "boolean" | "date"
  readonly format?: string
  readonly doc?: string
  /** 0 is always shown, 1 only with `-o wide`. */
  readonly priority?: number
  /** Returns the cell; undefined is printed as `<none>`. `now` in milliseconds, for ages. */
  value(obj: T, now: number): string | number | boolean | undefined | null
}

/** A declared kind, with all derived values. Generic code takes `Resource`; typed code `Resource<Pod, PodInput>`. */
export interface Resource<
  T extends KubeObject = KubeObject,
  I extends KubeObjectInput = KubeObjectInput,
> extends ResourceDeclaration<T> {
  readonly singular: string
  readonly verbs: readonly Verb[]
  readonly apiVersion: string
  /**
   * The message of the whole object (metadata and the declared fields). `apiVersion` and `kind` are handled separately.
   */
  readonly schema: Message
  /** The prefix of the objects' keys in the store, `/registry/<group or core>/<plural>/`; see keyOf. */
  readonly prefix: string
  /** Never set: only the type checker uses it. */
  readonly "~in"?: I
}

/**
 * The type of an object with a set of declared fields. For a kind whose hooks call helpers with the object: `export
 * interface Node extends ObjectFor<typeof fields> {}` before `defineResource`.
 */
export type ObjectFor<F extends Fields> = {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
} & Output<F>
type InputFor<F extends Fields> = KubeObjectInput & Input<F>

export type ObjectOfResource<R> = R extends Resource<infer T, infer _I> ? T : never
export type InputOfResource<R> = R extends Resource<infer _T, infer I> ? I : never

/**
 * Declares a kind. `fields` are those beside apiVersion, kind and metadata.
 *
 *     export const Lease = defineResource(
 *       {
 *         group: "coordination.k8s.io",
 *         version: "v1",
 *         kind: "Lease",
 *         plural: "leases",
 *         scope: "Namespaced",
 *         doc: "…",
 *       },
 *       { spec: f.message(2, LeaseSpec, "…").always() },
 *     )
 *     export type Lease = ObjectOfResource<typeof Lease>
 */
export function defineResource<F extends Fields>(
  declaration: ResourceDeclaration<ObjectFor<F>>,
  fields: F,
): Resource<ObjectFor<F>, InputFor<F>> {
  const { group, version, kind, plural } = declaration
  return {
    ...declaration,
    singular: declaration.singular ?? kind.toLowerCase(),
    verbs: declaration.verbs ?? ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    apiVersion: group === "" ? version : `${group}/${version}`,
    prefix: `/registry/${group === "" ? "core" : group}/${plural}/`,
    schema: schemaOf(declaration, fields),
  }
  function schemaOf(
    { schemaName, doc, metadataNumber = 1, defaults }: ResourceDeclaration<ObjectFor<F>>,
    own: F,
  ): Message {
    const name = schemaName ?? `${group === "" ? "core" : group.split(".")[0]}.${version}.${kind}`
    const metadata = f.message(metadataNumber, ObjectMetaOfRequest, "Standard object's metadata.").always()
    return message(
      name,
      doc,
      { metadata, ...own },
      defaults === undefined ? {} : { defaults: (obj: ObjectFor<F>, old?: ObjectFor<F>) => defaults(obj, old) },
    )
  }
}

/** Whether an object is of a kind, by its apiVersion and kind. */
export const isKind = <T extends KubeObject>(resource: Resource<T>, object: KubeObject | undefined): object is T =>
  object !== undefined && object.kind === resource.kind && object.apiVersion === resource.apiVersion

/** Returns an object in the type of its kind. @throws Error when it is of another kind */
export function asKind<T extends KubeObject>(resource: Resource<T>, object: KubeObject | undefined): T {
  if (isKind(resource, object)) return object
  throw new Error(
    `expected an object of kind ${resource.apiVersion} ${resource.kind}, ` +
      `not ${object === undefined ? "none" : `${object.apiVersion} ${object.kind}`}`,
  )
}

/** Returns the key of an object in the store: `/registry/core/pods/<namespace>/<name>`. */
export const keyOf = (
  resource: { readonly prefix: string; readonly scope: "Namespaced" | "Cluster" },
  ref: { readonly namespace?: string | undefined; readonly name?: string | undefined },
): string =>
  resource.scope === "Namespaced"
    ? `${resource.prefix}${ref.namespace ?? ""}/${ref.name ?? ""}`
    : `${resource.prefix}${ref.name ?? ""}`
