import { Buffer } from "node:buffer"
import { deepEqual } from "./equal.ts"
import type { Cause } from "./errors.ts"
import { at, forbiddenField, invalidValue, notSupported, required, tooLong } from "./field-errors.ts"
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "./meta.ts"
import { asPrefix, isDNS1123Label, isDNS1123Subdomain, isLabelValue, isQualifiedName, type Check } from "./names.ts"

/** Source of this file: apimachinery pkg/api/validation/objectmeta.go and pkg/apis/meta/v1/validation/validation.go. */

/** Together, keys and values: 256 KiB. */
const LARGEST_ANNOTATIONS = 256 * 1024
const LONGEST_MANAGER = 128
const LONGEST_SUBRESOURCE = 256

/** What of a Resource these rules need. */
interface Named {
  readonly scope: "Namespaced" | "Cluster"
  validateName?(name: string): string | undefined
}

/** The metadata of an object that is to be created, its name made from generateName already. */
export function validateObjectMeta(resource: Named, metadata: ObjectMeta, path = "metadata"): readonly Cause[] {
  const { name = "", generateName = "", namespace = "" } = metadata
  const check: Check = resource.validateName?.bind(resource) ?? isDNS1123Subdomain
  const causes: Cause[] = []
  if (generateName !== "") put(causes, at(path, "generateName"), generateName, asPrefix(check)(generateName))
  if (name === "") causes.push(required(at(path, "name"), "name or generateName is required"))
  else put(causes, at(path, "name"), name, check(name))
  if (resource.scope === "Cluster") {
    if (namespace !== "") causes.push(forbiddenField(at(path, "namespace"), "not allowed on this type"))
  } else if (namespace === "") causes.push(required(at(path, "namespace")))
  else put(causes, at(path, "namespace"), namespace, isDNS1123Label(namespace))
  common(causes, metadata, path)
  for (const finalizer of metadata.finalizers ?? []) put(causes, at(path, "finalizers"), finalizer, isQualifiedName(finalizer))
  if (metadata.finalizers?.includes("orphan") === true && metadata.finalizers.includes("foregroundDeletion"))
    causes.push(invalidValue(at(path, "finalizers"), metadata.finalizers, "finalizer orphan and foregroundDeletion cannot be both set"))
  return causes
}

