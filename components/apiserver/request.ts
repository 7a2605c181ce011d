import type { ApiError, Status } from "../../pkg/apimachinery/errors.ts"
import type { ListMeta } from "../../pkg/apimachinery/meta.ts"
import type { KubeObject, Resource, Verb } from "../../pkg/apimachinery/resource.ts"
import type { Patch, Watch } from "../../pkg/client/client.ts"
import type { Stored } from "../../pkg/storage/storage.ts"
import type { WatchBatch } from "./cacher/frame.ts"

/** Who asks. Source: apiserver pkg/authentication/user. */
export interface UserInfo {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

/** Options of every verb, as query parameters and DeleteOptions bodies give them; selectors still as text. */
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
 * A request for a resource, as a value: what the pipeline works on (design, decision 2). The HTTP codec makes one of
 * each request from outside, the in-process transport of each call of a component. Both then go authorization (unless
 * `authorized`) → admission → registry.
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
   * The body as plain JSON (create, update, subresources), not yet checked against the kind's schema; the registry
   * decodes it. The in-process client hands over its object. Patches come in `patch`.
   */
  readonly body?: unknown
  /** Faults found while parsing the bytes of the body, for fieldValidation: `json: duplicate field "spec.replicas"`. */
  readonly bodyFaults?: readonly string[]
  readonly patch?: Patch | undefined
  readonly userAgent?: string
  /** Adds a Warning header (code 299) to the answer. */
  readonly warn: (text: string) => void
  /** Adds an annotation to the audit event of the request; absent where none is written. */
  readonly annotate?: ((key: string, value: string) => void) | undefined
  readonly signal?: AbortSignal | undefined
  /** Asked by a component of this process, which hears no warnings. */
  readonly inProcess?: true
  /** The HTTP server has authorized the request before it read the body. Without this the pipeline authorizes it. */
  readonly authorized?: true
}

/**
 * The answer as a value. `stored` and `items` carry the JSON bytes that the store made once; a codec sends these where
 * it can.
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

/** A request for a path that is no resource: authorized by verb (lower-case method) and path. */
export interface NonResourceRequest {
  readonly user: UserInfo
  readonly verb: string
  readonly path: string
}

/** Where the frames of one watch go. */
export interface WatchSink {
  /**
   * Frames in the order of their revisions. False when the receiver is too far behind; the watch is then closed. The
   * batch is shared.
   */
  send(batch: WatchBatch): boolean
  /** Called once, when the watch ends for any reason but `close`: time-out (no error), too slow (no error), 410. */
  end(error: ApiError | undefined): void
}

/** What is asked of the authorizer about a resource; `resource` is the plural. */
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
   * As text, of a list, watch or deletecollection: which of the objects it is about. Source: KEP-4601 (authorization by
   * selectors).
   */
  readonly fieldSelector?: string | undefined
}

export interface AuthorizationDecision {
  readonly allowed: boolean
  /** Why; for a refusal it ends the message of the 403. */
  readonly reason: string
}

/** Everything after the codec: authorization → admission → registry → store. In-process clients enter here as well. */
export interface Pipeline {
  /**
   * Get, list, create, update, patch, delete, deletecollection. Reads answer in the same turn. Throws ApiError, at once
   * or through the promise.
   */
  handle(request: ApiRequest): ApiResult | Promise<ApiResult>
  /** Begins a watch; throws ApiError when it may not begin. The first frames may come before this returns. */
  watch(request: ApiRequest, sink: WatchSink): Watch
  /** Whether a request may be made; also for what is no resource. */
  authorize(request: ResourceAttributes | NonResourceRequest): AuthorizationDecision
}
