import { badRequest } from "../../../pkg/apimachinery/errors.ts"
import { matchesFields, parseFieldSelector } from "../../../pkg/apimachinery/fieldselector.ts"
import { parseLabelSelector } from "../../../pkg/apimachinery/labels.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"

/** Which objects of a resource a list or watch is about. */
export interface Selection {
  /** No selector: every object matches. */
  readonly everything: boolean
  /** metadata.name asked for by `metadata.name=…` alone, or nothing: lets a list look one key up. */
  readonly name: string | undefined
  matches(object: KubeObject): boolean
}

const EVERYTHING: Selection = { everything: true, name: undefined, matches: () => true }

/**
 * Reads the selectors of a request. @throws ApiError BadRequest for text that is no selector or a field that is not
 * indexed.
 */
export function selectionOf(
  resource: Resource,
  { labelSelector = "", fieldSelector = "" }: { readonly labelSelector?: string; readonly fieldSelector?: string },
): Selection {
  if (labelSelector === "" && fieldSelector === "") return EVERYTHING
  const labels = parseLabelSelector(labelSelector)
  const fields = parseFieldSelector(fieldSelector)
  for (const { path } of fields) {
    if (!isSelectable(resource, path))
      throw badRequest(
        `Unable to find "${resource.group === "" ? "" : `${resource.group}/`}${resource.version}, Resource=${resource.plural}" that match label selector "${labelSelector}", field selector "${fieldSelector}": field label not supported: ${path}`,
      )
  }
  const name = fields.find(({ path, operator }) => path === "metadata.name" && operator !== "!=")?.value
  return {
    everything: false,
    name,
    matches: (object) =>
      (labels.everything || labels.matches(object.metadata.labels ?? {})) &&
      (fields.length === 0 || matchesFields(fields, (path) => fieldValue(resource, object, path))),
  }
}

const isSelectable = (resource: Resource, path: string): boolean =>
  path === "metadata.name" ||
  (path === "metadata.namespace" && resource.scope === "Namespaced") ||
  resource.fieldSelectors?.[path] !== undefined

function fieldValue(resource: Resource, object: KubeObject, path: string): string {
  const own = resource.fieldSelectors?.[path]
  if (own !== undefined) return own(object)
  return (path === "metadata.name" ? object.metadata.name : object.metadata.namespace) ?? ""
}
