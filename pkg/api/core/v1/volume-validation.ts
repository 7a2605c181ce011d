import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  duplicate,
  eachWithin,
  forbiddenField,
  invalidValue,
  NO_CAUSES,
  required,
  within,
} from "../../../apimachinery/field-errors.ts"
import { labelSelectorFaults } from "../../../apimachinery/labelselector.ts"
import { isDNS1123Subdomain } from "../../../apimachinery/names.ts"
import { quantity } from "../../../apimachinery/quantity.ts"
import { VOLUME_FIELDS, validateFieldRef, validateResourceFieldRef } from "./env-validation.ts"
import { driverName, fileMode, localFile, localPath, withoutBacksteps } from "./path-validation.ts"
import type {
  ClusterTrustBundleProjection,
  ConfigMapProjection,
  DownwardAPIVolumeFile,
  KeyToPath,
  ProjectedVolumeSource,
  SecretProjection,
} from "./volume-projected.ts"
import { Volume } from "./volume.ts"

/** Rules of volumes. Source: ValidateVolumes and validateVolumeSource in pkg/apis/core/validation/validation.go. Single fields are checked by their declarations. */

type SourceName = Exclude<keyof Volume, "name">
/** In the order in which upstream looks at them: the first one found is the one that is meant. */
const SOURCES: readonly SourceName[] = [
  "emptyDir",
  ...Object.keys(Volume.fields).filter((name): name is SourceName => name !== "name" && name !== "emptyDir"),
]

