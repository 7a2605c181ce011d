import { forbidden } from "../../pkg/apimachinery/errors.ts"
import { parseFieldSelector } from "../../pkg/apimachinery/fieldselector.ts"
import type { Authorizer } from "./authorization/authorizer.ts"
import { forbiddenMessage } from "./authorization/forbidden.ts"
import { noteDecision } from "./authorization/note-decision.ts"
import type { RegistryContext } from "./registry/context.ts"
import { perform } from "./registry/registry.ts"
import { watch } from "./registry/watch.ts"
import type { ApiRequest, Pipeline, ResourceAttributes } from "./request.ts"

/** authorization → admission → registry → store. Admission is asked by the registry's verbs, which know the object it is about. */
export function createPipeline({
  authorizer,
  registry,
}: {
  readonly authorizer: Authorizer
  readonly registry: RegistryContext
}): Pipeline {
  const authorized = (request: ApiRequest) => {
    const attributes = attributesOf(request)
    // The reason is put into words when it is asked for: of what is allowed only the audit event tells it.
    const decision = authorizer.authorize(attributes)
    noteDecision(request.annotate, decision)
    if (!decision.allowed)
      throw forbidden(request.resource, request.name ?? "", forbiddenMessage(attributes, decision.reason))
  }
  return {
    handle(request) {
      authorized(request)
      return perform(registry, request)
    },
    watch(request, sink) {
      authorized(request)
      return watch(registry, request, sink)
    },
    authorize: (request) => authorizer.authorize(request),
  }
}

function attributesOf({
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
    name: name ?? selectedName(options.fieldSelector),
  }
}

/** A list or watch of one object by its name counts as being about that object: kubelets watch single Secrets so. Source: apiserver pkg/endpoints/request/requestinfo.go. */
function selectedName(fieldSelector = ""): string | undefined {
  if (!fieldSelector.includes("metadata.name")) return undefined
  try {
    return parseFieldSelector(fieldSelector).find(({ path, operator }) => path === "metadata.name" && operator !== "!=")
      ?.value
  } catch {
    return undefined // the registry refuses it with a reason
  }
}
