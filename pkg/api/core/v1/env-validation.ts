import type { Cause } from "../../../apimachinery/errors.ts"
import { at, invalidValue, notSupported, required } from "../../../apimachinery/field-errors.ts"
import { isConfigMapKey, isDNS1123Subdomain, isEnvVarName, isQualifiedName } from "../../../apimachinery/names.ts"
import { quantity } from "../../../apimachinery/quantity.ts"
import type { EnvFromSource, EnvVar, ObjectFieldSelector, ResourceFieldSelector } from "./env.ts"
import { checked } from "./path-validation.ts"

/** Rules of environment variables. Source: ValidateEnv and ValidateEnvFrom in pkg/apis/core/validation/validation.go. */

const ENV_FIELDS = ["metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"]
export const VOLUME_FIELDS = ["metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"]
/** Fields that the downward API knows, wherever they may be used. Source: podshelper.ConvertDownwardAPIFieldLabel. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([...ENV_FIELDS, ...VOLUME_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase"])
const RESOURCES = ["limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"]
const BYTE_DIVISORS = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"]

export function validateEnv(env: readonly EnvVar[], path: string): readonly Cause[] {
  return env.flatMap((variable, i) => validateSource(variable, at(path, i, "valueFrom")))
}

function validateSource({ value = "", valueFrom }: EnvVar, path: string): readonly Cause[] {
  if (valueFrom === undefined) return []
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = valueFrom
  const causes: Cause[] = []
  if (fieldRef !== undefined) causes.push(...validateFieldRef(fieldRef, ENV_FIELDS, at(path, "fieldRef")))
  if (resourceFieldRef !== undefined) causes.push(...validateResourceFieldRef(resourceFieldRef, at(path, "resourceFieldRef"), false))
  for (const [name, ref] of [["configMapKeyRef", configMapKeyRef], ["secretKeyRef", secretKeyRef]] as const) {
    if (ref !== undefined) causes.push(...checked(at(path, name, "name"), ref.name, isDNS1123Subdomain), ...checked(at(path, name, "key"), ref.key, isConfigMapKey))
  }
  const sources = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter((source) => source !== undefined).length
  if (sources === 0) causes.push(invalidValue(path, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"))
  else if (value !== "") causes.push(invalidValue(path, "", "may not be specified when `value` is not empty"))
  else if (sources > 1) causes.push(invalidValue(path, "", "may not have more than one field specified at a time"))
  return causes
}

export function validateEnvFrom(sources: readonly EnvFromSource[], path: string): readonly Cause[] {
  return sources.flatMap(({ prefix = "", configMapRef, secretRef }, i) => {
    const here = at(path, i)
    const causes: Cause[] = prefix === "" ? [] : [...checked(at(here, "prefix"), prefix, isEnvVarName)]
    for (const [name, ref] of [["configMapRef", configMapRef], ["secretRef", secretRef]] as const) {
      if (ref !== undefined) causes.push(...(ref.name === "" ? [required(at(here, name, "name"))] : checked(at(here, name, "name"), ref.name, isDNS1123Subdomain)))
    }
    if (configMapRef === undefined && secretRef === undefined) causes.push(invalidValue(path, "", "must specify one of: `configMapRef` or `secretRef`"))
    else if (configMapRef !== undefined && secretRef !== undefined) causes.push(invalidValue(path, "", "may not have more than one field specified at a time"))
    return causes
  })
}

/** A field of the pod: `metadata.name`, or one label or annotation: `metadata.labels['app']`. */
export function validateFieldRef({ fieldPath }: ObjectFieldSelector, allowed: readonly string[], path: string): readonly Cause[] {
  const subscript = /^(.*)\['(.*)'\]$/s.exec(fieldPath)
  if (subscript !== null) {
    const [, field, key = ""] = subscript
    if (field === "metadata.labels") return checked(path, key, isQualifiedName)
    if (field === "metadata.annotations") return checked(path, key.toLowerCase(), isQualifiedName)
    return [invalidValue(path, field, "does not support subscript")]
  }
  if (!KNOWN_FIELDS.has(fieldPath)) return [invalidValue(at(path, "fieldPath"), fieldPath, `error converting fieldPath: field label not supported: ${fieldPath}`)]
  return allowed.includes(fieldPath) ? [] : [notSupported(at(path, "fieldPath"), fieldPath, allowed)]
}

/** A request or limit of a container; in a volume the container has to be named. */
export function validateResourceFieldRef({ containerName = "", resource, divisor }: ResourceFieldSelector, path: string, inVolume: boolean): readonly Cause[] {
  const causes: Cause[] = []
  const huge = /^(requests|limits)\.hugepages-/.test(resource)
  if (inVolume && containerName === "") causes.push(required(at(path, "containerName")))
  else if (!huge && !RESOURCES.includes(resource)) causes.push(notSupported(at(path, "resource"), resource, RESOURCES))
  if (quantity(divisor).nano === 0n) return causes
  const [allowed, listed, of] = resource.endsWith(".cpu") ? [["1m", "1"], "1m and 1", "cpu"]
    : [BYTE_DIVISORS, BYTE_DIVISORS.join(", "), resource.endsWith(".memory") ? "memory" : huge ? "hugepages" : "local ephemeral storage"]
  if ((huge || RESOURCES.includes(resource)) && !allowed.includes(divisor)) causes.push(invalidValue(at(path, "divisor"), resource, `only divisor's values ${listed} are supported with the ${of} resource`))
  return causes
}
