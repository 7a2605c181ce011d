import { goForm } from "../../../../apimachinery/go/go-form.ts"
import { sizeFaults } from "./persistentvolumeclaim-validation.ts"
import { posix } from "node:path"
import { deepEqual } from "../../../../apimachinery/json/equal.ts"
import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  atKey,
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  notSupported,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { isDNS1123Label, isDNS1123Subdomain } from "../../../../apimachinery/validation/names.ts"
import { quantity } from "../../../../apimachinery/scalars/quantity.ts"
import { declaredFaults, partFaults } from "../../../../apimachinery/validation/validate.ts"
import { NodeSelector, type NodeSelectorTerm } from "../pod/scheduling/affinity.ts"
import { accessModeFaults } from "./claimspec-validation.ts"
import { driverName, withoutBacksteps } from "../path-validation.ts"
import {
  PERSISTENT_VOLUME_SOURCES,
  PersistentVolumeSpec,
  type PersistentVolumeSourceName,
  VolumeNodeAffinity,
} from "./persistentvolumespec.ts"
import { sourceDifference } from "./source-difference.ts"
import { validateNodeSelector } from "../pod/scheduling/scheduling-validation.ts"
import {
  isTooLongForISCSI,
  sharedSourceFaults,
  TOO_LONG_FOR_ISCSI,
  validateISCSI,
} from "../volume/volume-cloud-validation.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Validates PersistentVolumes. Source: ValidatePersistentVolumeSpec, ValidatePersistentVolumeUpdate in
 * pkg/apis/core/validation/validation.go.
 */

/** Returns the faults of the spec of a PersistentVolume; the rules of its declarations are checked too. */
export const volumeSpecFaults = (spec: PersistentVolumeSpec, name: string): readonly Cause[] =>
  partFaults(PersistentVolumeSpec, spec, (whole) => clusterVolumeFaults(whole, name))

function clusterVolumeFaults(spec: PersistentVolumeSpec, name: string): readonly Cause[] {
  const { capacity = {}, storageClassName, persistentVolumeReclaimPolicy: policy, volumeMode } = spec
  const causes: Cause[] = [...modeFaults(spec)]
  if (Object.keys(capacity).length === 0) causes.push(required("capacity"))
  if (capacity["storage"] === undefined || Object.keys(capacity).length > 1)
    causes.push(notSupported("capacity", spec.capacity, ["storage"]))
  for (const [resource, amount] of Object.entries(capacity)) {
    const here = atKey("capacity", resource)
    pushAll(causes, sizeFaults(here, amount))
    if (quantity(amount).nano <= 0n) causes.push(invalidValue(here, amount, "must be greater than zero"))
  }
  if (policy !== undefined && !POLICIES.includes(policy))
    causes.push(notSupported("persistentVolumeReclaimPolicy", policy, POLICIES))
  if (spec.nodeAffinity !== undefined) within(causes, affinityFaults(spec.nodeAffinity), "nodeAffinity")
  pushAll(causes, onlySourceFaults(spec, name))
  if (spec.hostPath !== undefined && posix.normalize(spec.hostPath.path) === "/" && policy === "Recycle")
    causes.push(forbiddenField("persistentVolumeReclaimPolicy", "may not be 'recycle' for a hostPath mount of '/'"))
  if (storageClassName)
    pushAll(causes, invalidValues("storageClassName", storageClassName, isDNS1123Subdomain(storageClassName)))
  if (volumeMode !== undefined && !MODES.includes(volumeMode))
    causes.push(notSupported("volumeMode", volumeMode, MODES))
  return [...causes, ...attributesClassFaults(spec)]
}
const POLICIES: readonly string[] = ["Delete", "Recycle", "Retain"]
const MODES: readonly string[] = ["Block", "Filesystem"]

/**
 * Returns the faults of the spec of an inline volume in a VolumeAttachment: its source must be CSI, and fields that
 * only PersistentVolumes have must be absent.
 */
export const inlineVolumeSpecFaults = (spec: PersistentVolumeSpec): readonly Cause[] =>
  partFaults(PersistentVolumeSpec, spec, inlineVolumeFaults)