/** The metadata of a changed object against what is stored. */
export function validateObjectMetaUpdate(metadata: ObjectMeta, old: ObjectMeta, path = "metadata"): readonly Cause[] {
  const causes: Cause[] = []
  if (old.deletionTimestamp !== undefined) {
    const added = (metadata.finalizers ?? []).filter((finalizer) => old.finalizers?.includes(finalizer) !== true).sort()
    if (added.length > 0) {
      const shown = `[]string{${added.map((name) => JSON.stringify(name)).join(", ")}}`
      causes.push(forbiddenField(at(path, "finalizers"), `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`))
    }
  }
  if ((metadata.resourceVersion ?? "") === "") causes.push(invalidValue(at(path, "resourceVersion"), "", "must be specified for an update"))
  if ((metadata.generation ?? 0) < (old.generation ?? 0)) causes.push(invalidValue(at(path, "generation"), metadata.generation ?? 0, "must not be decremented"))
  for (const field of ["name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] as const)
    if (!deepEqual(metadata[field], old[field])) causes.push(invalidValue(at(path, field), metadata[field], "field is immutable"))
  common(causes, metadata, path)
  return causes
}

/** Labels that a selector or a template carries. */
export function validateLabels(labels: Readonly<Record<string, string>> | undefined, path: string): readonly Cause[] {
  const causes: Cause[] = []
  putLabels(causes, labels, path)
  return causes
}

/** The name under which a client's changes are recorded: the `fieldManager` of a request. */
function validateFieldManager(manager: string, path: string): readonly Cause[] {
  const causes: Cause[] = []
  if (Buffer.byteLength(manager) > LONGEST_MANAGER) causes.push(tooLong(path, LONGEST_MANAGER))
  let position = 0
  for (const char of manager) {
    if (/[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(char)) {
      const code = `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}`
      causes.push(invalidValue(path, manager, `invalid character ${code} (at position ${position})`))
    }
    position += Buffer.byteLength(char)
  }
  return causes
}

function common(causes: Cause[], { generation = 0, labels, annotations, ownerReferences, managedFields }: ObjectMeta, path: string): void {
  if (generation < 0) causes.push(invalidValue(at(path, "generation"), generation, "must be greater than or equal to 0"))
  putLabels(causes, labels, at(path, "labels"))
  putAnnotations(causes, annotations, at(path, "annotations"))
  if (ownerReferences !== undefined) putOwners(causes, ownerReferences, at(path, "ownerReferences"))
  managedFields?.forEach((entry, i) => putManagedFields(causes, entry, at(path, "managedFields", i)))
}

function put(causes: Cause[], path: string, value: string, problem: string | undefined): void {
  if (problem !== undefined) causes.push(invalidValue(path, value, problem))
}

function putLabels(causes: Cause[], labels: Readonly<Record<string, string>> | undefined, path: string): void {
  for (const key in labels) {
    put(causes, path, key, isQualifiedName(key))
    put(causes, path, labels[key]!, isLabelValue(labels[key]!))
  }
}

function putAnnotations(causes: Cause[], annotations: Readonly<Record<string, string>> | undefined, path: string): void {
  if (annotations === undefined) return
  let units = 0
  for (const key in annotations) {
    put(causes, path, key, isQualifiedName(key.toLowerCase()))
    units += key.length + annotations[key]!.length
  }
  // Bytes are counted only where there are so many characters that it might matter: one is at most three bytes.
  if (units * 3 <= LARGEST_ANNOTATIONS) return
  const bytes = Object.entries(annotations).reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value), 0)
  if (bytes > LARGEST_ANNOTATIONS) causes.push(tooLong(path, LARGEST_ANNOTATIONS))
}

function putOwners(causes: Cause[], owners: readonly OwnerReference[], path: string): void {
  let controller: string | undefined
  owners.forEach((owner, i) => {
    const here = at(path, i)
    if (owner.apiVersion === "") causes.push(required(at(here, "apiVersion"), "must not be empty"))
    else if (!/^([^/]*\/)?[^/]+$/.test(owner.apiVersion)) causes.push(invalidValue(at(here, "apiVersion"), owner.apiVersion, "must be <group>/<version> or <version>"))
    for (const field of ["kind", "name", "uid"] as const) if (owner[field] === "") causes.push(required(at(here, field), "must not be empty"))
    if (owner.apiVersion === "v1" && owner.kind === "Event") causes.push(invalidValue(here, owner, "/v1, Kind=Event is disallowed from being an owner"))
    if (owner.controller !== true) return
    const name = `${owner.kind}/${owner.name}`
    if (controller === undefined) controller = name
    else causes.push(invalidValue(path, owners, `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`))
  })
}

function putManagedFields(causes: Cause[], entry: ManagedFieldsEntry, path: string): void {
  const operation: string = entry.operation ?? ""
  if (operation === "") causes.push(required(at(path, "operation"), "must not be empty"))
  else if (operation !== "Apply" && operation !== "Update") causes.push(notSupported(at(path, "operation"), operation, ["Apply", "Update"]))
  if ((entry.fieldsType ?? "") !== "" && entry.fieldsType !== "FieldsV1") causes.push(invalidValue(at(path, "fieldsType"), entry.fieldsType, "must be `FieldsV1`"))
  if (entry.manager !== undefined) causes.push(...validateFieldManager(entry.manager, at(path, "manager")))
  if (Buffer.byteLength(entry.subresource ?? "") > LONGEST_SUBRESOURCE) causes.push(tooLong(at(path, "subresource"), LONGEST_SUBRESOURCE))
}
