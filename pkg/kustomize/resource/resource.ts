import { writeYaml } from "../../yaml/write.ts"
import { isEmpty, Style, textScalar, YamlNode } from "../node/yaml-node.ts"
import { setField, clearField, fieldOf, get } from "../node/fields.ts"
import { lookupCreate } from "../node/lookup.ts"
import { goSyntaxOf } from "../node/go-syntax.ts"
import { refuseDuplicates, toValue } from "../node/to-value.ts"
import { mergePatch } from "../merge/merge-patch.ts"
import type { Schemas } from "../schema/schemas.ts"
import * as annotation from "./annotations.ts"
import { dataOf, replaceData } from "./data-map.ts"
import { apiVersionOf, parseApiVersion, type Gvk } from "./gvk.ts"
import { annotationOf, metaMap, metaText, setMeta, setMetaMap, setNamespace, setTop, topText } from "./metadata.ts"
import { effectiveNamespace, idText, type ResId } from "./res-id.ts"

export type Behavior = "unspecified" | "create" | "replace" | "merge"

/** Returns the behaviour of a generator by its name; an unknown name is unspecified. */
export const behaviorOf = (name: string): Behavior =>
  name === "create" || name === "replace" || name === "merge" ? name : "unspecified"

/**
 * An object that is built. What a build has to remember of it (earlier names, prefixes, who refers to it) is in its
 * annotations until the end. Source: kustomize api/resource/resource.go.
 */
export class Resource {
  /** Undefined once a patch has deleted the object. */
  node: YamlNode | undefined
  /** The names of the vars that take their value from this object. */
  varNames: readonly string[] = []
  readonly schemas: Schemas

  constructor(node: YamlNode, schemas: Schemas) {
    this.node = node
    this.schemas = schemas
  }

  get name(): string {
    return metaText(this.node, "name")
  }
  get namespace(): string {
    return metaText(this.node, "namespace")
  }
  get kind(): string {
    return topText(this.node, "kind")
  }
  get apiVersion(): string {
    return topText(this.node, "apiVersion")
  }
  get gvk(): Gvk {
    return { ...parseApiVersion(this.apiVersion), kind: this.kind }
  }
  get labels(): Record<string, string> {
    return metaMap(this.node, "labels")
  }
  get annotations(): Record<string, string> {
    return metaMap(this.node, "annotations")
  }
  set annotations(annotations: Readonly<Record<string, string>>) {
    setMetaMap(this.#present(), "annotations", annotations)
  }
  get isEmpty(): boolean {
    return isEmpty(this.node)
  }

  #present(): YamlNode {
    // A deleted object is dropped after the transformer that deleted it; what is written until then is lost.
    return (this.node ??= new YamlNode("map"))
  }

  /** The id that the object has now. It is unique in a map of resources. */
  get currentId(): ResId {
    return this.#id(this.kind, this.name, this.namespace)
  }

