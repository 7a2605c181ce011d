import type { SortOptions } from "../kustomization/kustomization.ts"
import { inByteOrder } from "../go/byte-order.ts"
import { equalGvk, gvkText } from "../resource/gvk.ts"
import { gvkSortText, kindRanks, ORDER_FIRST, ORDER_LAST } from "../resource/kind-order.ts"
import type { ResId } from "../resource/res-id.ts"
import type { ResourceMap } from "../resource/resource-map.ts"
import type { Transformer } from "./transformer.ts"

/** Returns a transformer that sorts objects by their kinds, or leaves them. Source: kustomize SortOrderTransformer.go. */
export const sortOrderTransformer = (options: SortOptions = { order: "fifo" }): Transformer => ({
  transform(map) {
    const { order = "", legacySortOptions } = options
    if (order !== "fifo" && order !== "legacy")
      throw new Error("the field 'sortOptions.order' must be one of [fifo, legacy]")
    if (order === "fifo" && legacySortOptions !== undefined)
      throw new Error(
        "the field 'sortOptions.legacySortOptions' is set but the selected sort order is 'fifo', not 'legacy'",
      )
    if (order === "legacy") sort(map, legacySortOptions ?? { orderFirst: ORDER_FIRST, orderLast: ORDER_LAST })
  },
})

function sort(
  map: ResourceMap,
  { orderFirst = [], orderLast = [] }: NonNullable<SortOptions["legacySortOptions"]>,
): void {
  const ranks = kindRanks(orderFirst, orderLast)
  const entries = map.resources.map((resource) => ({ resource, id: resource.currentId }))
  entries.sort((a, b) => inOrder(a.id, b.id, ranks))
  map.reset([])
  map.appendAll(entries.map(({ resource }) => resource))
}

function inOrder(a: ResId, b: ResId, ranks: ReadonlyMap<string, number>): number {
  if (equalGvk(a, b)) return inByteOrder(idSortText(a), idSortText(b))
  const ranked = (ranks.get(a.kind) ?? 0) - (ranks.get(b.kind) ?? 0)
  if (ranked !== 0) return ranked
  const order = inByteOrder(gvkSortText(a), gvkSortText(b))
  const isNamespace = a.kind === "Namespace" && b.kind === "Namespace" && (a.group === "" || b.group === "")
  return isNamespace ? -order : order
}

const idSortText = (id: ResId): string => `${gvkText(id)}|${id.namespace || "~X"}|${id.name || "~N"}`
