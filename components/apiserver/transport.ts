import { ApiError } from "../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource, Verb } from "../../pkg/apimachinery/resource.ts"
import type { ApiCall, Transport, WatchEvent, WatchHandlers } from "../../pkg/client/client.ts"
import { userAgentOf } from "../../pkg/client/agent-of.ts"
import { sleep, type Clock } from "../../pkg/clock/clock.ts"
import type { WatchBatch, WatchFrame } from "./call/frame.ts"
import { authorize } from "./authorization/authorize.ts"
import { attributesOf } from "./authorization/attributes-of.ts"
import { TurnedAway } from "./call/too-many-requests.ts"
import type { Actor, ApiRequest, ApiResult, Pipeline, RequestOptions, UserInfo, WatchSink } from "./call/request.ts"
import { checkSubresource, noSuchResource } from "./call/subresource-verbs.ts"
import { lateWatch } from "./call/late-watch.ts"
import { isPending, whenReady, type MaybePromise } from "./call/maybe-promise.ts"

/** Returns the transport to extension API servers as a user. Its requests must be authorized before. */
export type RemoteWay = (user: UserInfo) => Transport

export interface TransportOptions {
  /** Returns the served declaration of a kind that is declared by name only, or that is off by default. */
  readonly resourceOf?: (group: string, version: string, plural: string) => Resource | undefined
  readonly remote?: RemoteWay
}

/**
 * Returns the transport for components of this process: calls pass through the same pipeline as requests from outside,
 * as `user`, without socket or bytes.
 */
export function inProcessTransport(
  pipeline: Pipeline,
  { agent, ...user }: Actor,
  clock: Clock,
  { resourceOf, remote }: TransportOptions = {},
): Transport {
  const warn = () => undefined
  const userAgent = userAgentOf({ name: user.name, agent })
  return {
    call(call, signal) {
      try {
        if (call.resource.remote === true) {
          const way = authorized(call, signal)
          return isPending(way) ? way.then((known) => known.call(call, signal)) : way.call(call, signal)
        }
        if (call.subresource !== undefined) checkSubresource(served(call.resource), call.subresource, call.verb)
      } catch (err) {
        return Promise.reject(err)
      }
      return attempt(call, signal, 1)
    },
    watch(resource, options, handlers) {
      const { namespace, ...rest } = options
      try {
        if (resource.remote === true) {
          const begin = (way: Transport) => way.watch(resource, options, handlers)
          const way = authorized({ verb: "watch", resource, namespace })
          return isPending(way) ? lateWatch(way, begin, (error) => handlers.onEnd(error)) : begin(way)
        }
        return pipeline.watch(
          { user, verb: "watch", resource: served(resource), namespace, options: rest, warn, inProcess: true },
          new HandlersSink(handlers),
        )
      } catch (err) {
        handlers.onEnd(ApiError.from(err))
        return { close: () => undefined }
      }
    },
  }

  /** Not an async function, because nearly all calls succeed at once, and hundreds of thousands are made. */
  function attempt(call: ApiCall, signal: AbortSignal | undefined, attempts: number): Promise<unknown> {
    const failed = (err: unknown): Promise<unknown> => {
      if (!(err instanceof TurnedAway) || attempts > MOST_RETRIES) throw err
      return sleep(clock, err.seconds * 1000, signal).then(() => attempt(call, signal, attempts + 1))
    }
    try {
      const result = pipeline.handle(requestOf(call, user, signal))
      return isPending(result) ? result.then(answer, failed) : Promise.resolve(answer(result))
    } catch (err) {
      return Promise.resolve(err).then(failed)
    }
  }

  /** @throws ApiError NotFound, as over HTTP, for a kind that is not served */
  function served(resource: Resource): Resource {
    if (resource.namedOnly !== true && resource.offByDefault !== true) return resource
    const { group, version, plural } = resource
    const found = resourceOf?.(group, version, plural)
    if (found === undefined) throw noSuchResource()
    return found
  }

  /** Returns the transport to an extension API server for an authorized request. */
  function authorized(
    call: Omit<ApiCall, "verb"> & { readonly verb: Verb },
    signal?: AbortSignal,
  ): MaybePromise<Transport> {
    return whenReady(authorize(pipeline, attributesOf(requestOf(call, user, signal)), undefined), () => {
      if (remote === undefined) throw new ApiError("ServiceUnavailable", "service unavailable")
      return remote(user)
    })
  }

  function requestOf(
    {
      verb,
      resource,
      subresource,
      namespace,
      name,
      object,
      patch,
      options,
    }: Omit<ApiCall, "verb"> & { readonly verb: Verb },
    user: UserInfo,
    signal: AbortSignal | undefined,
  ): ApiRequest {
    return {
      user,
      verb,
      resource: served(resource),
      subresource,
      namespace,
      name,
      options: withoutNamespace(options) ?? NO_OPTIONS,
      body: object,
      patch,
      userAgent,
      warn,
      signal,
      inProcess: true,
    }
  }
}

/** Hands the events of a watch to its handlers. A class instead of closures, since a kubelet has a watch for each object. */
class HandlersSink implements WatchSink {
  readonly #handlers: WatchHandlers<KubeObject>
  constructor(handlers: WatchHandlers<KubeObject>) {
    this.#handlers = handlers
  }
  send({ frames }: WatchBatch): boolean {
    for (const frame of frames) this.#handlers.onEvent(eventOf(frame))
    return true
  }
  end(error: ApiError | undefined): void {
    this.#handlers.onEnd(error)
  }
}

/** Most retries of a call that was refused with 429. Source: client-go rest/request.go maxRetries. */
const MOST_RETRIES = 10

const eventOf = ({ type, stored }: WatchFrame): WatchEvent => ({ type, object: stored.object })

const NO_OPTIONS: RequestOptions = {}

const withoutNamespace = (options: ApiCall["options"]): RequestOptions | undefined => {
  if (options?.namespace === undefined) return options
  const { namespace: _namespace, ...rest } = options
  return rest
}

function answer(result: ApiResult): unknown {
  switch (result.kind) {
    case "object":
      return result.object
    case "list":
      return listOf(result.resource, result)
    case "status":
      return result.status
  }
}

const listOf = ({ apiVersion, kind }: Resource, { metadata, items }: Extract<ApiResult, { kind: "list" }>) => ({
  apiVersion,
  kind: `${kind}List`,
  metadata,
  items: items.map(({ object }): KubeObject => object),
})
