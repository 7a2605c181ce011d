import { fieldOf, items as itemsOf } from "../node/fields.ts"
import { withPrefixOf } from "../node/errors.ts"
import * as annotation from "./annotations.ts"
import type { Origin } from "./origin.ts"
import { originText, originsOf } from "./origin.ts"
import type { Resource } from "./resource.ts"
import {
  effectiveNamespace,
  equalId,
  idSyntax,
  idText,
  identicalId,
  inSameNamespace,
  NO_NAMESPACE,
  type ResId,
} from "./res-id.ts"

type IdMatcher = (id: ResId) => boolean

/** Objects in their order, each with an id of its own. Source: kustomize api/resmap/reswrangler.go. */
export class ResourceMap {
  #resources: Resource[] = []

  static of(resources: readonly Resource[]): ResourceMap {
    const map = new ResourceMap()
    map.appendAll(resources)
    return map
  }

  /** The objects. Changes of the list do not change the map. */
  get resources(): readonly Resource[] {
    return [...this.#resources]
  }

  get size(): number {
    return this.#resources.length
  }

  /** Replaces all objects, without checks. */
  reset(resources: readonly Resource[]): void {
    this.#resources = [...resources]
  }

  dropEmpty(): void {
    this.#resources = this.#resources.filter((resource) => !resource.isEmpty)
  }

  /** @throws Error when an object with the same id is there */
  append(resource: Resource): void {
    const id = resource.currentId
    if (this.byCurrentId((other) => equalId(id, other)).length > 0)
      throw new Error(`may not add resource with an already registered id: ${idText(id)}`)
    this.#resources.push(resource)
  }

  appendAll(resources: readonly Resource[]): void {
    for (const resource of resources) this.append(resource)
  }

  /** Removes the object with exactly this id. */
  remove(id: ResId): void {
    const rest = this.#resources.filter((resource) => !identicalId(resource.currentId, id))
    if (rest.length !== this.size - 1) throw new Error(`id ${idText(id)} not found in removal`)
    this.#resources = rest
  }

  byCurrentId(matches: IdMatcher): readonly Resource[] {
    return this.#resources.filter((resource) => matches(resource.currentId))
  }

  /** Returns the objects that have or had an id. */
  byAnyId(matches: IdMatcher): readonly Resource[] {
    return this.#resources.filter(
      (resource) => !resource.isEmpty && (resource.previousIds.some(matches) || matches(resource.currentId)),
    )
  }

  /** Returns the one object that has or had an id. @throws Error in kustomize's words */
  byId(id: ResId): Resource {
    const found = this.byAnyId((other) => equalId(id, other))
    if (found.length === 1) return found[0]!
    const what = found.length > 1 ? "multiple matches" : "no matches"
    throw new Error(`${what} for Id ${idText(id)}; failed to find unique target for patch ${idText(id)}`)
  }

  /** Adds generated objects; an object that says so replaces or is merged into one that is there. */
  absorbAll(others: ResourceMap): void {
    for (const resource of others.#resources) this.#absorb(resource)
  }

  #absorb(resource: Resource): void {
    const id = resource.currentId
    const found = this.byAnyId((other) => equalId(id, other))
    const { behavior } = resource
    if (found.length === 0) {
      if (behavior === "merge" || behavior === "replace")
        throw new Error(`id ${idSyntax(id)} does not exist; cannot merge or replace`)
      return this.append(resource)
    }
    if (found.length > 1)
      throw new Error(
        `found multiple objects [${found.map(String).join(" ")}] that could accept merge of ${idText(id)}`,
      )
    const old = found[0]!
    const index = this.#resources.indexOf(old)
    if (behavior !== "merge" && behavior !== "replace")
      throw new Error(
        `id ${idSyntax(id)} exists; can not use behavior: '${behavior}', behavior must be merge or replace`,
      )
    const origin = old.annotations[annotation.ORIGIN]
    resource.mergeMetadata(old)
    if (behavior === "merge") {
      resource.mergeData(old)
      if (origin !== undefined) resource.replaceAnnotation(annotation.ORIGIN, origin)
    }
    const replaced = resource.currentId
    const at = this.#resources.flatMap((other, i) => (equalId(replaced, other.currentId) ? [i] : []))
    if (at.length > 1) throw new Error(`in Replace: id matched ${at.length} resources`)
    if (at.length === 0) throw new Error(`cannot find resource with id ${idText(replaced)} to replace`)
    if (at[0] !== index) throw new Error("unexpected target index in replacement")
    this.#resources[index] = resource
  }

