import { badRequest } from "../../../pkg/apimachinery/errors.ts"
import { fieldConditions, parseFieldSelector } from "../../../pkg/apimachinery/selectors/fieldselector.ts"
import { goQuoted } from "../../../pkg/apimachinery/go/go-text.ts"
import { parseLabelSelector } from "../../../pkg/apimachinery/selectors/labels.ts"
import type { KubeObject, Resource } from "../../../pkg/apimachinery/resource.ts"

/** The objects that a list or watch selects. */
export interface Selection {
  /** No selector: every object matches. */
  readonly everything: boolean
  /** The name in `metadata.name=…` when that is the whole selector, so that a list looks up one key; else undefined. */
  readonly name: string | undefined
  matches(object: KubeObject): boolean
}

const EVERYTHING: Selection = { everything: true, name: undefined, matches: () => true }

/** One object by its name: what kubelets watch, of which there may be tens of thousands. */
class ByName implements Selection {
  readonly everything = false
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
  matches({ metadata }: KubeObject): boolean {
    return (metadata.name ?? "") === this.name
  }
}

/**
 * Reads the selectors of a request.
 * @throws ApiError BadRequest for text that is no selector or a field that is not indexed.
 */
export function selectionOf(
  resource: Resource,
  { labelSelector = "", fieldSelector = "" }: { readonly labelSelector?: string; readonly fieldSelector?: string },
): Selection {
  if (labelSelector === "" && fieldSelector === "") return EVERYTHING
  const labels = parseLabelSelector(labelSelector)
  const fields = parseFieldSelector(fieldSelector)
  for (const { path } of fields) if (!isSelectable(resource, path)) throw badRequest(unknownField(resource, path))
  const name = fields.find(({ path, operator }) => path === "metadata.name" && operator !== "!=")?.value
  if (name !== undefined && fields.length === 1 && labels.everything) return new ByName(name)
  const hasFields = fieldConditions(fields)
  return {
    everything: false,
    name,
    matches: (object) =>
      (labels.everything || labels.matches(object.metadata.labels ?? {})) &&
      (fields.length === 0 || hasFields((path) => fieldValue(resource, object, path))),
  }
}

/** A kind without field selectors of its own takes metadata.name and metadata.namespace, in any scope. */
const isSelectable = ({ scope, fieldSelectors }: Resource, path: string): boolean =>
  path === "metadata.name" ||
  (path === "metadata.namespace" && (scope === "Namespaced" || fieldSelectors === undefined)) ||
  fieldSelectors?.[path] !== undefined

/**
 * Source: apimachinery pkg/runtime/conversion.go DefaultMetaV1FieldSelectorConversion, pkg/apis/core/v1/conversion.go.
 */
const unknownField = ({ fieldSelectors, unknownFieldSelector, definition }: Resource, path: string): string =>
  fieldSelectors === undefined && definition === undefined
    ? `${goQuoted(path)} is not a known field selector: only "metadata.name", "metadata.namespace"`
    : (unknownFieldSelector?.(path) ?? `field label not supported: ${path}`)

function fieldValue(resource: Resource, object: KubeObject, path: string): string {
  const own = resource.fieldSelectors?.[path]
  if (own !== undefined) return own(object)
  return (path === "metadata.name" ? object.metadata.name : object.metadata.namespace) ?? ""
}
