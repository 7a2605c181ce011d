import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  atKey,
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  notSupported,
  required,
} from "../../../../apimachinery/validation/field-errors.ts"
import { goForm } from "../../../../apimachinery/go/go-form.ts"
import type { ObjectMeta } from "../../../../apimachinery/meta.ts"
import { isQualifiedName } from "../../../../apimachinery/validation/names.ts"
import { compareQuantities, quantity } from "../../../../apimachinery/scalars/quantity.ts"
import { unifiedDiff } from "../../../../apimachinery/go/unified-diff.ts"
import { isNativeResource } from "../resources/resource-names.ts"
import { PersistentVolumeClaimSpec, type PersistentVolumeClaimStatus } from "./volumeclaim.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Validates changes of claims. Source: ValidatePersistentVolumeClaimUpdate, ValidatePersistentVolumeClaimStatusUpdate
 * in pkg/apis/core/validation/validation.go.
 */
interface Claim {
  readonly metadata: ObjectMeta
  readonly spec: PersistentVolumeClaimSpec
  readonly status: PersistentVolumeClaimStatus
}

/** The annotation that named the class of a claim before the field existed. */
const CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"

/**
 * Returns the faults of a changed spec. Allowed changes: the size of a bound claim may grow, and shrink again until the
 * volume has grown; the VolumeAttributesClass may change; an empty class or volume name may be set.
 */
export function claimChangeFaults(claim: Claim, old: Claim): readonly Cause[] {
  const { spec, status } = claim
  const causes: Cause[] = []
  const [annotation, before] = [claim, old].map(({ metadata }) => metadata.annotations?.[CLASS_ANNOTATION])
  const fillsInClass =
    old.spec.storageClassName === undefined &&
    spec.storageClassName !== undefined &&
    (before === undefined || spec.storageClassName === before)
  const movesToField = fillsInClass && before !== undefined && (annotation === undefined || annotation === before)
  if (!movesToField && (annotation ?? "") !== (before ?? ""))
    causes.push(invalidValue(`metadata.annotations.${CLASS_ANNOTATION}`, annotation ?? "", "field is immutable"))
  const bound = status.phase === "Bound"
  const comparable = ({ resources, ...rest }: PersistentVolumeClaimSpec) => ({
    ...rest,
    volumeName: old.spec.volumeName ? (rest.volumeName ?? "") : "",
    storageClassName: fillsInClass ? "" : rest.storageClassName,
    ...(bound
      ? {
          volumeAttributesClassName: undefined,
          resources: { ...resources, requests: { ...resources.requests, storage: "" } },
        }
      : { resources }),
  })
  if (!deepEqual(comparable(spec), comparable(old.spec)))
    causes.push(
      forbiddenField(
        "spec",
        `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${differenceOf(claim, old, fillsInClass)}`,
      ),
    )
  const [now, size] = [spec, old.spec].map(({ resources }) => quantity(resources.requests?.["storage"] ?? "0"))
  if (
    compareQuantities(now!, size!) < 0 &&
    compareQuantities(now!, quantity(old.status.capacity?.["storage"] ?? "0")) <= 0
  )
    causes.push(forbiddenField("spec.resources.requests.storage", "field can not be less than status.capacity"))
  if (spec.volumeMode !== old.spec.volumeMode)
    causes.push(invalidValue("volumeMode", spec.volumeMode, "field is immutable"))
  const { volumeAttributesClassName: attributes } = spec
  if (
    attributes !== old.spec.volumeAttributesClassName &&
    old.status.currentVolumeAttributesClassName !== undefined &&
    !attributes
  )
    causes.push(
      forbiddenField(
        "spec.volumeAttributesClassName",
        `update to ${attributes === undefined ? "nil" : "empty string"} is forbidden when ` +
          "status.currentVolumeAttributesClassName is not nil",
      ),
    )
  return causes
}

/** Returns the difference for the message: fields that may change have the same value on both sides. */
function differenceOf({ spec, status }: Claim, { spec: old }: Claim, fillsInClass: boolean): string {
  const { resources } = spec
  const bound = status.phase === "Bound"
  const size = old.resources.requests?.["storage"]
  const requests =
    bound && resources.requests !== undefined && size !== undefined
      ? { ...resources.requests, storage: size }
      : resources.requests
  return unifiedDiff(
    goForm(PersistentVolumeClaimSpec, {
      ...old,
      volumeName: old.volumeName || spec.volumeName,
    }),
    goForm(PersistentVolumeClaimSpec, {
      ...spec,
      resources: { ...resources, requests },
      ...(bound ? { volumeAttributesClassName: old.volumeAttributesClassName } : {}),
      ...(fillsInClass ? { storageClassName: undefined } : {}),
    }),
  )
}

const RESIZE_STATUSES = [
  "ControllerResizeInProgress",
  "ControllerResizeInfeasible",
  "NodeResizeInProgress",
  "NodeResizeInfeasible",
  "NodeResizePending",
]

/** Returns the faults of sizes that controllers and drivers report. */
export function claimStatusFaults(
  spec: PersistentVolumeClaimSpec,
  status: PersistentVolumeClaimStatus,
): readonly Cause[] {
  const { capacity = {}, allocatedResourceStatuses: statuses = {}, allocatedResources = {} } = status
  const causes: Cause[] = []
  if ((spec.accessModes ?? []).length === 0) causes.push(required("Spec.accessModes"))
  for (const [name, amount] of Object.entries(capacity))
    pushAll(causes, sizeFaults(atKey("status.capacity", name), amount))
  for (const [name, state] of Object.entries(statuses)) {
    pushAll(causes, nameFaults("status.allocatedResourceStatuses", name))
    // Upstream shows the resource instead of its state.
    if (!RESIZE_STATUSES.includes(state))
      causes.push(notSupported("status.allocatedResourceStatuses", name, RESIZE_STATUSES))
  }
  for (const [name, amount] of Object.entries(allocatedResources)) {
    const wrong = nameFaults("status.allocatedResources", name)
    const here = atKey("status.allocatedResources", name)
    pushAll(causes, wrong.length > 0 ? wrong : sizeFaults(here, amount))
  }
  return causes
}

/** Returns the faults of the name of a resource: it must be `storage`, or have the domain of a driver. */
function nameFaults(field: string, name: string): readonly Cause[] {
  const wrong = isQualifiedName(name)
  if (wrong !== undefined) return invalidValues(field, name, wrong)
  return isNativeResource(name) && name !== "storage" ? [notSupported(field, name, ["storage"])] : NO_CAUSES
}

/** Returns the faults of a size; the messages show it in whole bytes, as upstream. */
export function sizeFaults(field: string, amount: string): readonly Cause[] {
  const { nano } = quantity(amount)
  return nano < 0n
    ? [invalidValue(field, Number(nano / 1_000_000_000n), "must be a valid resource quantity")]
    : NO_CAUSES
}
