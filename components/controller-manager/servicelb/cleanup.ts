import { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { Client } from "../../../pkg/client/client.ts"

/** Keeps a Service until its load balancer is gone. Source: k8s.io/cloud-provider/service/helpers. */
export const CLEANUP = "service.kubernetes.io/load-balancer-cleanup"

export const hasCleanup = ({ metadata }: Service): boolean => metadata.finalizers?.includes(CLEANUP) === true

/** Adds or removes the finalizer, by the status as upstream, whose controller may write nothing else of a Service. */
export async function setCleanup(
  { metadata }: Service,
  wanted: boolean,
  { client }: { readonly client: Client },
): Promise<void> {
  const others = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== CLEANUP)
  // The list is patched by its items, so that those of others stay.
  const change = wanted ? { finalizers: [CLEANUP] } : { "$deleteFromPrimitiveList/finalizers": [CLEANUP] }
  const order = { "$setElementOrder/finalizers": wanted ? [...others, CLEANUP] : others }
  const body = { metadata: { uid: metadata.uid, ...order, ...change } }
  await client.patch(Service, metadata, { type: "strategic", body }, { subresource: "status" })
}
