import type { Authorizer } from "./authorization/authorizer.ts"
import { authorize, authorizedName, authorizedSelector } from "./authorization/authorize.ts"
import type { RegistryContext } from "./registry/context.ts"
import { perform } from "./registry/registry.ts"
import { watch } from "./registry/watch.ts"
import type { ApiRequest, Pipeline, ResourceAttributes } from "./request.ts"

/**
 * authorization → admission → registry → store. Admission is asked by the registry's verbs, which know the object it is
 * about.
 */
export function createPipeline(registry: RegistryContext): Pipeline {
  const { authorizer } = registry
  return {
    handle(request) {
      authorizeOnce(authorizer, request)
      return perform(registry, request)
    },
    watch(request, sink) {
      authorizeOnce(authorizer, request)
      return watch(registry, request, sink)
    },
    authorize: (request) => authorizer.authorize(request),
  }
}

function authorizeOnce(authorizer: Authorizer, request: ApiRequest): void {
  if (request.authorized !== true) authorize(authorizer, attributesOf(request), request.annotate)
}

/** What is asked of the authorizer about a request. */
export function attributesOf({
  user,
  verb,
  resource: { group, version, plural },
  subresource,
  namespace,
  name,
  options,
}: ApiRequest): ResourceAttributes {
  return {
    user,
    verb,
    group,
    version,
    resource: plural,
    subresource,
    namespace,
    name: authorizedName(verb, name, options.fieldSelector),
    fieldSelector: authorizedSelector(verb, options.fieldSelector),
  }
}
