import type { Cause } from "./errors.ts"
import { f, message, type Fields, type Input, type Message, type Output } from "./fields.ts"
import { ObjectMeta as ObjectMetaMessage, type ObjectMeta, type ObjectMetaInput } from "./meta.ts"
import type { Problem } from "./names.ts"
import type { UpstreamChecks } from "./objectmeta.ts"

/** Any object of any kind, as shared code sees it. */
export interface KubeObject {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: ObjectMeta
}
/**
 * What may be sent to create or change an object: kind and version may be left out where the call already says them.
 */
export interface KubeObjectInput {
  readonly apiVersion?: string | undefined
  readonly kind?: string | undefined
  readonly metadata?: ObjectMetaInput | undefined
}

/** Time and chance for strategy hooks, and a way to warn whoever asked. */
export interface StrategyContext {
  /** RFC 3339, whole seconds. */
  readonly now: string
  readonly uuid: () => string
  readonly warn: (text: string) => void
  /** Who asks; undefined for what the server makes by itself. */
  readonly user?: {
    readonly name: string
    readonly uid?: string
    readonly groups: readonly string[]
    readonly extra?: Readonly<Record<string, readonly string[]>>
  }
}

/**
 * All that is particular to a kind. `T` is the object once decoded, `I` what a client may send.
 * Hooks get values and give values; none may change what it was given. They are methods, so that a Resource<Pod> can be
 * held as a Resource. Source of the hooks: registry/rest/{create,update,delete}.go.
 */
export interface ResourceDeclaration<T extends KubeObject> {
  readonly group: string
  readonly version: string
  readonly kind: string
  readonly plural: string
  /** Lower-case kind unless given. */
  readonly singular?: string
  readonly shortNames?: readonly string[]
  readonly categories?: readonly string[]
  readonly scope: "Namespaced" | "Cluster"
  /** Where objects of this kind hold the template of their pods, as in `spec.template`; absent where they have none. */
  readonly podTemplate?: string
  /** Every verb unless given; virtual kinds (reviews, bindings) allow only create. */
  readonly verbs?: readonly Verb[]
  /** What the kind is for, in a sentence or two. */
  readonly doc: string
  /** OpenAPI name without `io.k8s.api.`; made of group and version unless given, e.g. "apps.v1.Deployment". */
  readonly schemaName?: string
  /** Protobuf number of `metadata`; 1 in nearly every kind. */
  readonly metadataNumber?: number

