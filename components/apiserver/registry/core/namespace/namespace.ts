import { namespaceFinalizerFaults, type Namespace } from "../../../../../pkg/api/core/v1/namespace.ts"
import { badRequest, conflict, invalid, methodNotSupported, MODIFIED } from "../../../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../../../pkg/apimachinery/resource.ts"
import type { ApiRequest, ApiResult } from "../../../request.ts"
import type { KindHooks, RegistryContext } from "../../context.ts"
import { decodeBody } from "../../decode.ts"
import { updateBySubresource } from "../../subresource-update.ts"

/** A namespace goes when what is in it has gone: until then spec.finalizers hold it. Source: pkg/registry/core/namespace/storage/storage.go. */
export const namespaceHooks: KindHooks = {
  // The first deletion only marks it, even where no finalizer holds it.
  holdsDeletion: (object) =>
    object.metadata.deletionTimestamp === undefined || ((object as Namespace).spec.finalizers ?? []).length > 0,
  markDeleting: markTerminating,
  subresources: { finalize },
}

/** A namespace is given no grace period: what counts is whether it is empty. */
function markTerminating(object: KubeObject): KubeObject {
  const { deletionGracePeriodSeconds: _grace, ...metadata } = object.metadata
  return { ...object, metadata, status: { ...(object as Namespace).status, phase: "Terminating" } } as Namespace
}

/** PUT namespaces/finalize: the only way to change spec.finalizers; the last one to go takes the namespace with it. */
async function finalize(context: RegistryContext, request: ApiRequest): Promise<ApiResult> {
  if (request.verb !== "update") throw methodNotSupported(request.resource, request.verb)
  const sent = decodeBody(request) as Namespace
  if (sent.metadata.name !== request.name)
    throw badRequest(
      `the name of the object (${sent.metadata.name ?? ""}) does not match the name on the URL (${request.name ?? ""})`,
    )
  const { resourceVersion = "" } = sent.metadata
  const { stored } = await updateBySubresource(context, request, {
    change(old: KubeObject) {
      if (resourceVersion !== "" && resourceVersion !== old.metadata.resourceVersion)
        throw conflict(request.resource, request.name ?? "", MODIFIED)
      const changed = { ...old, spec: { ...(old as Namespace).spec, finalizers: sent.spec.finalizers } } as Namespace
      const causes = namespaceFinalizerFaults(changed)
      if (causes.length > 0) throw invalid(request.resource, request.name ?? "", causes)
      return changed
    },
    removes: (object) =>
      object.metadata.deletionTimestamp !== undefined &&
      (object.metadata.finalizers ?? []).length === 0 &&
      ((object as Namespace).spec.finalizers ?? []).length === 0,
  })
  return { kind: "object", code: 200, object: stored.object, stored }
}