  #id(kind: string, name: string, namespace: string): ResId {
    const { apiVersion } = this
    return {
      ...parseApiVersion(apiVersion),
      kind,
      name,
      namespace,
      isClusterScoped: this.schemas.isClusterScoped(apiVersion, kind),
    }
  }

  /** The id that the object had first. */
  get originalId(): ResId {
    return this.previousIds[0] ?? this.currentId
  }

  /** The ids that the object had before, the oldest first. */
  get previousIds(): readonly ResId[] {
    // Differs from the current id: kustomize does not ask here whether a kind is in namespaces.
    return previousIdsOf(this.node)
  }

  /** Adds the current id to the earlier ones. */
  storePreviousId(): void {
    const id = this.currentId
    this.#append(annotation.PREVIOUS_NAMES, id.name)
    this.#append(annotation.PREVIOUS_NAMESPACES, effectiveNamespace(id))
    this.#append(annotation.PREVIOUS_KINDS, id.kind)
  }

  get prefixes(): readonly string[] {
    return this.#list(annotation.PREFIXES)
  }
  get suffixes(): readonly string[] {
    return this.#list(annotation.SUFFIXES)
  }
  addPrefix(prefix: string): void {
    this.#append(annotation.PREFIXES, prefix)
  }
  addSuffix(suffix: string): void {
    this.#append(annotation.SUFFIXES, suffix)
  }
  addReferrer(id: ResId): void {
    this.#append(annotation.REFERRED_BY, idText(id))
  }

  #list(name: string): readonly string[] {
    return annotationOf(this.node, name)?.split(",") ?? []
  }

  #append(name: string, value: string): void {
    if (value !== "") this.setAnnotation(name, [...this.#list(name), value].join(","))
  }

  setAnnotation(name: string, value: string): void {
    const node = this.#present()
    clearEmptyAnnotations(node)
    const text = textScalar(value)
    text.style = Style.single
    setField(lookupCreate(node, "map", ["metadata", "annotations"]), name, text)
  }

  /** Sets an annotation as a map of all annotations does, or removes it. */
  replaceAnnotation(name: string, value: string | undefined): void {
    const annotations = this.annotations
    if (value === undefined) delete annotations[name]
    else annotations[name] = value
    this.annotations = annotations
  }

  replaceLabels(labels: Readonly<Record<string, string>>): void {
    setMetaMap(this.#present(), "labels", labels)
  }

  enable(name: string): void {
    this.replaceAnnotation(name, annotation.ENABLED)
  }
  isEnabled(name: string): boolean {
    return annotationOf(this.node, name) === annotation.ENABLED
  }

  get behavior(): Behavior {
    return behaviorOf(annotationOf(this.node, annotation.BEHAVIOR) ?? "")
  }
  set behavior(behavior: Behavior) {
    this.replaceAnnotation(annotation.BEHAVIOR, behavior)
  }

  setGvk(gvk: Gvk): void {
    setTop(this.#present(), "kind", gvk.kind)
    setTop(this.#present(), "apiVersion", apiVersionOf(gvk))
  }
  setKind(kind: string): void {
    setTop(this.#present(), "kind", kind)
  }
  setName(name: string): void {
    setMeta(this.#present(), "name", name)
  }

  /** Removes the annotations that only a build needs. */
  removeBuildAnnotations(): void {
    const { annotations } = this
    if (Object.keys(annotations).length === 0) return
    for (const name of annotation.BUILD_ANNOTATIONS) delete annotations[name]
    this.annotations = annotations
  }

  copy(): Resource {
    const copy = new Resource(this.#present().copy(), this.schemas)
    copy.varNames = [...this.varNames]
    return copy
  }

  /** Takes over the metadata of another object; labels and annotations of its own override the other's. */
  mergeMetadata(other: Resource): void {
    const node = this.#present()
    setMetaMap(node, "labels", { ...other.labels, ...this.labels })
    const own = this.annotations
    const others = other.annotations
    const merged = { ...others, ...own }
    for (const name of annotation.BUILD_ANNOTATIONS)
      if (Object.hasOwn(others, name)) merged[name] = others[name]!
      else delete merged[name]
    if (!Object.hasOwn(own, annotation.NEEDS_HASH)) delete merged[annotation.NEEDS_HASH]
    this.annotations = merged
    this.setName(other.name)
    setNamespace(node, other.namespace)
    this.varNames = [...other.varNames]
  }

  /** Adds the values of another ConfigMap or Secret to those of this one, which override them. */
  mergeData(other: Resource): void {
    for (const field of ["data", "binaryData"] as const) {
      const merged = new Map([...dataOf(other.#present(), field), ...dataOf(this.#present(), field)])
      replaceData(this.#present(), field, merged)
    }
  }

  /** Applies a strategic merge patch. It changes name, kind and namespace only where it may. */
  applyPatch(patch: Resource): void {
    const { name, namespace, kind } = this
    const changesName = patch.isEnabled(annotation.ALLOWS_NAME_CHANGE)
    const changesKind = patch.isEnabled(annotation.ALLOWS_KIND_CHANGE)
    if (changesName || changesKind) this.storePreviousId()
    const merged = mergePatch(patch.#present(), this.#present(), this.schemas)
    if (merged === undefined) this.node = undefined
    if (this.isEmpty) return
    if (!changesKind) this.setKind(kind)
    if (!changesName) this.setName(name)
    setNamespace(this.#present(), namespace)
  }

  /** Returns the object as Go's `%#v` shows it, for errors. */
  goSyntax(): string {
    const nothing = "map[string]interface {}(nil)"
    try {
      if (this.node === undefined) return nothing
      refuseDuplicates(this.node)
      return goSyntaxOf(this.node)
    } catch {
      return nothing
    }
  }

  toValue(): unknown {
    return toValue(this.node)
  }

  /** Returns the object as YAML, as it is in the output. */
  toYaml(): string {
    return writeYaml(this.toValue())
  }
}

function previousIdsOf(node: YamlNode | undefined): readonly ResId[] {
  const names = annotationOf(node, annotation.PREVIOUS_NAMES)?.split(",")
  if (names === undefined) return []
  const namespaces = (annotationOf(node, annotation.PREVIOUS_NAMESPACES) ?? "").split(",")
  const kinds = (annotationOf(node, annotation.PREVIOUS_KINDS) ?? "").split(",")
  if (names.length !== namespaces.length || names.length !== kinds.length)
    throw new Error("number of previous names, number of previous namespaces, number of previous kinds not equal")
  const version = parseApiVersion(topText(node, "apiVersion"))
  return names.map((name, i) => ({
    ...version,
    kind: kinds[i]!,
    name,
    namespace: namespaces[i]!,
    isClusterScoped: false,
  }))
}

/** Removes `annotations` and `metadata` when they are empty. */
function clearEmptyAnnotations(node: YamlNode): void {
  const metadata = get(node, "metadata")
  if (metadata === undefined) return
  const annotations = fieldOf(metadata, "annotations")
  if (annotations !== undefined && annotations.content.length === 0) clearField(metadata, "annotations")
  if (fieldOf(node, "metadata")?.content.length === 0) clearField(node, "metadata")
}
