import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import type { Authorizer } from "../../authorization/authorizer.ts"
import type { AdmissionAttributes } from "../admission.ts"
import { admissionReview } from "../webhooks/review.ts"
import { authorizerVariables } from "./cel-authorizer.ts"

/** What expressions see of a request, and of what it is about. */
export interface Sight {
  readonly attributes: AdmissionAttributes
  /** The resource as which the request is seen, with the objects in its version. */
  readonly resource: Resource
  readonly object: KubeObject | undefined
  readonly old: KubeObject | undefined
  /** The namespace of the object, for kinds that have one. */
  readonly namespace?: KubeObject | undefined
  readonly params?: KubeObject | undefined
  readonly authorizer: Authorizer
}

/** The variables of admission by their names. Source: plugin/cel/activation.go, condition.go CreateAdmissionRequest. */
export function activationOf({
  attributes,
  authorizer,
  resource,
  object,
  old,
  namespace,
  params,
}: Sight): Readonly<Record<string, unknown>> {
  const review = admissionReview("admission.k8s.io/v1", "", attributes, { resource, object, old })
  const { uid: _uid, object: _object, oldObject: _old, ...request } = review.request
  return {
    object: object ?? null,
    oldObject: old ?? null,
    request: { ...request, name: request.name ?? "", options: request.options ?? {} },
    namespaceObject: namespace === undefined ? null : shownNamespace(namespace),
    params: params ?? null,
    ...authorizerVariables(authorizer, attributes),
  }
}

/** Source: CreateNamespaceObject, which leaves out what is nobody's business. */
function shownNamespace(namespace: KubeObject): unknown {
  const { managedFields: _fields, ownerReferences: _owners, uid, ...metadata } = namespace.metadata
  return { ...namespace, metadata: { ...metadata, UID: uid } }
}
