import type { Verb } from "../../../pkg/apimachinery/resource.ts"
import { endingWith, type TraceSpan, type Tracing } from "../../../pkg/tracing/tracing.ts"
import type { ApiRequest, ApiResult, Pipeline } from "../call/request.ts"
import { spanName } from "./span-name.ts"

/** The names of the spans in which verbs are executed. Source: apiserver pkg/endpoints/handlers. */
const NAMES: Readonly<Record<Verb, string>> = {
  get: "Get",
  list: "List",
  watch: "Watch",
  create: "Create",
  update: "Update",
  patch: "Patch",
  delete: "Delete",
  deletecollection: "Delete",
}

const METHODS: Readonly<Record<Verb, string>> = {
  get: "GET",
  list: "GET",
  watch: "GET",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETE",
}

/**
 * Returns the pipeline with spans. A request of this process gets the span that one over HTTP has from the server, as a
 * child of what the component is doing. Watches of this process last as long as it does and have none.
 */
export function tracedPipeline(pipeline: Pipeline, tracing: Tracing): Pipeline {
  const execute = (request: ApiRequest): ApiResult | Promise<ApiResult> => {
    const { verb, resource, name, namespace, subresource } = request
    const span = tracing.start(NAMES[verb], {
      attributes: { resource: resource.plural, group: resource.group, namespace, name, subresource },
    })
    return span === undefined ? pipeline.handle(request) : endingWith(tracing, span, () => pipeline.handle(request))
  }

  /** Returns the span of a request of this process; undefined where what it belongs to is not sampled. */
  const startOwn = (request: ApiRequest): TraceSpan | undefined => {
    const { verb, resource, name, namespace, subresource, userAgent } = request
    const { group, version, plural } = resource
    const method = METHODS[verb]
    const named = spanName(method, { group, version, resource: plural, subresource, namespace, name })
    const options = {
      kind: "server",
      attributes: { "http.request.method": method, "user_agent.original": userAgent },
    } as const
    return tracing.active() === undefined ? tracing.root(named, options) : tracing.start(named, options)
  }

  return {
    handle(request) {
      if (request.inProcess !== true) return execute(request)
      const span = startOwn(request)
      return span === undefined ? execute(request) : endingWith(tracing, span, () => execute(request))
    },
    watch: (request, sink) => pipeline.watch(request, sink),
    authorize: (request) => pipeline.authorize(request),
  }
}
