import type { ApiError, Status } from "../../../pkg/apimachinery/errors.ts"
import type { ListMeta } from "../../../pkg/apimachinery/meta.ts"
import type { KubeObject, Resource, Verb } from "../../../pkg/apimachinery/resource.ts"
import type { Patch, Watch } from "../../../pkg/client/client.ts"
import type { Stored } from "../../../pkg/storage/storage.ts"
import type { Grant } from "./grant.ts"
import type { MaybePromise } from "./maybe-promise.ts"
import type { WatchBatch, WatchFrame } from "./frame.ts"
import type { Annotate } from "./annotate.ts"

/** What is longer than this, in bytes or characters, is a large object: its write takes several turns of the event loop. */
export const LARGE = 128 * 1024

/** The user of a request. Source: apiserver pkg/authentication/user. */
export interface UserInfo {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** A component of this process, or a test. */
export interface Actor extends UserInfo {
  /** The name of its program, as in a User-Agent header; from its name unless given. */
  readonly agent?: string
}

/** Options of every verb, from query parameters and DeleteOptions; selectors are text. */
export interface RequestOptions {
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly limit?: number
  readonly continue?: string
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: string
  readonly timeoutSeconds?: number
  readonly allowWatchBookmarks?: boolean
  readonly sendInitialEvents?: boolean
  readonly dryRun?: boolean
  readonly fieldManager?: string
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict"
  readonly force?: boolean
  readonly gracePeriodSeconds?: number
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground"
  readonly orphanDependents?: boolean
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string }
  readonly pretty?: boolean
}

/**
 * A request for a resource, as a value. The HTTP codec makes it from a request from outside, the in-process transport
 * from a call of a component. Both then pass authorization (unless there is a `grant`) → admission → registry.
 */
export interface ApiRequest {
  readonly user: UserInfo
  readonly verb: Verb
  readonly resource: Resource
  readonly subresource?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  readonly options: RequestOptions
  /**
   * The body as plain JSON (create, update, subresources), which the registry checks against the kind's schema. The
   * in-process client passes its object. Patches are in `patch`.
   */
  readonly body?: unknown
  /** Faults found while parsing the body, for fieldValidation: `json: duplicate field "spec.replicas"`. */
  readonly bodyFaults?: readonly string[]
  readonly patch?: Patch | undefined
  /** Why the patch could not be read, which is told only when the object was found, as upstream. */
  readonly patchFault?: ApiError
  /**
   * @internal Set where the body has so many bytes that the steps of a write take turns of the event loop of their own:
   * an object with tens of thousands of small values takes 50 to 200 ms each to be parsed, tracked, checked and stored.
   */
  readonly isLarge?: true
  readonly userAgent?: string
  /** The managedFields of the body are stored as they are: the request restores an object of the past. */
  readonly restores?: true
  /** Adds a Warning header (code 299) to the response. */
  readonly warn: (text: string) => void
  /** Adds an annotation to the audit event of the request; absent where none is written. */
  readonly annotate?: Annotate | undefined
  /** Notes the decoded object of the body for the audit event; absent where none shows it. */
  readonly requested?: ((object: KubeObject) => void) | undefined
  /** Notes milliseconds that the request waited for webhooks, which are not the server's own. */
  readonly waited?: ((ms: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** The request comes from a component of this process, which reads no warnings. */
  readonly inProcess?: true
  /** The HTTP server has authorized the request before reading its body. Otherwise the pipeline authorizes it. */
  readonly grant?: Grant
}

/** A request that its user may make. The registry accepts no others. */
export interface AuthorizedRequest extends ApiRequest {
  readonly grant: Grant
}

export const isAuthorized = (request: ApiRequest): request is AuthorizedRequest => request.grant !== undefined

/**
 * A response as a value. `stored` and `items` contain the JSON bytes of the store, which the codec sends unchanged
 * where it can.
 */
export type ApiResult =
  | { readonly kind: "object"; readonly code: 200 | 201 | 202; readonly object: KubeObject; readonly stored?: Stored }
  | {
      readonly kind: "list"
      readonly resource: Resource
      readonly metadata: ListMeta
      readonly items: readonly Stored[]
    }
  | { readonly kind: "status"; readonly code: number; readonly status: Status }

/** A request for a path that is no resource, authorized by verb (the method in lower case) and path. */
export interface NonResourceRequest {
  readonly user: UserInfo
  readonly verb: string
  readonly path: string
}

/** Receives the frames of one watch. */
export interface WatchSink {
  /**
   * Takes the frames with which the watch begins: what there is, or what the client has missed. Each is made when it is
   * asked for; `failed` is called when that, or its encoding, throws. A sink without it gets all at once by `send`.
   */
  sendFirst?(frames: Iterable<WatchFrame>, failed: (err: unknown) => void): void
  /**
   * Takes frames in the order of their revisions. Returns false when the receiver is too far behind; the watch is
   * closed then. The batch is shared.
   */
  send(batch: WatchBatch): boolean
  /**
   * Called while the watch begins, when it may still be refused: the objects have to be converted first. `opened` or
   * `end` follows.
   */
  wait?(): void
  opened?(): void
  /** Called once when the watch ends for any reason except `close`: timeout (no error), too slow (no error), 410. */
  end(error: ApiError | undefined): void
}

/** What the authorizer is asked about a resource; `resource` is the plural name. */
export interface ResourceAttributes {
  readonly user: UserInfo
  readonly verb: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource?: string | undefined
  readonly namespace?: string | undefined
  readonly name?: string | undefined
  /**
   * The field selector of a list, watch or deletecollection, as text. Source: KEP-4601 (authorization by selectors).
   */
  readonly fieldSelector?: string | undefined
  /** The label selector of the same verbs, as text. */
  readonly labelSelector?: string | undefined
}

export interface AuthorizationDecision {
  readonly allowed: boolean
  /** The reason; for a refusal it ends the message of the 403. */
  readonly reason: string
  /** The request is refused for good: no other authorizer is asked about it. */
  readonly isDenied?: true
  /** Why an authorizer could not decide, as a webhook that does not answer. */
  readonly error?: Error
}

/** Everything behind the codec: authorization → admission → registry → store. In-process clients enter here as well. */
export interface Pipeline {
  /**
   * Runs get, list, create, update, patch, delete and deletecollection. Reads return in the same turn. Throws ApiError,
   * at once or through the promise.
   */
  handle(request: ApiRequest): ApiResult | Promise<ApiResult>
  /** Begins a watch; throws ApiError when it is refused. The first frames may come before this returns. */
  watch(request: ApiRequest, sink: WatchSink): Watch
  /** Returns the authorizer's decision about a request for a resource or another path. */
  authorize(request: ResourceAttributes | NonResourceRequest): MaybePromise<AuthorizationDecision>
}
