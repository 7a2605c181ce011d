import type { LimitRange } from "../../api/core/v1/limitrange/limitrange.ts"
import type { Namespace } from "../../api/core/v1/namespace.ts"
import type { ResourceQuota } from "../../api/core/v1/resourcequota/resourcequota.ts"
import { isNotFound } from "../errors/status-error.ts"
import { listInChunks, type ResourcePath } from "./describe-client.ts"
import type { Describer, Describing } from "./describing.ts"
import { describeLimitRanges, LIMIT_RANGES } from "./limitrange.ts"
import { describeClusterMetadata } from "./metadata.ts"
import { description, type PrefixWriter } from "./prefix-writer.ts"
import { describeResourceQuotas, RESOURCE_QUOTAS } from "./resourcequota.ts"
import { longTime } from "./times.ts"

const NAMESPACES = { group: "", version: "v1", resource: "namespaces" }

export const describeNamespace: Describer = async (describing, _namespace, name) => {
  const namespace = await describing.client.get<Namespace>(NAMESPACES, "", name)
  const quotas = await allOf<ResourceQuota>(describing, RESOURCE_QUOTAS, name)
  const ranges = await allOf<LimitRange>(describing, LIMIT_RANGES, name)
  return description((w) => {
    describeClusterMetadata(w, namespace.metadata)
    w.row(0, "Status:", namespace.status?.phase ?? "")
    describeConditions(w, namespace, describing)
    if (quotas !== undefined) {
      w.row(0)
      describeResourceQuotas(w, quotas)
    }
    if (ranges !== undefined) {
      w.row(0)
      describeLimitRanges(w, ranges)
    }
  })
}

/** Returns all objects of a resource; undefined where the server does not serve it. */
async function allOf<T>(
  { client, chunkSize }: Describing,
  path: ResourcePath,
  namespace: string,
): Promise<readonly T[] | undefined> {
  return listInChunks<T>(client, { path, namespace, query: {}, limit: chunkSize }).catch((err: unknown) => {
    if (isNotFound(err)) return undefined
    throw err
  })
}

function describeConditions(w: PrefixWriter, { status }: Namespace, { zone }: Describing): void {
  const conditions = status?.conditions ?? []
  if (conditions.length === 0) return
  w.row(0, "Conditions:")
  w.row(1, "Type", "Status", "LastTransitionTime", "Reason", "Message")
  w.row(1, "----", "------", "------------------", "------", "-------")
  for (const { type, status, lastTransitionTime, reason = "", message = "" } of conditions)
    w.row(1, type, status, longTime(lastTransitionTime, zone), reason, message)
}