function inlineVolumeFaults(spec: PersistentVolumeSpec): readonly Cause[] {
  const { persistentVolumeReclaimPolicy: policy, volumeMode } = spec
  const causes: Cause[] = []
  const forbid = (field: keyof PersistentVolumeSpec) =>
    causes.push(forbiddenField(field, "may not be specified in the context of inline volumes"))
  if (spec.claimRef !== undefined) forbid("claimRef")
  if (Object.keys(spec.capacity ?? {}).length > 0) forbid("capacity")
  if (spec.csi === undefined) causes.push(required("csi", "has to be specified in the context of inline volumes"))
  pushAll(causes, modeFaults(spec))
  if (policy !== undefined && policy !== "Retain")
    causes.push(forbiddenField("persistentVolumeReclaimPolicy", "may only be Retain in the context of inline volumes"))
  if (spec.nodeAffinity !== undefined) forbid("nodeAffinity")
  pushAll(causes, onlySourceFaults(spec, ""))
  if (spec.storageClassName) forbid("storageClassName")
  if (volumeMode !== undefined && volumeMode !== "Filesystem")
    causes.push(
      forbiddenField("volumeMode", "may not specify volumeMode other than Filesystem in the context of inline volumes"),
    )
  return causes
}

const modeFaults = ({ accessModes = [] }: PersistentVolumeSpec): readonly Cause[] => [
  ...(accessModes.length === 0 ? [required("accessModes")] : NO_CAUSES),
  ...accessModeFaults(accessModes),
]

/** Checks that there is exactly one source, and validates it. */
function onlySourceFaults(spec: PersistentVolumeSpec, name: string): readonly Cause[] {
  const causes: Cause[] = []
  const given = PERSISTENT_VOLUME_SOURCES.filter((source) => spec[source] !== undefined)
  const [first, ...others] = given
  if (first === undefined) return [...causes, required("", "must specify a volume type")]
  within(causes, sourceFaults(spec, first, name), "")
  for (const source of others) {
    // Upstream allows a flexVolume beside any other source.
    if (source === "flexVolume") within(causes, sharedSourceFaults(source, spec), "")
    else causes.push(forbiddenField(source === "cephfs" ? "cephFS" : source, "may not specify more than 1 volume type"))
  }
  return causes
}

function sourceFaults(spec: PersistentVolumeSpec, source: PersistentVolumeSourceName, name: string): readonly Cause[] {
  const causes: Cause[] = []
  switch (source) {
    case "glusterfs": {
      const { endpointsNamespace: namespace } = spec.glusterfs!
      if (namespace === "")
        causes.push(
          invalidValue(
            "glusterfs.endpointsNamespace",
            namespace,
            "if the endpointnamespace is set, it must be a valid namespace name",
          ),
        )
      else if (namespace !== undefined)
        pushAll(causes, invalidValues("glusterfs.endpointsNamespace", namespace, isDNS1123Label(namespace)))
      return causes
    }
    case "iscsi": {
      const iscsi = spec.iscsi!
      within(causes, validateISCSI(iscsi, "must be valid format"), source)
      if (isTooLongForISCSI(name, iscsi))
        causes.push(invalidValue("iscsi.targetportal", iscsi.targetPortal, TOO_LONG_FOR_ISCSI))
      if (iscsi.secretRef?.name === undefined && iscsi.secretRef !== undefined)
        causes.push(required("iscsi.secretRef.name"))
      return causes
    }
    case "cinder":
      return secretFaults(spec.cinder!.secretRef, "cinder.secretRef")
    case "storageos":
      within(causes, sharedSourceFaults(source, spec), "")
      return [...causes, ...secretFaults(spec.storageos!.secretRef, "storageos.secretRef")]
    case "azureFile":
      return spec.azureFile!.secretNamespace === "" ? [required("azureFile.secretNamespace")] : causes
    case "scaleIO":
      return (spec.scaleIO!.volumeName ?? "") === "" ? [required("scaleIO.volumeName")] : causes
    case "local":
      if (spec.local!.path !== "") within(causes, withoutBacksteps("path", spec.local!.path), source)
      if (spec.nodeAffinity === undefined) causes.push(required("nodeAffinity", "Local volume requires node affinity"))
      return causes
    case "csi": {
      const { driver } = spec.csi!
      within(causes, driver === "" ? [required("driver")] : driverName("driver", driver), source)
      for (const field of CSI_SECRETS) {
        const reference = spec.csi![field]
        if (reference !== undefined) within(causes, namedSecretFaults(reference), at(source, field))
      }
      return causes
    }
    default:
      return sharedSourceFaults(source, spec)
  }
}
const CSI_SECRETS = [
  "controllerPublishSecretRef",
  "controllerExpandSecretRef",
  "nodePublishSecretRef",
  "nodeExpandSecretRef",
] as const

interface Reference {
  readonly name?: string | undefined
  readonly namespace?: string | undefined
}

const secretFaults = (reference: Reference | undefined, path: string): readonly Cause[] =>
  reference === undefined
    ? NO_CAUSES
    : (["name", "namespace"] as const).flatMap((field) =>
        (reference[field] ?? "") === "" ? [required(at(path, field))] : [],
      )

