import { equalGvk, gvkText, isSelected, parseGvk, type Gvk } from "./gvk.ts"

/** What names an object. Source: kyaml resid/resid.go. */
export interface ResId extends Gvk {
  readonly name: string
  readonly namespace: string
  /** Whether the kind is known to be in no namespace. */
  readonly isClusterScoped: boolean
}

/** The name under which all objects without a namespace are grouped. */
export const NO_NAMESPACE = "_non_namespaceable_"
export const DEFAULT_NAMESPACE = "default"

/** Returns the namespace; `default` when none is given. */
export function effectiveNamespace({ namespace, isClusterScoped }: ResId): string {
  if (isClusterScoped) return NO_NAMESPACE
  return namespace === "" ? DEFAULT_NAMESPACE : namespace
}

export const inSameNamespace = (a: ResId, b: ResId): boolean => effectiveNamespace(a) === effectiveNamespace(b)

/** Returns whether kind and name are equal, in whatever namespace. */
export const equalGvkn = (a: ResId, b: ResId): boolean => a.name === b.name && equalGvk(a, b)

export const equalId = (a: ResId, b: ResId): boolean => equalGvkn(a, b) && inSameNamespace(a, b)

/** Returns whether all fields of both are the same, also those that mean the same. */
export const identicalId = (a: ResId, b: ResId): boolean =>
  equalGvkn(a, b) && a.namespace === b.namespace && a.isClusterScoped === b.isClusterScoped

/** Returns whether all fields that a selector gives are equal. */
export const isSelectedBy = (id: ResId, selector: ResId): boolean =>
  (selector.name === "" || selector.name === id.name) &&
  (selector.namespace === "" || inSameNamespace(selector, id)) &&
  isSelected(id, selector)

/** Returns the text form: `Deployment.v1.apps/web.default`. */
export const idText = (id: ResId): string => `${gvkText(id)}/${id.name || "[noName]"}.${id.namespace || "[noNs]"}`

/** Returns an id as Go's `%#v` shows it. */
export const idSyntax = ({ group, version, kind, isClusterScoped, name, namespace }: ResId): string =>
  `resid.ResId{Gvk:resid.Gvk{Group:${JSON.stringify(group)}, Version:${JSON.stringify(version)}, Kind:${JSON.stringify(kind)}, ` +
  `isClusterScoped:${isClusterScoped}}, Name:${JSON.stringify(name)}, Namespace:${JSON.stringify(namespace)}}`

/** Parses the text form. */
export function parseId(text: string): Omit<ResId, "isClusterScoped"> {
  const [gvk = "", rest = ""] = text.split("/")
  const at = rest.lastIndexOf(".")
  const [name, namespace] = [rest.slice(0, Math.max(at, 0)), rest.slice(at + 1)]
  return {
    ...parseGvk(gvk),
    name: name === "[noName]" ? "" : name,
    namespace: namespace === "[noNs]" ? "" : namespace,
  }
}
