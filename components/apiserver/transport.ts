import { ApiError } from "../../pkg/apimachinery/errors.ts"
import type { KubeObject, Resource } from "../../pkg/apimachinery/resource.ts"
import type { ApiCall, Transport, WatchEvent } from "../../pkg/client/client.ts"
import type { WatchFrame } from "./cacher/frame.ts"
import type { ApiRequest, ApiResult, Pipeline, RequestOptions, UserInfo } from "./request.ts"
import { checkSubresource, noSuchResource } from "./subresource-verbs.ts"

/**
 * The way into the API for components of this process: the same pipeline as for requests from outside, as `user`,
 * without socket or bytes. `resourceOf` gives what is served of kinds that are only named.
 */
export function inProcessTransport(
  pipeline: Pipeline,
  user: UserInfo,
  resourceOf?: (group: string, version: string, plural: string) => Resource | undefined,
): Transport {
  const warn = () => undefined
  // What managedFields call a component: kube-scheduler, deployment-controller.
  const userAgent = user.name.replace(/^system:(serviceaccount:[^:]+:)?/, "")
  return {
    async call(call, signal) {
      if (call.subresource !== undefined) checkSubresource(served(call.resource), call.subresource, call.verb)
      return answer(await pipeline.handle(requestOf(call, user, signal)))
    },
    watch(resource, options, handlers) {
      const { namespace, ...rest } = options
      try {
        return pipeline.watch(
          { user, verb: "watch", resource: served(resource), namespace, options: rest, warn, inProcess: true },
          {
            send({ frames }) {
              for (const frame of frames) handlers.onEvent(eventOf(frame))
              return true
            },
            end: (error) => handlers.onEnd(error),
          },
        )
      } catch (err) {
        handlers.onEnd(ApiError.from(err))
        return { close: () => undefined }
      }
    },
  }

  /** @throws ApiError NotFound, as over HTTP, for a kind that is named and not served */
  function served(resource: Resource): Resource {
    if (resource.namedOnly !== true) return resource
    const { group, version, plural } = resource
    const found = resourceOf?.(group, version, plural)
    if (found === undefined) throw noSuchResource()
    return found
  }

  function requestOf(
    { verb, resource, subresource, namespace, name, object, patch, options }: ApiCall,
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
