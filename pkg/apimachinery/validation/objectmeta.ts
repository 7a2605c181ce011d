import { Buffer } from "node:buffer"
import type { Cause } from "../errors.ts"
import {
  at,
  eachWithin,
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  required,
  tooLong,
  within,
} from "./field-errors.ts"
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from "../meta.ts"
import {
  asPrefix,
  type Check,
  isDNS1123Label,
  isDNS1123Subdomain,
  isLabelValue,
  isPathSegmentName,
  isQualifiedName,
  type Problem,
} from "./names.ts"
import { pushAll } from "../../lists/push-all.ts"

/** Source of this file: apimachinery pkg/api/validation/objectmeta.go and pkg/apis/meta/v1/validation/validation.go. */

/** The size of all keys and values together, in bytes: 256 KiB. */
const LARGEST_ANNOTATIONS = 256 * 1024
const LONGEST_MANAGER = 128
const LONGEST_SUBRESOURCE = 256

/**
 * Which of upstream's checks run for a kind, and how many times. The registry shared by all kinds checks the metadata
 * once, and the validation function of most kinds checks it again. Each check reports every fault that it finds, so one
 * fault can occur several times among the causes of an error; clients see this number.
 */
export interface UpstreamChecks {
  /** False: the kind does not check the metadata of new objects, so any name that a path can hold is allowed. */
  readonly createMetadata?: false
  /** How many times the kind runs ValidateObjectMetaUpdate on an update; once unless given. */
  readonly metadataUpdate?: 0
  /** How many times the kind runs ValidateObjectMeta on an update; never unless given. */
  readonly wholeMetadata?: 1 | 2
  /** How many times the rules outside of the metadata run on an update; once unless given. */
  readonly rules?: 2
  /** False: the kind does not check a generateName; only the shared registry does. */
  readonly generateName?: false
  /** True: the kind accepts finalizers without a domain prefix, whatever their names are. */
  readonly plainFinalizers?: true
  /** True: the kind checks the preconditions of a deletion itself, in its own words. */
  readonly ownPreconditions?: true
}

/** The part of a Resource that these rules need. */
interface Named {
  readonly scope: "Namespaced" | "Cluster"
  readonly upstreamChecks?: UpstreamChecks
  validateName?(name: string): Problem | undefined
}

/**
 * Checks the metadata of a new object, whose name has been generated already. `check` checks the name: unless given,
 * the kind's own rule, or that for a DNS-1123 subdomain.
 */
export function validateObjectMeta(
  resource: Named,
  metadata: ObjectMeta,
  check = nameCheckOf(resource),
): readonly Cause[] {
  const { name = "", generateName = "", namespace = "", finalizers } = metadata
  const causes: Cause[] = []
  const leavesPrefix = resource.upstreamChecks?.generateName === false && check !== isPathSegmentName
  if (generateName !== "" && !leavesPrefix) put(causes, "generateName", generateName, asPrefix(check)(generateName))
  if (name === "") causes.push(required("name", "name or generateName is required"))
  else put(causes, "name", name, check(name))
  if (resource.scope === "Cluster") {
    if (namespace !== "") causes.push(forbiddenField("namespace", "not allowed on this type"))
  } else if (namespace === "") causes.push(required("namespace"))
  else put(causes, "namespace", namespace, isDNS1123Label(namespace))
  putCommon(causes, metadata, undefined)
  if (finalizers !== undefined) {
    putFinalizers(causes, finalizers, "finalizers")
    if (resource.upstreamChecks?.createMetadata !== false && resource.upstreamChecks?.plainFinalizers !== true)
      putUnqualified(causes, finalizers)
  }
  return ofMetadata(causes)
}

const nameCheckOf = (resource: Named): Check => resource.validateName?.bind(resource) ?? isDNS1123Subdomain

/**
 * Checks the metadata of an update. Values that it shares with the stored object were checked when that was written.
 */