/** `podName` is absent for templates, whose pods have no name yet. */
export function validateVolumes(volumes: readonly Volume[], podName: string | undefined): readonly Cause[] {
  const seen = new Set<string>()
  const claims = podName === undefined ? NO_CLAIMS : claimsMadeFor(podName, volumes)
  const causes: Cause[] = []
  for (let i = 0; i < volumes.length; i++) {
    const volume = volumes[i]!
    within(causes, validateSource(volume, podName), i)
    if (seen.has(volume.name)) causes.push(duplicate(at("", i, "name"), volume.name))
    seen.add(volume.name)
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
  return causes
}
const NO_CLAIMS: ReadonlySet<string> = new Set()

function claimsMadeFor(podName: string, volumes: readonly Volume[]): ReadonlySet<string> {
  let made: Set<string> | undefined
  for (const { ephemeral, name } of volumes) if (ephemeral !== undefined) (made ??= new Set()).add(`${podName}-${name}`)
  return made ?? NO_CLAIMS
}

function validateSource(volume: Volume, podName: string | undefined): readonly Cause[] {
  const given: SourceName[] = []
  for (const name in volume)
    if (name !== "name" && volume[name as SourceName] !== undefined) given.push(name as SourceName)
  const [first] = given.length > 1 ? given.sort((a, b) => SOURCES.indexOf(a) - SOURCES.indexOf(b)) : given
  if (first === undefined) return [required("", "must specify a volume type")]
  const causes: Cause[] = []
  if (first === "ephemeral") within(causes, validateEphemeral(volume, podName), "")
  else within(causes, validateOne(volume, first), first)
  for (let i = 1; i < given.length; i++)
    causes.push(forbiddenField(given[i]!, "may not specify more than 1 volume type"))
  return causes
}

const claimNameProblems = (claim: string): readonly string[] => [isDNS1123Subdomain(claim) ?? []].flat()

/** The claim is named after the pod and the volume. */
function validateEphemeral({ name, ephemeral }: Volume, podName: string | undefined): readonly Cause[] {
  if (ephemeral!.volumeClaimTemplate === undefined) return [required("ephemeral.volumeClaimTemplate")]
  if (podName === undefined) return NO_CAUSES
  const claim = `${podName}-${name}`
  return claimNameProblems(claim).map((problem) =>
    invalidValue("name", name, `PVC name ${JSON.stringify(claim)}: ${problem}`),
  )
}

function validateOne(volume: Volume, source: Exclude<SourceName, "ephemeral">): readonly Cause[] {
  switch (source) {
    case "emptyDir": {
      const limit = volume.emptyDir!.sizeLimit
      return limit !== undefined && quantity(limit).nano < 0n
        ? [forbiddenField("sizeLimit", "SizeLimit field must be a valid resource quantity")]
        : NO_CAUSES
    }
    case "hostPath":
      return withoutBacksteps("path", volume.hostPath!.path)
    case "gitRepo":
      return localPath("directory", volume.gitRepo!.directory ?? "")
    case "secret": {
      const { secretName = "", defaultMode, items } = volume.secret!
      return [...named("secretName", secretName), ...fileMode("defaultMode", defaultMode), ...validateItems(items)]
    }
    case "configMap": {
      const { name, defaultMode, items } = volume.configMap!
      return [...named("name", name), ...fileMode("defaultMode", defaultMode), ...validateItems(items)]
    }
    case "downwardAPI": {
      const { defaultMode, items = [] } = volume.downwardAPI!
      // upstream names the source and not the item here
      return [...fileMode("defaultMode", defaultMode), ...items.flatMap((file) => validateDownwardFile(file))]
    }
    case "projected":
      return validateProjected(volume.projected!)
    case "nfs":
      return volume.nfs!.path.startsWith("/")
        ? NO_CAUSES
        : [invalidValue("path", volume.nfs!.path, "must be an absolute path")]
    case "fc": {
      const { targetWWNs = [], wwids = [], lun } = volume.fc!
      if (targetWWNs.length === 0 && wwids.length === 0)
        return [required("targetWWNs", "must specify either targetWWNs or wwids, but not both")]
      if (targetWWNs.length > 0 && wwids.length > 0)
        return [invalidValue("targetWWNs", targetWWNs, "targetWWNs and wwids can not be specified simultaneously")]
      return targetWWNs.length > 0 && lun === undefined
        ? [required("lun", "lun is required if targetWWNs is specified")]
        : NO_CAUSES
    }
    case "csi":
      return driverName("driver", volume.csi!.driver)
    case "image":
      return named("reference", volume.image!.reference ?? "")
    default:
      return NO_CAUSES
  }
}

const named = (path: string, name: string): readonly Cause[] => (name === "" ? [required(path)] : NO_CAUSES)

function validateItems(items: readonly KeyToPath[] | undefined): readonly Cause[] {
  const causes: Cause[] = []
  eachWithin(causes, items, "items", validateItem)
  return causes
}
const validateItem = ({ path, mode }: KeyToPath): readonly Cause[] => [
  ...localFile("path", path),
  ...fileMode("mode", mode),
]

function validateDownwardFile({
  path: file,
  fieldRef,
  resourceFieldRef,
  mode,
}: DownwardAPIVolumeFile): readonly Cause[] {
  const causes: Cause[] = [...localFile("path", file)]
  if (fieldRef !== undefined) {
    within(causes, validateFieldRef(fieldRef, VOLUME_FIELDS), "fieldRef")
    if (resourceFieldRef !== undefined)
      causes.push(invalidValue("", "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
  } else if (resourceFieldRef !== undefined)
    within(causes, validateResourceFieldRef(resourceFieldRef, true), "resourceFieldRef")
  else causes.push(required("", "one of fieldRef and resourceFieldRef is required"))
  within(causes, fileMode("mode", mode), "")
  return causes
}

function validateProjected({ sources = [], defaultMode }: ProjectedVolumeSource): readonly Cause[] {
  const causes: Cause[] = [...fileMode("defaultMode", defaultMode)]
  const taken = new Set<string>()
  const take = (file: string, owner: string) => {
    if (file === "") return
    if (taken.has(file)) causes.push(invalidValue("", owner, "conflicting duplicate paths"))
    taken.add(file)
  }
  for (let i = 0; i < sources.length; i++) {
    const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = sources[i]!
    if (secret !== undefined) {
      within(causes, validateKeys(secret), at("sources", i, "secret"))
      for (const { path } of secret.items ?? []) take(path, secret.name)
    }
    if (configMap !== undefined) {
      within(causes, validateKeys(configMap), at("sources", i, "configMap"))
      for (const { path } of configMap.items ?? []) take(path, configMap.name)
    }
    for (const file of downwardAPI?.items ?? []) {
      within(causes, validateDownwardFile(file), at("sources", i, "downwardAPI"))
      take(file.path, file.path)
    }
    if (serviceAccountToken !== undefined) {
      const { expirationSeconds, path: file } = serviceAccountToken
      const tooShort = expirationSeconds < 600
      if (tooShort || expirationSeconds > 2 ** 32)
        causes.push(
          invalidValue(
            at("sources", i, "serviceAccountToken", "expirationSeconds"),
            expirationSeconds,
            `may not specify a duration ${tooShort ? "less than 10 minutes" : "larger than 2^32 seconds"}`,
          ),
        )
      // upstream names the volume's source and not the token's here
      within(causes, localFile("path", file), "")
      take(file, file)
    }
    if (clusterTrustBundle !== undefined) {
      within(causes, validateTrustBundle(clusterTrustBundle), at("sources", i, "clusterTrustBundle"))
      take(clusterTrustBundle.path, clusterTrustBundle.path)
    }
    let given = 0
    for (const part of [secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate])
      if (part !== undefined) given++
    if (given > 1) causes.push(forbiddenField(at("sources", i), "may not specify more than 1 volume type"))
    if (given === 0) causes.push(required(at("sources", i), "must specify a volume type"))
  }
  return causes
}

const validateKeys = ({ name, items }: SecretProjection | ConfigMapProjection): readonly Cause[] => [
  ...named("name", name),
  ...validateItems(items),
]

function validateTrustBundle(bundle: ClusterTrustBundleProjection): readonly Cause[] {
  const { name, signerName, labelSelector, path: file } = bundle
  const causes: Cause[] = []
  if (name !== undefined && signerName !== undefined)
    causes.push(invalidValue("", bundle, "only one of name and signerName may be used"))
  else if (name === undefined && signerName === undefined)
    causes.push(required("", "either name or signerName must be specified"))
  else if (name !== undefined && labelSelector !== undefined)
    causes.push(invalidValue("labelSelector", labelSelector, "labelSelector must be unset if name is specified"))
  else if (labelSelector !== undefined) causes.push(...labelSelectorFaults("labelSelector", labelSelector))
  causes.push(...localFile("path", file))
  return causes
}