  /** Subresources, and what is particular to each; the verbs they take. */
  readonly subresources?: Subresources<T>
  /**
   * Where the server counts changes in metadata.generation: from 1, and of everything but metadata and status, unless
   * the kind says otherwise.
   */
  readonly generation?: true | GenerationRule<T>
  /**
   * Columns of `kubectl get` after Name and before Age; Name and Age are added unless `ageColumn` is false. Without
   * this, Name and Created At are all.
   */
  readonly columns?: readonly Column<T>[]
  readonly ageColumn?: boolean
  /** False where the name is not the first column (Event); such a kind names it among its columns. */
  readonly nameColumn?: boolean
  /** The order of the rows of a table, where it is not that of the list. */
  rowOrder?(a: T, b: T): number
  /** What a table says of the whole row of an object. */
  rowConditions?(obj: T): readonly RowCondition[]
  /** Field selectors beside metadata.name and metadata.namespace: path → value as text. */
  readonly fieldSelectors?: { readonly [path: string]: { of(obj: T): string }["of"] }
  /** How a field that is none of `fieldSelectors` is refused, where the kind has words of its own for it. */
  unknownFieldSelector?(path: string): string
  /** How the name is checked; DNS-1123 subdomain unless given. Gives what is wrong, or nothing. */
  validateName?(name: string): Problem | undefined
  /** May an update create the object? (Lease, Endpoints, Event … upstream's AllowCreateOnUpdate.) */
  readonly allowCreateOnUpdate?: boolean
  /** May an update without resourceVersion overwrite whatever is there? True unless given. */
  readonly allowUnconditionalUpdate?: boolean
  /** A deletion answers with the object instead of a Status. Source: ReturnDeletedObject of genericregistry.Store. */
  readonly returnsDeletedObject?: true
  /**
   * What becomes of dependents when neither the deletion nor a finalizer of the object says it; DeleteDependents unless
   * given. With Unsupported the garbage collector has no part in deletions, whatever they say. Source:
   * rest.GarbageCollectionDeleteStrategy.
   */
  readonly defaultGarbageCollectionPolicy?: "DeleteDependents" | "OrphanDependents" | "Unsupported"
  /** What somebody is warned with who deletes without saying what becomes of dependents. */
  readonly defaultPolicyWarning?: string
  /** Seconds after which a stored object ends by itself; Events have 3600. */
  readonly ttlSeconds?: number
  /** Kept out of the history: only the newest revision of an object is stored (Lease, Event). */
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
    /** Says of what was written at a revision that it looks the same here; nothing does unless given. */
    isCurrent?(revision: number): boolean
    /**
     * Asks a webhook for objects in another `<group>/<version>`, before `toStored` and `fromStored` see them.
     * Where this is given, those two change no version themselves.
     */
    convert?(objects: readonly KubeObject[], apiVersion: string): Promise<readonly KubeObject[]>
  }
  /**
   * The program knows no more of the kind than its name: whoever serves it has a declaration of its own, which is
   * meant.
   */
  readonly namedOnly?: true
  /** Objects of the kind are another server's: the store and the registry know nothing of them. */
  readonly remote?: true
  /** Of a custom resource: which definition it comes from, and whether that is being deleted. */
  readonly definition?: { readonly uid: string; readonly terminating: boolean }

  /**
   * Defaults that hold for a whole object of the kind, its metadata among them; those of one struct stand in its
   * message. Applied by decoding. `old` is the decoded object that this one was made from, if there is one: what both
   * share has its defaults already.
   */
  defaults?(obj: T, old?: T): T
  /**
   * A status sent at creation is stored, although there is a status subresource: kubelets create their Node with one.
   */
  readonly keepsStatusOnCreate?: boolean

  /**
   * Drops what a client may not set at creation and sets what the server decides. Status is emptied before, where there
   * is a status subresource.
   */
  prepareForCreate?(obj: T, context: StrategyContext): T
  /** The same for an update; status (or, for a status update, everything else) has been put back before. */
  prepareForUpdate?(obj: T, old: T, context: StrategyContext): T
  /** Which of upstream's checks of the metadata run for this kind, where it differs from most kinds. */
  readonly upstreamChecks?: UpstreamChecks
  /**
   * Rules across fields outside of the spec. Rules of a single field stand in its declaration. `old` is the object that
   * an update replaces, undefined at creation.
   */
  validate?(obj: T, old?: T): readonly Cause[]
  /** Rules across fields of the spec. Skipped for an update that leaves the spec as it is. */
  validateSpec?(obj: T, old?: T): readonly Cause[]
  /** Rules about new objects only, in addition to `validate` and `validateSpec`. */
  validateCreate?(obj: T): readonly Cause[]
  /** Rules about updates only, in addition to `validate` and `validateSpec`. */
  validateUpdate?(obj: T, old: T): readonly Cause[]
  /** Rules about updates of the spec. Skipped for an update that leaves the spec as it is, and for subresources. */
  validateSpecUpdate?(obj: T, old: T): readonly Cause[]
  /** Of a kind that is to be used no more: what everybody who asks for it is warned with. */
  readonly deprecated?: string
  /** Why the object of this name may not be deleted by itself, if it may not. */
  refusesDeletion?(name: string): string | undefined
  /** Warning headers for what is accepted but discouraged. */
  warnings?(obj: T, old: T | undefined): readonly string[]
  /**
   * How long a deletion waits when the request does not say, e.g. a Pod's terminationGracePeriodSeconds; absent means
   * deletion is not graceful.
   */
  gracefulDeletion?(obj: T, requested: number | undefined): number | undefined
}

