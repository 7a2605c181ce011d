import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { isDNS1123Subdomain } from "../../../../apimachinery/validation/names.ts"
import { quantity } from "../../../../apimachinery/scalars/quantity.ts"
import { declaredFaults, rulesBeside } from "../../../../apimachinery/validation/validate.ts"
import { claimTemplateFaults } from "../persistentvolume/claimspec-validation.ts"
import { driverName, fileMode, localPath } from "../path-validation.ts"
import { isTooLongForISCSI, sharedSourceFaults, TOO_LONG_FOR_ISCSI, validateISCSI } from "./volume-cloud-validation.ts"
import { validateDownwardFile, validateItems, validateProjected } from "./volume-projected-validation.ts"
import type { ProjectedVolumeSource } from "./volume-projected.ts"
import { Volume, VOLUME_SOURCES, type VolumeSourceName } from "./volume.ts"

/**
 * Validates the volumes of a pod. Source: ValidateVolumes and validateVolumeSource in
 * pkg/apis/core/validation/validation.go.
 */

export interface CheckedVolumes {
  readonly causes: readonly Cause[]
  /** The valid volumes by name: containers can mount only these. */
  readonly usable: ReadonlyMap<string, Volume>
}

/** `podName` is absent for templates, whose pods have no name yet. */
export function validateVolumes(volumes: readonly Volume[], podName: string | undefined): CheckedVolumes {
  const usable = new Map<string, Volume>()
  const claims = podName === undefined ? NO_CLAIMS : claimsMadeFor(podName, volumes)
  const causes: Cause[] = []
  for (let i = 0; i < volumes.length; i++) {
    const volume = volumes[i]!
    const before = causes.length
    const { projected } = volume
    const known = projected !== undefined && faultless.has(projected) ? { projected } : undefined
    const declared = declaredFaults(Volume, volume, known)
    if (declared.length === 0) within(causes, validateSource(volume, podName), i)
    else {
      const ofSource = rulesBeside(declared, Volume, volume, (whole) => validateSource(whole, podName))
      // upstream validates the source first, and reports missing fields before invalid values
      const isOfName = ({ field }: Cause) => field === "name"
      within(
        causes,
        declared.filter((cause) => !isOfName(cause)),
        i,
      )
      within(causes, ofSource, i)
      within(causes, declared.filter(isOfName), i)
    }
    if (usable.has(volume.name)) causes.push(duplicate(at("", i, "name"), volume.name))
    if (causes.length === before) {
      usable.set(volume.name, volume)
      if (projected !== undefined) faultless.add(projected)
    }
    const claim = volume.persistentVolumeClaim?.claimName
    if (claim !== undefined && claims.has(claim))
      causes.push(
        invalidValue(
          at("", i, "persistentVolumeClaim", "claimName"),
          claim,
          "must not reference a PVC that gets created for an ephemeral volume",
        ),
      )
  }
  return { causes, usable }
}
const NO_CLAIMS: ReadonlySet<string> = new Set()
/**
 * Projected sources that were found valid. The source with the token is one shared object for all pods, so it is
 * validated once.
 */
const faultless = new WeakSet<ProjectedVolumeSource>()

function claimsMadeFor(podName: string, volumes: readonly Volume[]): ReadonlySet<string> {
  let made: Set<string> | undefined
  for (const { ephemeral, name } of volumes) if (ephemeral !== undefined) (made ??= new Set()).add(`${podName}-${name}`)
  return made ?? NO_CLAIMS
}

function validateSource(volume: Volume, podName: string | undefined): readonly Cause[] {
  let first: VolumeSourceName | undefined
  let others: VolumeSourceName[] | undefined
  for (const name in volume) {
    if (name === "name" || volume[name as VolumeSourceName] === undefined) continue
    if (first === undefined) first = name as VolumeSourceName
    else (others ??= []).push(name as VolumeSourceName)
  }
  if (first === undefined) return [required("", "must specify a volume type")]
  const { iscsi } = volume
  if (others === undefined && iscsi === undefined) return validateOne(volume, first, podName)
  const given = [first, ...(others ?? [])].sort((a, b) => VOLUME_SOURCES.indexOf(a) - VOLUME_SOURCES.indexOf(b))
  const causes: Cause[] = [...validateOne(volume, given[0]!, podName)]
  if (iscsi !== undefined && isTooLongForISCSI(volume.name, iscsi))
    causes.push(invalidValue("name", volume.name, TOO_LONG_FOR_ISCSI))
  for (const name of given.slice(1))
    causes.push(forbiddenField(FORBIDDEN_AS[name] ?? name, "may not specify more than 1 volume type"))
  return causes
}
/** Upstream's spelling of these sources in the message about a second source. */
const FORBIDDEN_AS: Readonly<Partial<Record<VolumeSourceName, string>>> = {
  cephfs: "cephFS",
  downwardAPI: "downwarAPI",
}

