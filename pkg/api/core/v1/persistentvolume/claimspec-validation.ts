import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  notSupported,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { labelSelectorFaults } from "../../../../apimachinery/selectors/labelselector.ts"
import type { ObjectMeta } from "../../../../apimachinery/meta.ts"
import { isDNS1123Label, isDNS1123Subdomain } from "../../../../apimachinery/validation/names.ts"
import { validateAnnotations, validateLabels } from "../../../../apimachinery/validation/objectmeta.ts"
import { quantity } from "../../../../apimachinery/scalars/quantity.ts"
import { partFaults } from "../../../../apimachinery/validation/validate.ts"
import { ACCESS_MODES } from "./accessmodes.ts"
import { PersistentVolumeClaimSpec, type PersistentVolumeClaimTemplate } from "./volumeclaim.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Validates the spec of a claim. Source: ValidatePersistentVolumeClaimSpec in pkg/apis/core/validation/validation.go.
 */

/**
 * Returns the faults of a spec, in a claim or a template; the rules of its declarations are checked too. `old` is the
 * spec that is replaced.
 */
export const claimSpecFaults = (spec: PersistentVolumeClaimSpec, old?: PersistentVolumeClaimSpec): readonly Cause[] =>
  partFaults(PersistentVolumeClaimSpec, spec, (whole) => wholeClaimSpecFaults(whole, old))

function wholeClaimSpecFaults(spec: PersistentVolumeClaimSpec, old?: PersistentVolumeClaimSpec): readonly Cause[] {
  const { accessModes = [], selector, resources, storageClassName, dataSource, dataSourceRef } = spec
  const causes: Cause[] = []
  if (accessModes.length === 0) causes.push(required("accessModes", "at least 1 access mode is required"))
  if (selector !== undefined) pushAll(causes, labelSelectorFaults("selector", selector))
  pushAll(causes, accessModeFaults(accessModes))
  const size = resources.requests?.["storage"]
  if (size === undefined) causes.push(required("resources[storage]"))
  else if (quantity(size).nano <= 0n) causes.push(invalidValue("resources[storage]", size, "must be greater than zero"))
  if (storageClassName)
    pushAll(causes, invalidValues("storageClassName", storageClassName, isDNS1123Subdomain(storageClassName)))
  // An invalid API group that is stored already may stay.
  const anyGroup = (old?.dataSource?.apiGroup ?? old?.dataSourceRef?.apiGroup ?? undefined) !== undefined
  if (dataSource !== undefined) within(causes, sourceFaults(dataSource, anyGroup), "dataSource")
  if (dataSourceRef !== undefined) within(causes, sourceFaults(dataSourceRef, anyGroup), "dataSourceRef")
  if (dataSource !== undefined && dataSourceRef !== undefined) {
    const same = (["apiGroup", "kind", "name"] as const).every(
      (field) => (dataSource[field] ?? "") === (dataSourceRef[field] ?? ""),
    )
    if (dataSourceRef.namespace)
      causes.push(invalidValue("", {}, "may not be specified when dataSourceRef.namespace is specified"))
    else if (!same) causes.push(invalidValue("", {}, "must match dataSourceRef"))
  }
  const { volumeAttributesClassName: attributes } = spec
  if (attributes)
    pushAll(causes, invalidValues("volumeAttributesClassName", attributes, isDNS1123Subdomain(attributes)))
  return causes
}

/** Validates access modes: ReadWriteOncePod excludes other modes. */
export function accessModeFaults(accessModes: readonly string[]): readonly Cause[] {
  const known = accessModes.filter((mode) => ACCESS_MODES.includes(mode))
  const causes: Cause[] = []
  for (const mode of accessModes)
    if (!known.includes(mode)) causes.push(notSupported("accessModes", mode, ACCESS_MODES))
  if (known.includes("ReadWriteOncePod") && known.some((mode) => mode !== "ReadWriteOncePod"))
    causes.push(forbiddenField("accessModes", "may not use ReadWriteOncePod with other access modes"))
  return causes
}

interface DataSource {
  readonly apiGroup?: string | null | undefined
  readonly kind: string
  readonly namespace?: string | undefined
}

function sourceFaults({ apiGroup: group, kind, namespace = "" }: DataSource, anyGroup: boolean): readonly Cause[] {
  const apiGroup = group ?? ""
  const causes: Cause[] = []
  if (apiGroup === "" && kind !== "PersistentVolumeClaim")
    causes.push(invalidValue("", kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"))
  if (apiGroup !== "" && !anyGroup) pushAll(causes, invalidValues("apiGroup", apiGroup, isDNS1123Subdomain(apiGroup)))
  if (namespace !== "") pushAll(causes, invalidValues("namespace", namespace, isDNS1123Label(namespace)))
  return causes
}

/** Returns the faults of the template of a claim, whose metadata may have only labels and annotations. */
export function claimTemplateFaults({ metadata, spec }: PersistentVolumeClaimTemplate): readonly Cause[] {
  const causes: Cause[] = []
  within(causes, templateMetadataFaults(metadata), "metadata")
  within(causes, claimSpecFaults(spec), "spec")
  return causes
}

/**
 * Returns the faults of metadata in which only labels and annotations may be set. Source: ValidateTemplateObjectMeta.
 */
export const templateMetadataFaults = (metadata: ObjectMeta): readonly Cause[] => [
  ...validateAnnotations(metadata.annotations, "annotations"),
  ...validateLabels(metadata.labels, "labels"),
  ...otherMetadata(metadata),
]

/** Upstream uses the name of the Go field with its first letter in lower case. */
const GO_NAMES: Readonly<Record<string, string>> = { uid: "uID" }

function otherMetadata(metadata: ObjectMeta): readonly Cause[] {
  const others = Object.keys(metadata).filter(
    (field) => field !== "labels" && field !== "annotations" && metadata[field as keyof ObjectMeta] !== undefined,
  )
  return others.length === 0
    ? NO_CAUSES
    : others.map((field) => forbiddenField(GO_NAMES[field] ?? field, "cannot be set"))
}
