/** Group, version and kind of an object. Empty when not given. */
export interface Gvk {
  readonly group: string
  readonly version: string
  readonly kind: string
}

export const ANY: Gvk = { group: "", version: "", kind: "" }

export const apiVersionOf = ({ group, version }: Gvk): string => (group === "" ? version : `${group}/${version}`)

/** Returns group and version of an apiVersion. */
export function parseApiVersion(apiVersion: string): { readonly group: string; readonly version: string } {
  const at = apiVersion.indexOf("/")
  return at === -1
    ? { group: "", version: apiVersion }
    : { group: apiVersion.slice(0, at), version: apiVersion.slice(at + 1) }
}

export const equalGvk = (a: Gvk, b: Gvk): boolean => a.kind === b.kind && a.version === b.version && a.group === b.group

/** Returns whether all fields that a selector gives are equal. */
export const isSelected = (gvk: Gvk, selector: Gvk): boolean =>
  (selector.group === "" || selector.group === gvk.group) &&
  (selector.version === "" || selector.version === gvk.version) &&
  (selector.kind === "" || selector.kind === gvk.kind)

/** Returns the text form: `Deployment.v1.apps`. Source: kyaml resid/gvk.go String. */
export const gvkText = ({ group, version, kind }: Gvk): string =>
  `${kind || "[noKind]"}.${version || "[noVer]"}.${group || "[noGrp]"}`

/** Parses the text form. */
export function parseGvk(text: string): Gvk {
  const [kind = "", version = "", ...rest] = text.split(".")
  if (rest.length === 0) return { group: "[noGrp]", version: "[noVer]", kind: "[noKind]" }
  const group = rest.join(".")
  return {
    group: group === "[noGrp]" ? "" : group,
    version: version === "[noVer]" ? "" : version,
    kind: kind === "[noKind]" ? "" : kind,
  }
}
