import { isNamespaceResource, Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import { forbidden, isAlreadyExists, notFound } from "../../../../pkg/apimachinery/errors.ts"
import type { Client } from "../../../../pkg/client/client.ts"
import { errorMessage } from "../../../../pkg/errors/error-message.ts"
import type { AdmissionAttributes, AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

/** Returns the namespace that a request is about and that does not exist; undefined where there is none. */
function absentNamespace(
  { objects }: Pick<AdmissionContext, "objects">,
  { resource, namespace = "" }: AdmissionAttributes,
): string | undefined {
  if (namespace === "" || isNamespaceResource(resource)) return undefined
  return objects.get(Namespace, { name: namespace }) === undefined ? namespace : undefined
}

/**
 * Refuses requests in a namespace that does not exist. Source: plugin/pkg/admission/namespace/exists. Differs from
 * upstream, which reads an informer first: here the store is read.
 */
export const namespaceExists = (context: AdmissionContext): AdmissionPlugin => ({
  name: "NamespaceExists",
  operations: ["CREATE", "UPDATE", "DELETE"],
  validate(attributes) {
    const absent = absentNamespace(context, attributes)
    if (absent !== undefined) throw notFound(Namespace, absent)
  },
})

/** Creates the namespace of a new object where it does not exist. Source: plugin/pkg/admission/namespace/autoprovision. */
export const namespaceAutoProvision = (context: AdmissionContext, client: () => Client): AdmissionPlugin => ({
  name: "NamespaceAutoProvision",
  operations: ["CREATE"],
  admit(attributes) {
    const absent = attributes.options.dryRun === true ? undefined : absentNamespace(context, attributes)
    if (absent === undefined) return attributes.object
    return client()
      .create(Namespace, { metadata: { name: absent } })
      .catch((err: unknown) => {
        if (!isAlreadyExists(err)) throw forbidden(attributes.resource, attributes.name, errorMessage(err))
      })
      .then(() => attributes.object)
  },
})
