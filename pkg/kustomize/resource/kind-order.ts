import { inByteOrder } from "../go/byte-order.ts"
import type { Gvk } from "./gvk.ts"

/** The kinds that come first, in this order. Source: kustomize SortOrderTransformer.go. */
export const ORDER_FIRST: readonly string[] = [
  "Namespace",
  "ResourceQuota",
  "StorageClass",
  "CustomResourceDefinition",
  "ServiceAccount",
  "PodSecurityPolicy",
  "Role",
  "ClusterRole",
  "RoleBinding",
  "ClusterRoleBinding",
  "ConfigMap",
  "Secret",
  "Endpoints",
  "Service",
  "LimitRange",
  "PriorityClass",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "Deployment",
  "StatefulSet",
  "CronJob",
  "PodDisruptionBudget",
]
/** The kinds that come last, in this order. */
export const ORDER_LAST: readonly string[] = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]

/** Returns a rank for each kind that has one. All other kinds have the rank 0. */
export const kindRanks = (first: readonly string[], last: readonly string[]): ReadonlyMap<string, number> =>
  new Map([
    ...first.map((kind, i) => [kind, i - first.length] as const),
    ...last.map((kind, i) => [kind, i + 1] as const),
  ])

const RANKS = kindRanks(ORDER_FIRST, ORDER_LAST)

/** Returns a text by which kinds of equal rank are sorted. */
export const gvkSortText = ({ group, version, kind }: Gvk): string =>
  `${group || "~G"}_${version || "~V"}_${kind || "~K"}`

/** Compares kinds in the order of field specs. Source: kyaml resid/gvk.go IsLessThan. */
export const inKindOrder = (a: Gvk, b: Gvk): number =>
  (RANKS.get(a.kind) ?? 0) - (RANKS.get(b.kind) ?? 0) || inByteOrder(gvkSortText(a), gvkSortText(b))
