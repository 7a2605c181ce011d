import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  eachWithin,
  forbiddenField,
  invalidValue,
  invalidValues,
  NO_CAUSES,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import { VOLUME_FIELDS, validateFieldRef, validateResourceFieldRef } from "../container/env-validation.ts"
import { fileMode, localFile } from "../path-validation.ts"
import {
  podCertificateFaults,
  podCertificatePaths,
  trustBundleSourceFaults,
} from "./certificate-projection-validation.ts"
import type {
  ConfigMapProjection,
  DownwardAPIVolumeFile,
  KeyToPath,
  ProjectedVolumeSource,
  SecretProjection,
} from "./volume-projected.ts"
import { pushAll } from "../../../../lists/push-all.ts"

/**
 * Validates volumes whose files are made from other objects. Source: validateProjectionSources and its neighbours in
 * pkg/apis/core/validation/validation.go.
 */

export function validateItems(items: readonly KeyToPath[] | undefined): readonly Cause[] {
  const causes: Cause[] = []
  eachWithin(causes, items, "items", validateItem)
  return causes
}
const validateItem = ({ path, mode }: KeyToPath): readonly Cause[] => [
  ...localFile("path", path),
  ...fileMode("mode", mode),
]

export function validateDownwardFile({
  path: file,
  fieldRef,
  resourceFieldRef,
  mode,
}: DownwardAPIVolumeFile): readonly Cause[] {
  const causes: Cause[] = file === "" ? [required("path")] : [...localFile("path", file)]
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

export function validateProjected({ sources: given, defaultMode }: ProjectedVolumeSource): readonly Cause[] {
  const sources = given ?? []
  const causes: Cause[] = [...fileMode("defaultMode", defaultMode)]
  const taken = new Set<string>()
  const take = (file: string, owner: string) => {
    if (file === "") return
    if (taken.has(file)) causes.push(invalidValue("", owner, "conflicting duplicate paths"))
    taken.add(file)
  }
  for (let i = 0; i < sources.length; i++) {
    const { secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = sources[i]!
    for (const [name, keys] of [
      ["secret", secret],
      ["configMap", configMap],
    ] as const) {
      if (keys === undefined) continue
      within(causes, validateKeys(keys), at("sources", i, name))
      for (const { path } of keys.items ?? []) take(path, keys.name)
    }
    for (const file of downwardAPI?.items ?? []) {
      // upstream gives the path of the source instead of that of the item
      within(causes, validateDownwardFile(file), at("sources", i, "downwardAPI"))
      take(file.path, file.path)
    }
    if (serviceAccountToken !== undefined) {
      const { expirationSeconds, path: file } = serviceAccountToken
      const expiration = at("sources", i, "serviceAccountToken", "expirationSeconds")
      pushAll(causes, invalidValues(expiration, expirationSeconds, expirationProblem(expirationSeconds)))
      // upstream gives the path of the volume's source, and does not compare the token's path with others
      within(causes, file === "" ? [required("path")] : localFile("path", file), "")
    }
    if (clusterTrustBundle !== undefined) {
      within(causes, trustBundleSourceFaults(clusterTrustBundle), at("sources", i, "clusterTrustBundle"))
      take(clusterTrustBundle.path, clusterTrustBundle.path)
    }
    if (podCertificate !== undefined) {
      within(causes, podCertificateFaults(podCertificate), at("sources", i, "podCertificate"))
      for (const path of podCertificatePaths(podCertificate)) take(path, path)
    }
    let given = 0
    for (const part of [secret, configMap, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate])
      if (part !== undefined) given++
    if (given > 1) causes.push(forbiddenField(at("sources", i), "may not specify more than 1 volume type per source"))
  }
  return causes
}

const expirationProblem = (seconds: number): string | undefined =>
  seconds < 600
    ? "may not specify a duration less than 10 minutes"
    : seconds > 2 ** 32
      ? "may not specify a duration larger than 2^32 seconds"
      : undefined

const validateKeys = ({ name, items }: SecretProjection | ConfigMapProjection): readonly Cause[] => [
  ...(name === "" ? [required("name")] : NO_CAUSES),
  ...validateItems(items),
]