export function validateObjectMetaUpdate(resource: Named, metadata: ObjectMeta, old: ObjectMeta): readonly Cause[] {
  const { metadataUpdate = 1, wholeMetadata = 0, plainFinalizers } = resource.upstreamChecks ?? {}
  const { finalizers, generateName = "" } = metadata
  const [changed, common, formed, qualified]: [Cause[], Cause[], Cause[], Cause[]] = [[], [], [], []]
  putChange(changed, metadata, old)
  putCommon(common, metadata, old)
  if (finalizers !== undefined && finalizers !== old.finalizers) {
    putFinalizers(formed, finalizers, "finalizers")
    if (plainFinalizers !== true) putUnqualified(qualified, finalizers)
  }
  const isRenamed = generateName !== "" && generateName !== old.generateName
  // True for nearly all updates. The rest only decides in which order, and how often, faults are in the error.
  if (!isRenamed && changed.length + common.length + formed.length + qualified.length === 0) return NO_CAUSES
  const named = (check: Check): Cause[] => {
    const causes: Cause[] = []
    if (isRenamed) put(causes, "generateName", generateName, asPrefix(check)(generateName))
    return causes
  }
  const causes: Cause[] = [...named(isPathSegmentName), ...common, ...formed]
  for (let i = 0; i < 1 + metadataUpdate; i++) pushAll(causes, changed, common, i === 0 ? NO_CAUSES : qualified)
  if (wholeMetadata > 0) {
    const ofKind = resource.upstreamChecks?.generateName === false ? NO_CAUSES : named(nameCheckOf(resource))
    for (let i = 0; i < wholeMetadata; i++) pushAll(causes, ofKind, common, formed, qualified)
  }
  return ofMetadata(causes)
}

function putChange(causes: Cause[], metadata: ObjectMeta, old: ObjectMeta): void {
  if (old.deletionTimestamp !== undefined) {
    const before = new Set(old.finalizers)
    const added = (metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer)).sort()
    if (added.length > 0) {
      const shown = `[]string{${added.map((name) => JSON.stringify(name)).join(", ")}}`
      causes.push(
        forbiddenField(
          "finalizers",
          `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`,
        ),
      )
    }
  }
  if ((metadata.resourceVersion ?? "") === "")
    causes.push(invalidValue("resourceVersion", "", "must be specified for an update"))
  if ((metadata.generation ?? 0) < (old.generation ?? 0))
    causes.push(invalidValue("generation", metadata.generation ?? 0, "must not be decremented"))
  for (const field of IMMUTABLE)
    if (metadata[field] !== old[field]) causes.push(invalidValue(field, metadata[field], "field is immutable"))
}
const IMMUTABLE = [
  "name",
  "namespace",
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
] as const

function ofMetadata(found: readonly Cause[]): readonly Cause[] {
  if (found.length === 0) return NO_CAUSES
  const causes: Cause[] = []
  within(causes, found, "metadata")
  return causes
}

/** Checks the labels of a selector or a template. */
export function validateLabels(labels: Readonly<Record<string, string>> | undefined, path: string): readonly Cause[] {
  const causes: Cause[] = []
  putLabels(causes, labels, path)
  return causes
}

/** Checks the annotations of a template. */
export function validateAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
  path: string,
): readonly Cause[] {
  const causes: Cause[] = []
  putAnnotations(causes, annotations, path)
  return causes
}

