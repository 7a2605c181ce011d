import { isNamespaceResource, Namespace } from "../../../../pkg/api/core/v1/namespace.ts"
import { ApiError, forbidden, notFound } from "../../../../pkg/apimachinery/errors.ts"
import type { AdmissionPlugin } from "../admission.ts"
import type { AdmissionContext } from "../context.ts"

/** The namespaces that cannot be deleted, since the cluster does not work without them. */
const IMMORTAL: readonly string[] = ["default", "kube-system", "kube-public"]

/**
 * Refuses to create objects in a namespace that does not exist or is being deleted. Source: apiserver
 * pkg/admission/plugin/namespace/lifecycle. Differs from upstream: upstream reads an informer and works round its
 * delay; here the store is read.
 */
export const namespaceLifecycle = ({ objects }: AdmissionContext): AdmissionPlugin => ({
  name: "NamespaceLifecycle",
  operations: ["CREATE", "DELETE"],
  admit({ operation, resource, namespace, name }) {
    const isNamespace = isNamespaceResource(resource)
    if (operation === "DELETE") {
      if (isNamespace && IMMORTAL.includes(name)) throw forbidden(resource, name, "this namespace may not be deleted")
      return undefined
    }
    // Access reviews are not stored in the namespace that they name.
    if (
      resource.scope === "Cluster" ||
      namespace === undefined ||
      namespace === "" ||
      resource.group === "authorization.k8s.io"
    )
      return undefined
    const found = objects.get(Namespace, { name: namespace })
    if (found === undefined) throw notFound(Namespace, namespace)
    if (found.metadata.deletionTimestamp !== undefined || found.status.phase === "Terminating") {
      const refused = forbidden(
        resource,
        name,
        `unable to create new content in namespace ${namespace} because it is being terminated`,
      )
      throw new ApiError(refused.reason, refused.message, {
        ...refused.details,
        causes: [
          {
            reason: "NamespaceTerminating",
            message: `namespace ${namespace} is being terminated`,
            field: "metadata.namespace",
          },
        ],
      })
    }
    return undefined
  },
})