  /** Applies a strategic merge patch to the objects with these ids. */
  applyPatch(ids: readonly ResId[], patch: Resource): void {
    const rest: Resource[] = []
    for (const resource of this.#resources) {
      const id = resource.currentId
      if (ids.some((selected) => identicalId(selected, id))) {
        const copy = patch.copy()
        copy.mergeMetadata(patch)
        copy.setGvk(resource.gvk)
        copy.setKind(patch.kind)
        resource.applyPatch(copy)
      }
      if (!resource.isEmpty) rest.push(resource)
    }
    this.#resources = []
    this.appendAll(rest)
  }

  /** Returns the objects that a namespaced object can refer to: those without a namespace, and those in its own. */
  referencedBy(referrer: Resource): ResourceMap {
    const id = referrer.currentId
    if (id.isClusterScoped) return this
    const others = serviceAccountNamespaces(referrer)
    const map = new ResourceMap()
    map.reset(
      this.#resources.filter((resource) => {
        const other = resource.currentId
        return other.isClusterScoped || inSameNamespace(other, id) || others.has(resource.namespace)
      }),
    )
    return map
  }

  groupedByNamespace(idOf: (resource: Resource) => ResId): ReadonlyMap<string, readonly Resource[]> {
    const groups = Map.groupBy(this.#resources, (resource) => effectiveNamespace(idOf(resource)))
    groups.delete(NO_NAMESPACE)
    return groups
  }

  /** Says of each object without an origin where it comes from. */
  addOrigin(origin: Origin | undefined): void {
    if (origin === undefined) return
    for (const resource of this.#resources)
      if (resource.annotations[annotation.ORIGIN] === undefined)
        resource.replaceAnnotation(annotation.ORIGIN, originText(origin))
  }

  /** Says of each object what has changed it; of one without an origin, that it comes from there. */
  addTransformation(origin: Origin): void {
    for (const resource of this.#resources) {
      const { annotations } = resource
      if (annotations[annotation.ORIGIN] === undefined) {
        resource.replaceAnnotation(annotation.ORIGIN, originText(origin))
        continue
      }
      const earlier = annotations[annotation.TRANSFORMATIONS]
      resource.replaceAnnotation(annotation.TRANSFORMATIONS, originsOf(earlier, origin))
    }
  }

  /** Returns the objects that are in no namespace. */
  get clusterScoped(): readonly Resource[] {
    return this.#resources.filter((resource) => resource.currentId.isClusterScoped)
  }

  copy(): ResourceMap {
    const map = new ResourceMap()
    map.reset(this.#resources.map((resource) => resource.copy()))
    return map
  }

  shallowCopy(): ResourceMap {
    const map = new ResourceMap()
    map.reset(this.#resources)
    return map
  }

  toYaml(): string {
    return this.#resources
      .map((resource) =>
        withPrefixOf(
          () => resource.goSyntax(),
          () => resource.toYaml(),
        ),
      )
      .join("---\n")
  }
}

/** Returns the namespaces of the service accounts that a RoleBinding names. */
function serviceAccountNamespaces(resource: Resource): ReadonlySet<string> {
  const namespaces = new Set<string>()
  const subjects = fieldOf(resource.node, "subjects")
  if (resource.kind !== "RoleBinding" || subjects?.kind !== "list") return namespaces
  for (const subject of itemsOf(subjects)) {
    const namespace = fieldOf(subject, "namespace")
    if (namespace === undefined || fieldOf(subject, "kind")?.value !== "ServiceAccount") continue
    if (namespace.tag !== "!!str" && namespace.tag !== "")
      throw new Error(`Invalid Input: namespace is blank for resource ${JSON.stringify(idText(resource.currentId))}\n`)
    namespaces.add(namespace.value)
  }
  return namespaces
}