/** Checks the `fieldManager` of a request, the name under which its changes are recorded. */
function validateFieldManager(manager: string, path: string): readonly Cause[] {
  if (manager.length <= LONGEST_MANAGER && PLAIN.test(manager)) return NO_CAUSES
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
const PLAIN = /^[\x20-\x7e]*$/

/** Checks that apply to new and to changed metadata. Values that it shares with `old` were checked before. */
function putCommon(
  causes: Cause[],
  { generation = 0, labels, annotations, ownerReferences, managedFields }: ObjectMeta,
  old: ObjectMeta | undefined,
): void {
  if (generation < 0) causes.push(invalidValue("generation", generation, "must be greater than or equal to 0"))
  if (labels !== old?.labels) putLabels(causes, labels, "labels")
  if (annotations !== old?.annotations) putAnnotations(causes, annotations, "annotations")
  if (ownerReferences !== undefined && ownerReferences !== old?.ownerReferences)
    putOwners(causes, ownerReferences, "ownerReferences")
  if (managedFields !== old?.managedFields)
    eachWithin(causes, managedFields, "managedFields", (entry) =>
      old?.managedFields?.includes(entry) === true ? NO_CAUSES : validateManagedFields(entry),
    )
}

/**
 * Refuses finalizers without a `/` that are not Kubernetes' own. Source: validateKubeFinalizerName in
 * pkg/apis/core/validation/validation.go.
 */
function putUnqualified(causes: Cause[], finalizers: readonly string[]): void {
  for (const [i, finalizer] of finalizers.entries())
    if (!finalizer.includes("/") && !STANDARD_FINALIZERS.includes(finalizer))
      causes.push(
        invalidValue(
          at("finalizers", i),
          finalizer,
          "name is neither a standard finalizer name nor is it fully qualified",
        ),
      )
}
const STANDARD_FINALIZERS: readonly string[] = ["kubernetes", "orphan", "foregroundDeletion"]

function putFinalizers(causes: Cause[], finalizers: readonly string[], path: string): void {
  for (const finalizer of finalizers) put(causes, path, finalizer, isQualifiedName(finalizer))
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion"))
    causes.push(invalidValue(path, finalizers, "finalizer orphan and foregroundDeletion cannot be both set"))
}

function put(causes: Cause[], path: string, value: string, problem: Problem | undefined): void {
  if (problem !== undefined) pushAll(causes, invalidValues(path, value, problem))
}

function putLabels(causes: Cause[], labels: Readonly<Record<string, string>> | undefined, path: string): void {
  for (const key in labels) {
    put(causes, path, key, isQualifiedName(key))
    put(causes, path, labels[key]!, isLabelValue(labels[key]!))
  }
}

function putAnnotations(
  causes: Cause[],
  annotations: Readonly<Record<string, string>> | undefined,
  path: string,
): void {
  if (annotations === undefined) return
  let units = 0
  for (const key in annotations) {
    put(causes, path, key, isQualifiedName(key.toLowerCase()))
    units += key.length + annotations[key]!.length
  }
  // Bytes are counted only if the number of characters could exceed the limit: a character has at most three bytes.
  if (units * 3 <= LARGEST_ANNOTATIONS) return
  const bytes = Object.entries(annotations).reduce(
    (sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(value),
    0,
  )
  if (bytes > LARGEST_ANNOTATIONS) causes.push(tooLong(path, LARGEST_ANNOTATIONS))
}

function putOwners(causes: Cause[], owners: readonly OwnerReference[], path: string): void {
  let controller: string | undefined
  for (const owner of owners) {
    // Upstream names the list and not the item.
    within(causes, validateOwner(owner), path)
    if (owner.controller !== true) continue
    const name = `${owner.kind}/${owner.name}`
    if (controller === undefined) controller = name
    else
      causes.push(
        invalidValue(
          path,
          owners,
          `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${name}`,
        ),
      )
  }
}

function validateOwner(owner: OwnerReference): readonly Cause[] {
  const { apiVersion, kind, name, uid } = owner
  const causes: Cause[] = []
  if (!/^([^/]*\/)?[^/]+$/.test(apiVersion))
    causes.push(invalidValue("apiVersion", apiVersion, "version must not be empty"))
  for (const [field, value] of [
    ["kind", kind],
    ["name", name],
    ["uid", uid],
  ] as const)
    if (value === "") causes.push(invalidValue(field, value, "must not be empty"))
  if (apiVersion === "v1" && kind === "Event")
    causes.push(invalidValue("", owner, "/v1, Kind=Event is disallowed from being an owner"))
  return causes
}

function validateManagedFields({
  manager,
  operation: given,
  fieldsType = "",
  subresource = "",
}: ManagedFieldsEntry): readonly Cause[] {
  const operation: string = given ?? ""
  const causes: Cause[] = []
  if (operation !== "Apply" && operation !== "Update")
    causes.push(invalidValue("operation", operation, "must be `Apply` or `Update`"))
  if (fieldsType !== "" && fieldsType !== "FieldsV1")
    causes.push(invalidValue("fieldsType", fieldsType, "must be `FieldsV1`"))
  if (manager !== undefined) pushAll(causes, validateFieldManager(manager, "manager"))
  if (subresource.length > LONGEST_SUBRESOURCE / 4 && Buffer.byteLength(subresource) > LONGEST_SUBRESOURCE)
    causes.push(tooLong("subresource", LONGEST_SUBRESOURCE))
  return causes
}
