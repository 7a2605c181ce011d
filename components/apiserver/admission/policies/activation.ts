import { isNamespaceResource, Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Decider } from "../../authorization/authorizer.ts"
import type { Objects } from "../../cacher/objects.ts"
import type { AdmissionAttributes } from "../admission.ts"
import type { Seen } from "../webhooks/equivalents.ts"
import { admissionReview } from "../webhooks/review.ts"
import { authorizerVariables } from "./cel-authorizer.ts"

/**
 * A request as an expression sees it: `resource` is the matched resource, `object` and `old` are converted to its
 * version.
 */
export interface Sight extends Seen {
  readonly attributes: AdmissionAttributes
  readonly resource: Resource
  /** Answers what expressions ask about rights. */
  readonly decider: Decider
}

/** The values of an expression's variables by their names. */
export type Activation = Readonly<Record<string, unknown>>

/**
 * Returns the variables that are the same for all expressions about a request. `params` is null here, and so is
 * `namespaceObject`, which match conditions do not see. Source: plugin/cel/activation.go, condition.go
 * CreateAdmissionRequest.
 */
export function activationOf({ attributes, decider, resource, object, old }: Sight): Activation {
  const review = admissionReview("admission.k8s.io/v1", "", attributes, { resource, object, old })
  const { uid: _uid, object: _object, oldObject: _old, ...request } = review.request
  return {
    object: object ?? null,
    oldObject: old ?? null,
    request: { ...request, name: request.name ?? "", options: request.options ?? {} },
    namespaceObject: null,
    params: null,
    ...authorizerVariables(decider, attributes),
  }
}

/** Returns the same variables for expressions that have no `authorizer`. */
export function withoutAuthorizer(activation: Activation): Activation {
  const { authorizer: _authorizer, "authorizer.requestResource": _resource, ...others } = activation
  return others
}

/**
 * Returns the Namespace of the request's object; undefined for cluster-scoped objects and for Namespaces themselves.
 */
export function namespaceOf(
  { resource, namespace = "" }: AdmissionAttributes,
  objects: Objects,
): KubeObject | undefined {
  if (namespace === "" || isNamespaceResource(resource)) return undefined
  return objects.get(Namespace, { name: namespace })
}

/**
 * Returns a Namespace as validations see it. Source: CreateNamespaceObject, which leaves out managedFields and
 * ownerReferences.
 */
export function shownNamespace(namespace: KubeObject): unknown {
  const { managedFields: _fields, ownerReferences: _owners, ...metadata } = namespace.metadata
  return { ...namespace, metadata }
}