/** How metadata.generation counts. Source: PrepareForCreate and PrepareForUpdate of the strategies. */
export interface GenerationRule<T> {
  /** That of a new object; 0 is written as none, and `sent` is what the client says. */
  readonly first?: 0 | 1 | "sent"
  counts?(obj: T, old: T): boolean
}

export type Verb = "get" | "list" | "watch" | "create" | "update" | "patch" | "delete" | "deletecollection"

export interface Subresources<T> {
  /** `/status`: a write touches only status and metadata that controllers own. */
  readonly status?: true | SubresourceStrategy<T>
  /** `/scale` as autoscaling/v1 Scale: paths into the object; `selector` gives the text form. */
  readonly scale?: {
    readonly specReplicas: string
    readonly statusReplicas: string
    selector(obj: T): string
    /** There is no size to tell of while the field of the wanted number is missing. */
    readonly needsReplicas?: true
  }
  /**
   * Further ones: name → verbs and the Kind in discovery,
   * e.g. `log: { verbs: ["get"], kind: "Pod" }`, `eviction: { verbs: ["create"], kind: "Eviction", group: "policy",
   * version: "v1" }`. One with a `strategy` shows the whole object and is written by the generic way; the others are
   * served by code in registry/<group>/<kind>/.
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

/** What a write to a subresource may change of the object, and the rules of that change. */
export interface SubresourceStrategy<T> {
  /** A write here may change the status, although the kind has `/status` for that. */
  readonly writesStatus?: true
  /**
   * Fields that a write here leaves as they are, so that who writes comes not to own them: `["metadata", "labels"]` and
   * all below. The spec, for a status. Source: GetResetFields of the strategies.
   */
  readonly resets?: readonly (readonly string[])[]
  /** The only fields that a write here changes, where that is the shorter list; `*` stands for every item of a list. */
  readonly changes?: readonly (readonly string[])[]
  prepareForUpdate?(obj: T, old: T, context: StrategyContext): T
  validateUpdate?(obj: T, old: T): readonly Cause[]
}

/** What a table says of a whole row. Source: metav1.TableRowCondition. */
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
  /** The cell; an undefined one is printed as `<none>`. `now` in milliseconds, for ages. */
  value(obj: T, now: number): string | number | boolean | undefined | null
}

/**
 * A kind ready for use: what was declared, with everything derived filled in. Generic code takes `Resource`; typed code
 * `Resource<Pod, PodInput>`.
 */
export interface Resource<
  T extends KubeObject = KubeObject,
  I extends KubeObjectInput = KubeObjectInput,
> extends ResourceDeclaration<T> {
  readonly singular: string
  readonly verbs: readonly Verb[]
  readonly apiVersion: string
  /**
   * The whole object (metadata and the declared fields) as a message; `apiVersion` and `kind` are handled beside it.
   */
  readonly schema: Message
  /** `/registry/<group or core>/<plural>/`: under which its objects are stored; see keyOf. */
  readonly prefix: string
  /** Only for the type checker. */
  readonly "~in"?: I
}

/**
 * The object that a set of declared fields makes. For a kind whose hooks call helpers that take the object: `export
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
 *     export const Lease = defineResource({ group: "coordination.k8s.io", version: "v1", kind: "Lease", plural:
 *     "leases", scope: "Namespaced", doc: "…" }, {
 *       spec: f.message(2, LeaseSpec, "…").always(),
 *     })
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
    const metadata = f.message(metadataNumber, ObjectMetaMessage, "Standard object's metadata.").always()
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

/** The key of an object in the store: `/registry/core/pods/<namespace>/<name>`. */
export const keyOf = (
  resource: { readonly prefix: string; readonly scope: "Namespaced" | "Cluster" },
  ref: { readonly namespace?: string | undefined; readonly name?: string | undefined },
): string =>
  resource.scope === "Namespaced"
    ? `${resource.prefix}${ref.namespace ?? ""}/${ref.name ?? ""}`
    : `${resource.prefix}${ref.name ?? ""}`
