import type { Cause } from "../../../apimachinery/errors.ts"
import { at, duplicate, forbiddenField, invalidValue, required } from "../../../apimachinery/field-errors.ts"
import { labelSelectorFaults } from "../../../apimachinery/labelselector.ts"
import { isDNS1123Subdomain } from "../../../apimachinery/names.ts"
import { quantity } from "../../../apimachinery/quantity.ts"
import { VOLUME_FIELDS, validateFieldRef, validateResourceFieldRef } from "./env-validation.ts"
import { checked, fileMode, localFile, localPath, withoutBacksteps } from "./path-validation.ts"
import type { DownwardAPIVolumeFile, KeyToPath, ProjectedVolumeSource } from "./volume-projected.ts"
import { Volume } from "./volume.ts"

/** Rules of volumes. Source: ValidateVolumes and validateVolumeSource in pkg/apis/core/validation/validation.go. Single fields are checked by their declarations. */

type SourceName = Exclude<keyof Volume, "name">
/** In the order in which upstream looks at them: the first one found is the one that is meant. */
const SOURCES: readonly SourceName[] = ["emptyDir", ...Object.keys(Volume.fields).filter((name): name is SourceName => name !== "name" && name !== "emptyDir")]

/** `podName` is absent for templates, whose pods have no name yet. */
export function validateVolumes(volumes: readonly Volume[], podName: string | undefined, path: string): readonly Cause[] {
  const seen = new Set<string>()
  const made = new Set(podName === undefined ? [] : volumes.filter(({ ephemeral }) => ephemeral !== undefined).map(({ name }) => `${podName}-${name}`))
  return volumes.flatMap((volume, i) => {
    const here = at(path, i)
    const causes: Cause[] = [...validateSource(volume, podName, here)]
    if (seen.has(volume.name)) causes.push(duplicate(at(here, "name"), volume.name))
    seen.add(volume.name)
    const claim = volume.persistentVolumeClaim?.claimName
    if (claim !== undefined && made.has(claim)) causes.push(invalidValue(at(here, "persistentVolumeClaim", "claimName"), claim, "must not reference a PVC that gets created for an ephemeral volume"))
    return causes
  })
}

function validateSource(volume: Volume, podName: string | undefined, path: string): readonly Cause[] {
  const given = Object.keys(volume).filter((name): name is SourceName => name !== "name" && volume[name as SourceName] !== undefined)
  if (given.length > 1) given.sort((a, b) => SOURCES.indexOf(a) - SOURCES.indexOf(b))
  if (given.length === 0) return [required(path, "must specify a volume type")]
  const [first, ...more] = given
  return [
    ...validateOne(volume, first!, podName, at(path, first!), path),
    ...more.map((name) => forbiddenField(at(path, name), "may not specify more than 1 volume type")),
  ]
}

function validateOne(volume: Volume, source: SourceName, podName: string | undefined, path: string, volumePath: string): readonly Cause[] {
  switch (source) {
    case "emptyDir": {
      const limit = volume.emptyDir!.sizeLimit
      return limit !== undefined && quantity(limit).nano < 0n ? [forbiddenField(at(path, "sizeLimit"), "SizeLimit field must be a valid resource quantity")] : []
    }
    case "hostPath": return withoutBacksteps(at(path, "path"), volume.hostPath!.path)
    case "gitRepo": return localPath(at(path, "directory"), volume.gitRepo!.directory ?? "")
    case "secret": {
      const { secretName = "", defaultMode, items } = volume.secret!
      return [...named(at(path, "secretName"), secretName), ...fileMode(at(path, "defaultMode"), defaultMode), ...validateItems(items, path)]
    }
    case "configMap": {
      const { name, defaultMode, items } = volume.configMap!
      return [...named(at(path, "name"), name), ...fileMode(at(path, "defaultMode"), defaultMode), ...validateItems(items, path)]
    }
    case "downwardAPI": {
      const { defaultMode, items = [] } = volume.downwardAPI!
      // upstream names the source and not the item here
      return [...fileMode(at(path, "defaultMode"), defaultMode), ...items.flatMap((file) => validateDownwardFile(file, path))]
    }
    case "projected": return validateProjected(volume.projected!, path)
    case "nfs": return volume.nfs!.path.startsWith("/") ? [] : [invalidValue(at(path, "path"), volume.nfs!.path, "must be an absolute path")]
    case "fc": {
      const { targetWWNs = [], wwids = [], lun } = volume.fc!
      if (targetWWNs.length === 0 && wwids.length === 0) return [required(at(path, "targetWWNs"), "must specify either targetWWNs or wwids, but not both")]
      if (targetWWNs.length > 0 && wwids.length > 0) return [invalidValue(at(path, "targetWWNs"), targetWWNs, "targetWWNs and wwids can not be specified simultaneously")]
      return targetWWNs.length > 0 && lun === undefined ? [required(at(path, "lun"), "lun is required if targetWWNs is specified")] : []
    }
    case "csi": return checked(at(path, "driver"), volume.csi!.driver, isDNS1123Subdomain)
    case "ephemeral": {
      if (volume.ephemeral!.volumeClaimTemplate === undefined) return [required(at(path, "volumeClaimTemplate"))]
      const claim = podName === undefined ? undefined : `${podName}-${volume.name}`
      const problem = claim === undefined ? undefined : isDNS1123Subdomain(claim)
      return problem === undefined ? [] : [invalidValue(at(volumePath, "name"), volume.name, `PVC name ${JSON.stringify(claim)}: ${problem}`)]
    }
    case "image": return named(at(path, "reference"), volume.image!.reference ?? "")
    default: return []
  }
}