const namedSecretFaults = (reference: Reference): readonly Cause[] => {
  const { name = "", namespace = "" } = reference
  return [
    ...secretFaults(reference, ""),
    ...(name === "" ? [] : invalidValues("name", name, isDNS1123Subdomain(name))),
    ...(namespace === "" ? [] : invalidValues("namespace", namespace, isDNS1123Label(namespace))),
  ]
}

function affinityFaults({ required: needed }: VolumeNodeAffinity): readonly Cause[] {
  if (needed === undefined) return [required("required", "must specify required node constraints")]
  const causes: Cause[] = [...declaredFaults(NodeSelector, needed)].map((cause) => ({
    ...cause,
    field: at("required", cause.field ?? ""),
  }))
  return [...causes, ...validateNodeSelector({ nodeSelectorTerms: needed.nodeSelectorTerms ?? [] }, "required")]
}

function attributesClassFaults({ volumeAttributesClassName: name, csi }: PersistentVolumeSpec): readonly Cause[] {
  if (name === undefined) return NO_CAUSES
  return [
    ...(name === ""
      ? [required("volumeAttributesClassName", "an empty string is disallowed")]
      : invalidValues("volumeAttributesClassName", name, isDNS1123Subdomain(name))),
    ...(csi === undefined ? [required("csi", "has to be specified when using volumeAttributesClassName")] : []),
  ]
}

/** The source of a volume cannot change, except that a missing secret may be added. */
export function volumeChangeFaults(spec: PersistentVolumeSpec, old: PersistentVolumeSpec): readonly Cause[] {
  const causes: Cause[] = []
  const unchanged = PERSISTENT_VOLUME_SOURCES.every((source) => {
    const [now, before] = [spec[source], old[source]]
    if (source !== "csi" || spec.csi === undefined || old.csi === undefined) return deepEqual(now, before)
    const { controllerExpandSecretRef } = spec.csi
    return deepEqual(
      now,
      old.csi.controllerExpandSecretRef === undefined ? { ...old.csi, controllerExpandSecretRef } : before,
    )
  })
  if (!unchanged)
    causes.push(
      forbiddenField(
        "spec.persistentvolumesource",
        `spec.persistentvolumesource is immutable after creation\n${sourceDifference(old, spec)}`,
      ),
    )
  if (spec.volumeMode !== old.volumeMode) causes.push(invalidValue("volumeMode", spec.volumeMode, "field is immutable"))
  if (
    old.nodeAffinity !== undefined &&
    !deepEqual(spec.nodeAffinity, old.nodeAffinity) &&
    !deepEqual(spec.nodeAffinity, withStableKeys(old.nodeAffinity, spec.nodeAffinity))
  )
    causes.push(
      invalidValue(
        "nodeAffinity",
        spec.nodeAffinity && goForm(VolumeNodeAffinity, spec.nodeAffinity),
        "field is immutable, except for updating from beta label to GA",
      ),
    )
  if (old.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined)
    causes.push(forbiddenField("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"))
  return causes
}

/** The current names of deprecated node labels. */
const STABLE_LABELS: Readonly<Record<string, string>> = {
  "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
  "beta.kubernetes.io/os": "kubernetes.io/os",
  "beta.kubernetes.io/arch": "kubernetes.io/arch",
  "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}

/**
 * Returns the affinity with the current names of labels where `now` has replaced deprecated ones. As upstream, a key
 * without a current name may become empty; another rule refuses that.
 */
function withStableKeys(old: VolumeNodeAffinity, now: VolumeNodeAffinity | undefined): VolumeNodeAffinity {
  if (old.required === undefined) return old
  return {
    ...old,
    required: {
      ...old.required,
      nodeSelectorTerms: old.required.nodeSelectorTerms.map((term, i) => {
        const other = now?.required?.nodeSelectorTerms?.[i]
        return {
          ...term,
          ...renamedKeys("matchExpressions", term, other),
          ...renamedKeys("matchFields", term, other),
        }
      }),
    },
  }
}

const renamedKeys = (
  list: "matchExpressions" | "matchFields",
  { [list]: before }: NodeSelectorTerm,
  now: NodeSelectorTerm | undefined,
): Pick<NodeSelectorTerm, typeof list> =>
  before === undefined
    ? {}
    : {
        [list]: before.map((requirement, i) => {
          const key = STABLE_LABELS[requirement.key] ?? ""
          return now?.[list]?.[i]?.key === key ? { ...requirement, key } : requirement
        }),
      }