function validateOne(volume: Volume, source: VolumeSourceName, podName: string | undefined): readonly Cause[] {
  const causes: Cause[] = []
  switch (source) {
    case "emptyDir": {
      const limit = volume.emptyDir!.sizeLimit
      return limit !== undefined && quantity(limit).nano < 0n
        ? [forbiddenField("emptyDir.sizeLimit", "SizeLimit field must be a valid resource quantity")]
        : NO_CAUSES
    }
    case "gitRepo":
      within(causes, localPath("directory", volume.gitRepo!.directory ?? ""), source)
      return causes
    case "secret": {
      const { secretName = "", defaultMode, items } = volume.secret!
      within(
        causes,
        [...named("secretName", secretName), ...fileMode("defaultMode", defaultMode), ...validateItems(items)],
        source,
      )
      return causes
    }
    case "configMap": {
      const { name, defaultMode, items } = volume.configMap!
      within(causes, [...named("name", name), ...fileMode("defaultMode", defaultMode), ...validateItems(items)], source)
      return causes
    }
    case "downwardAPI": {
      const { defaultMode, items = [] } = volume.downwardAPI!
      // upstream gives the path of the source instead of that of the item
      within(causes, [...fileMode("defaultMode", defaultMode), ...items.flatMap(validateDownwardFile)], source)
      return causes
    }
    case "projected":
      if (!faultless.has(volume.projected!)) within(causes, validateProjected(volume.projected!), source)
      return causes
    case "iscsi":
      within(causes, validateISCSI(volume.iscsi!, "must be valid format starting with iqn, eui, or naa"), source)
      return causes
    case "cinder":
      within(causes, secretName(volume.cinder!.secretRef), "cinder.secretRef")
      return causes
    case "storageos":
      within(causes, sharedSourceFaults(source, volume), "")
      within(causes, secretName(volume.storageos!.secretRef), "storageos.secretRef")
      return causes
    case "scaleIO":
      within(causes, named("volumeName", volume.scaleIO!.volumeName ?? ""), source)
      return causes
    case "csi": {
      const { driver, nodePublishSecretRef: secret } = volume.csi!
      within(causes, driver === "" ? [required("driver")] : driverName("driver", driver), source)
      within(causes, secretName(secret), "csi.nodePublishSecretRef")
      // upstream gives the path of the source instead of that of the reference
      if (secret?.name) within(causes, invalidValues("name", secret.name, isDNS1123Subdomain(secret.name)), source)
      return causes
    }
    case "ephemeral":
      return validateEphemeral(volume, podName)
    case "image":
      // templates may omit it: the creator of the pods can set it
      if (podName !== undefined) within(causes, named("reference", volume.image!.reference ?? ""), source)
      return causes
    default:
      return sharedSourceFaults(source, volume)
  }
}

const named = (path: string, name: string): readonly Cause[] => (name === "" ? [required(path)] : NO_CAUSES)
const secretName = (reference: { readonly name?: string | undefined } | undefined): readonly Cause[] =>
  reference === undefined ? NO_CAUSES : named("name", reference.name ?? "")

/** The name of the claim consists of the names of the pod and the volume. */
function validateEphemeral({ name, ephemeral }: Volume, podName: string | undefined): readonly Cause[] {
  const { volumeClaimTemplate: template } = ephemeral!
  const causes: Cause[] = []
  if (template === undefined) causes.push(required("ephemeral.volumeClaimTemplate"))
  else within(causes, claimTemplateFaults(template), "ephemeral.volumeClaimTemplate")
  if (podName === undefined || name === "") return causes
  const claim = `${podName}-${name}`
  const wrong = [isDNS1123Subdomain(claim) ?? []].flat()
  return [
    ...causes,
    ...wrong.map((problem) => invalidValue("name", name, `PVC name ${JSON.stringify(claim)}: ${problem}`)),
  ]
}
