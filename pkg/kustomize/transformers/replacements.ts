import { errorMessage } from "../../errors/error-message.ts"
import { goQuoted } from "../../apimachinery/go/go-text.ts"
import type {
  FieldOptions,
  Replacement,
  Selector,
  SourceSelector,
  TargetSelector,
} from "../kustomization/kustomization.ts"
import { lookup } from "../node/lookup.ts"
import { splitBracketedPath } from "../node/paths.ts"
import { isEmpty, scalar, textOf, type YamlNode } from "../node/yaml-node.ts"
import type { Resource } from "../resource/resource.ts"
import { idText, isSelectedBy, type ResId } from "../resource/res-id.ts"
import type { ResourceMap } from "../resource/resource-map.ts"
import { matchPath } from "./match-path.ts"
import { matchesLabels, SelectorPatterns } from "./select.ts"
import { setInsideText } from "./structured-text.ts"
import type { Transformer } from "./transformer.ts"

const DEFAULT_PATH = "metadata.name"

/** Returns a transformer that copies values between fields. Source: kustomize api/filters/replacement. */
export const replacementTransformer = (replacements: readonly Replacement[]): Transformer => ({
  transform(map) {
    for (const replacement of replacements) {
      const { source, sourceValue, targets } = replacement
      if ((sourceValue === undefined && source === undefined) || targets === undefined)
        throw new Error("replacements must specify a source and at least one target")
      const value = sourceOf(map, replacement)
      for (const target of targets) applyTo(map, value, target)
    }
    map.dropEmpty()
  },
})

function sourceOf(map: ResourceMap, { source, sourceValue }: Replacement): YamlNode {
  if (sourceValue !== undefined) {
    if (source !== undefined) throw new Error("value and resource selectors are mutually exclusive")
    return scalar(sourceValue)
  }
  const path = source!.fieldPath || DEFAULT_PATH
  const resource = sourceResource(map, source!)
  let node: YamlNode | undefined
  try {
    node = lookup(resource.node, splitBracketedPath(path, "."))
  } catch (err) {
    throw new Error(`error looking up replacement source: ${errorMessage(err)}`, { cause: err })
  }
  if (node === undefined || isEmpty(node))
    throw new Error(`fieldPath \`${path}\` is missing for replacement source ${idText(idOf(source!))}`)
  return partOf(node, source!.options)
}

const idOf = ({ group = "", version = "", kind = "", name = "", namespace = "" }: SourceSelector): ResId => ({
  group,
  version,
  kind,
  name,
  namespace,
  isClusterScoped: false,
})

function sourceResource(map: ResourceMap, source: SourceSelector): Resource {
  const selector = idOf(source)
  const found = map.resources.filter((resource) => allIds(resource).some((id) => isSelectedBy(id, selector)))
  if (found.length > 1) throw new Error(`multiple matches for selector ${sourceText(source)}`)
  if (found.length === 0) throw new Error(`nothing selected by ${sourceText(source)}`)
  return found[0]!
}

function sourceText(source: SourceSelector): string {
  const { delimiter = "", index = 0, create = false } = source.options ?? {}
  const options = delimiter === "" && !create ? "" : `${delimiter}(${index}), create=${create}`
  return [idText(idOf(source)), source.fieldPath ?? "", options].filter((part) => part !== "").join(":")
}

/** Returns all ids that an object has and had. None is known to be in no namespace. */
const allIds = (resource: Resource): readonly ResId[] => [
  { ...resource.currentId, isClusterScoped: false },
  ...resource.previousIds,
]

function partOf(node: YamlNode, { delimiter = "", index = 0 }: FieldOptions = {}): YamlNode {
  if (delimiter === "") return node
  if (node.kind !== "scalar") throw new Error("delimiter option can only be used with scalar nodes")
  const parts = textOf(node).split(delimiter)
  if (index >= parts.length || index < 0)
    throw new Error(`options.index ${index} is out of bounds for value ${textOf(node)}`)
  const part = node.copy()
  part.value = parts[index]!
  return part
}

function applyTo(map: ResourceMap, value: YamlNode, target: TargetSelector): void {
  if (target.select === undefined) throw new Error("target must specify resources to select")
  const [selected, rejected] = patternsOf(target, target.select)
  for (const resource of map.resources) {
    const ids = allIds(resource)
    if (!matchesTexts(resource, target)) continue
    if (rejected.some((patterns) => ids.some((id) => patterns.matches(id)))) continue
    if (ids.some((id) => selected.matches(id))) setFields(resource, value, target)
  }
}

function patternsOf(target: TargetSelector, select: Selector): [SelectorPatterns, readonly SelectorPatterns[]] {
  try {
    const rejects = (target.reject ?? []).filter(({ annotationSelector: _, labelSelector: __, ...id }) =>
      Object.values(id).some((text) => text !== ""),
    )
    return [new SelectorPatterns(select), rejects.map((reject) => new SelectorPatterns(reject))]
  } catch (err) {
    throw new Error(`error creating target selector: ${errorMessage(err)}`, { cause: err })
  }
}

function matchesTexts(resource: Resource, { select, reject = [] }: TargetSelector): boolean {
  const matches = ({ annotationSelector, labelSelector }: Selector) =>
    matchesLabels(resource.annotations, annotationSelector) && matchesLabels(resource.labels, labelSelector)
  return (
    matches(select!) &&
    !reject.some((one) => ((one.annotationSelector ?? "") !== "" || (one.labelSelector ?? "") !== "") && matches(one))
  )
}

function setFields(resource: Resource, value: YamlNode, { fieldPaths = [], options = {} }: TargetSelector): void {
  const create = options.create === true ? value.kind : undefined
  for (const path of fieldPaths.length === 0 ? [DEFAULT_PATH] : fieldPaths) {
    const parts = splitBracketedPath(path, ".")
    if (setInsideText(resource.node!, value, parts, create)) continue
    const missing = `unable to find${create === undefined ? "" : " or create"} field ${goQuoted(path)} in replacement target`
    let found: readonly YamlNode[]
    try {
      found = matchPath(resource.node, parts, create) ?? []
    } catch (err) {
      throw new Error(`${missing}: ${errorMessage(err)}`, { cause: err })
    }
    if (found.length === 0) throw new Error(missing)
    for (const field of found) setFieldValue(field, value, options)
  }
}

function setFieldValue(field: YamlNode, source: YamlNode, { delimiter = "", index = 0 }: FieldOptions): void {
  const value = source.copy()
  if (delimiter !== "") {
    if (field.kind !== "scalar") throw new Error("delimiter option can only be used with scalar nodes")
    const parts = field.value.split(delimiter)
    const text = textOf(value)
    if (index < 0) parts.unshift(text)
    else if (index >= parts.length) parts.push(text)
    else parts[index] = text
    value.value = parts.join(delimiter)
  }
  if (field.kind === "scalar") field.value = value.value
  else field.assign(value)
}