const named = (path: string, name: string): readonly Cause[] => (name === "" ? [required(path)] : [])

const validateItems = (items: readonly KeyToPath[] | undefined, path: string): readonly Cause[] =>
  (items ?? []).flatMap((item, i) => [...localFile(at(path, "items", i, "path"), item.path), ...fileMode(at(path, "items", i, "mode"), item.mode)])

function validateDownwardFile({ path: file, fieldRef, resourceFieldRef, mode }: DownwardAPIVolumeFile, path: string): readonly Cause[] {
  const causes: Cause[] = [...localFile(at(path, "path"), file)]
  if (fieldRef !== undefined) {
    causes.push(...validateFieldRef(fieldRef, VOLUME_FIELDS, at(path, "fieldRef")))
    if (resourceFieldRef !== undefined) causes.push(invalidValue(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
  } else if (resourceFieldRef !== undefined) causes.push(...validateResourceFieldRef(resourceFieldRef, at(path, "resourceFieldRef"), true))
  else causes.push(required(path, "one of fieldRef and resourceFieldRef is required"))
  return [...causes, ...fileMode(at(path, "mode"), mode)]
}

function validateProjected({ sources = [], defaultMode }: ProjectedVolumeSource, path: string): readonly Cause[] {
  const causes: Cause[] = [...fileMode(at(path, "defaultMode"), defaultMode)]
  const taken = new Set<string>()
  const take = (file: string, owner: string) => {
    if (file === "") return
    if (taken.has(file)) causes.push(invalidValue(path, owner, "conflicting duplicate paths"))
    taken.add(file)
  }
  for (const [i, source] of sources.entries()) {
    const here = at(path, "sources", i)
    const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source
    for (const [name, from] of [["secret", secret], ["configMap", configMap]] as const) {
      if (from === undefined) continue
      causes.push(...named(at(here, name, "name"), from.name), ...validateItems(from.items, at(here, name)))
      for (const item of from.items ?? []) take(item.path, from.name)
    }
    for (const file of downwardAPI?.items ?? []) {
      causes.push(...validateDownwardFile(file, at(here, "downwardAPI")))
      take(file.path, file.path)
    }
    if (serviceAccountToken !== undefined) {
      const { expirationSeconds, path: file } = serviceAccountToken
      const where = at(here, "serviceAccountToken", "expirationSeconds")
      if (expirationSeconds < 600) causes.push(invalidValue(where, expirationSeconds, "may not specify a duration less than 10 minutes"))
      if (expirationSeconds > 2 ** 32) causes.push(invalidValue(where, expirationSeconds, "may not specify a duration larger than 2^32 seconds"))
      causes.push(...localFile(at(path, "path"), file))
      take(file, file)
    }
    if (clusterTrustBundle !== undefined) {
      const { name, signerName, labelSelector, path: file } = clusterTrustBundle
      const where = at(here, "clusterTrustBundle")
      if (name !== undefined && signerName !== undefined) causes.push(invalidValue(where, clusterTrustBundle, "only one of name and signerName may be used"))
      else if (name === undefined && signerName === undefined) causes.push(required(where, "either name or signerName must be specified"))
      else if (name !== undefined && labelSelector !== undefined) causes.push(invalidValue(at(where, "labelSelector"), labelSelector, "labelSelector must be unset if name is specified"))
      else if (labelSelector !== undefined) causes.push(...labelSelectorFaults(at(where, "labelSelector"), labelSelector))
      causes.push(...localFile(at(where, "path"), file))
      take(file, file)
    }
    const given = [secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate].filter((part) => part !== undefined).length
    if (given > 1) causes.push(forbiddenField(here, "may not specify more than 1 volume type"))
    if (given === 0) causes.push(required(here, "must specify a volume type"))
  }
  return causes
}
