/** Corrects names in fields that refer to objects whose names have changed. Source: kustomize api/filters/nameref. */
import type { FieldSpec, NameBackReference } from "../config/field-spec.ts"
import { fieldOf, get, setField, setScalar } from "../node/fields.ts"
import { prefixed } from "../node/errors.ts"
import { isNull, scalar, type YamlNode } from "../node/yaml-node.ts"
import { ANY, isSelected, type Gvk } from "../resource/gvk.ts"
import { idText, inSameNamespace } from "../resource/res-id.ts"
import type { Resource } from "../resource/resource.ts"
import type { ResourceMap } from "../resource/resource-map.ts"
import { applyFieldSpec } from "./apply-field-spec.ts"
import type { Transformer } from "./transformer.ts"

/** A field of an object, and the kind that it names. */
interface ReferringField {
  readonly spec: FieldSpec
  readonly target: Gvk
}

export const nameReferenceTransformer = (references: readonly NameBackReference[]): Transformer => ({
  transform(map) {
    const fields = map.resources.map((resource) => fieldsOf(resource, references))
    for (const [i, referrer] of map.resources.entries()) {
      if (fields[i]!.length === 0) continue
      const candidates = map.referencedBy(referrer)
      for (const field of fields[i]!) new Referrer(referrer, field, candidates).update()
    }
  },
})

function fieldsOf(resource: Resource, references: readonly NameBackReference[]): readonly ReferringField[] {
  const id = resource.originalId
  return references.flatMap((target) =>
    target.fieldSpecs.filter((spec) => isSelected(id, spec)).map((spec) => ({ spec, target })),
  )
}

class Referrer {
  readonly #referrer: Resource
  readonly #field: ReferringField
  readonly #candidates: ResourceMap

  constructor(referrer: Resource, field: ReferringField, candidates: ResourceMap) {
    this.#referrer = referrer
    this.#field = field
    this.#candidates = candidates
  }

  update(): void {
    const referrer = this.#referrer
    const { spec } = this.#field
    if (referrer.node === undefined) return
    try {
      // The kind was compared already, with the first name of it.
      applyFieldSpec(referrer.node, { ...spec, ...ANY }, { set: (node) => this.#set(node) })
    } catch (err) {
      throw prefixed(`updating name reference in '${spec.path}' field of '${idText(referrer.currentId)}'`, err)
    }
  }

  #set(node: YamlNode): void {
    if (isNull(node)) return
    if (node.kind === "scalar") this.#setText(node)
    else if (node.kind === "map") this.#setMap(node)
    else
      for (const item of node.content) {
        if (isNull(item)) continue
        if (item.kind === "scalar") this.#setText(item)
        else if (item.kind === "map") this.#setMap(item)
        else throw new Error("list is expected to be either a string or a map of string")
      }
  }

  #setText(node: YamlNode): void {
    const referral = this.#referralOf(node.value, this.#candidates.resources, ({ name }) => name)
    if (referral === undefined) return
    referral.addReferrer(this.#referrer.currentId)
    if (referral.name !== node.value) setScalar(node, scalar(referral.name))
  }

  /** A map holds the name, and the namespace if it is another one. */
  #setMap(node: YamlNode): void {
    const nameNode = get(node, "name")
    if (nameNode === undefined) throw new Error("path config error; no 'name' field in node")
    const oldName = nameNode.value
    const referral = this.#referralOf(
      oldName,
      this.#candidatesFor(fieldOf(node, "namespace")),
      ({ name, namespace }) => `${namespace}/${name}`,
    )
    if (referral === undefined) return
    referral.addReferrer(this.#referrer.currentId)
    const { name, namespace } = referral
    if (name === oldName && namespace === "") return
    setField(node, "name", scalar(name))
    if (namespace !== "") setField(node, "namespace", scalar(namespace))
  }

  #candidatesFor(namespace: YamlNode | undefined): readonly Resource[] {
    if (namespace === undefined) return this.#candidates.resources
    const before = this.#candidates.groupedByNamespace((resource) => resource.originalId).get(namespace.value)
    return before ?? this.#candidates.groupedByNamespace((resource) => resource.currentId).get(namespace.value) ?? []
  }

  /** Returns the object that a name means; undefined when there is none. `sameBy` says what of it is used. */
  #referralOf(
    oldName: string,
    candidates: readonly Resource[],
    sameBy: (resource: Resource) => string,
  ): Resource | undefined {
    let found = candidates.filter(
      (resource) =>
        resource.previousIds.some((id) => id.name === oldName) &&
        resource.previousIds.some((id) => isSelected(id, this.#field.target)),
    )
    const role = this.#roleGvk()
    if (role !== undefined) found = found.filter((resource) => resource.previousIds.some((id) => isSelected(id, role)))
    found = found.filter((resource) => this.#isInReach(resource))
    if (found.length === 1) return found[0]
    found = found.filter((resource) => sameContext(resource, this.#referrer, true))
    if (found.length > 1) found = found.filter((resource) => sameContext(resource, this.#referrer, false))
    if (found.length <= 1) return found[0]
    if (found.every((resource) => sameBy(resource) === sameBy(found[0]!))) return found[0]
    throw new Error(
      `found multiple possible referrals: ${found.map((resource) => idText(resource.currentId)).join(", ")}\n` +
        this.#details(found),
    )
  }

  #details(found: readonly Resource[]): string {
    const referrals = found.map((resource, i) => `--- possible referral ${i}:\n${resource.toYaml()}\n`)
    return `\n**** Too many possible referral targets to referrer:\n${this.#referrer.toYaml()}\n${referrals.join("")}`
  }

  /** Returns the kind that a `roleRef` names. */
  #roleGvk(): Gvk | undefined {
    if (!this.#field.spec.path.endsWith("roleRef/name")) return undefined
    const roleRef = fieldOf(this.#referrer.node, "roleRef")
    const [group, kind] = [fieldOf(roleRef, "apiGroup"), fieldOf(roleRef, "kind")]
    return group === undefined || kind === undefined ? undefined : { group: group.value, version: "", kind: kind.value }
  }

  #isInReach(resource: Resource): boolean {
    const [referrer, id] = [this.#referrer.currentId, resource.currentId]
    return (
      referrer.isClusterScoped ||
      id.isClusterScoped ||
      // A RoleBinding in another namespace may refer to it.
      resource.kind === "ServiceAccount" ||
      inSameNamespace(referrer, id)
    )
  }
}

/** Returns whether two objects got their prefixes and suffixes from the same kustomizations. */
function sameContext(a: Resource, b: Resource, allowsEmpty: boolean): boolean {
  const same = (x: readonly string[], y: readonly string[]) =>
    (allowsEmpty && (x.length === 0 || y.length === 0)) || sameEnd(x, y)
  return same(a.prefixes, b.prefixes) && same(a.suffixes, b.suffixes)
}

function sameEnd(a: readonly string[], b: readonly string[]): boolean {
  const [short, long] = a.length > b.length ? [b, a] : [a, b]
  if (short.length === 0) return long.length === 0
  return short.every((text, i) => text === long[i + long.length - short.length])
}
