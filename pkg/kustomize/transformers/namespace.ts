import type { FieldSpec } from "../config/field-spec.ts"
import { fieldOf, get, items } from "../node/fields.ts"
import { causeOf, InvalidNodeKindError, prefixed, withPrefix } from "../node/errors.ts"
import { lookupCreate } from "../node/lookup.ts"
import { isEmpty, isNull, Tag, textOf, type YamlNode } from "../node/yaml-node.ts"
import { HELM_GENERATED } from "../resource/annotations.ts"
import type { Resource } from "../resource/resource.ts"
import { equalId } from "../resource/res-id.ts"
import { applyFieldSpecs, type FieldChange } from "./apply-field-spec.ts"
import { entrySetter } from "./set-entry.ts"
import type { Transformer } from "./transformer.ts"

/** Which subjects of role bindings get the namespace. */
export type SubjectMode = "defaultOnly" | "allServiceAccounts" | "none"

export interface NamespaceOptions {
  readonly namespace: string
  readonly specs: readonly FieldSpec[]
  readonly subjects?: SubjectMode
  /** Whether namespaces that are set stay. */
  readonly unsetOnly?: boolean
}

/** Returns a transformer that sets the namespace. Source: kustomize NamespaceTransformer.go, api/filters/namespace. */
export const namespaceTransformer = (options: NamespaceOptions): Transformer => ({
  transform(map) {
    if (options.namespace === "") return
    for (const resource of map.resources) {
      if (resource.isEmpty || resource.annotations[HELM_GENERATED] === "true") continue
      resource.storePreviousId()
      setNamespaces(resource, options)
      const id = resource.currentId
      const same = map.byCurrentId((other) => equalId(id, other))
      if (same.length !== 1)
        throw new Error(`namespace transformation produces ID conflict: [${same.map(String).join(" ")}]`)
    }
  },
})

/** Sets the namespace of one object, and of the subjects of a role binding. */
export function setNamespaces(resource: Resource, options: NamespaceOptions): void {
  const object = resource.node!
  // A namespace's own name is one only in the group "".
  const specs = options.specs.filter(
    ({ path }) => path !== "metadata/namespace" && (path !== "metadata/name" || resource.apiVersion === "v1"),
  )
  const set = setterOf(options)
  const change: FieldChange = { set, createKind: "scalar", createTag: Tag.text }
  if (!resource.currentId.isClusterScoped) applyFieldSpecs(object, [METADATA], { set, createKind: "scalar" })
  const isBinding = resource.kind === "RoleBinding" || resource.kind === "ClusterRoleBinding"
  if (isBinding) setSubjects(object, options)
  try {
    applyFieldSpecs(object, isBinding ? specs.filter((spec) => !isSubjectSpec(spec)) : specs, change)
  } catch (err) {
    const kind = causeOf(err, InvalidNodeKindError)?.actual
    throw prefixed(
      kind !== undefined && kind !== "scalar"
        ? "namespace field specs must target scalar nodes"
        : "namespace transformation failed",
      err,
    )
  }
}

const METADATA: FieldSpec = { group: "", version: "", kind: "", path: "metadata/namespace", create: true }

const isSubjectSpec = ({ kind, path }: FieldSpec): boolean =>
  (kind === "RoleBinding" || kind === "ClusterRoleBinding") && path === "subjects/namespace"

function setterOf({ namespace, unsetOnly = false }: NamespaceOptions): (node: YamlNode) => void {
  const set = entrySetter("", namespace, Tag.text)
  if (!unsetOnly) return set
  return (node) => {
    if (isEmpty(node) || node.kind !== "scalar" || textOf(node) === "") set(node)
  }
}

function setSubjects(object: YamlNode, options: NamespaceOptions): void {
  const mode = options.subjects ?? "defaultOnly"
  const subjects = get(object, "subjects")
  if (mode === "none" || subjects === undefined || isNull(subjects)) return
  const [field, value] = mode === "defaultOnly" ? (["name", "default"] as const) : (["kind", "ServiceAccount"] as const)
  const set = setterOf(options)
  withPrefix("setting namespace on (cluster)role binding subjects", () => {
    for (const subject of items(subjects)) {
      const found = fieldOf(subject, field)
      if (found === undefined || isNull(found) || found.value !== value) continue
      set(lookupCreate(subject, "scalar", ["namespace"]))
    }
  })
}
