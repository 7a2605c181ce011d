import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  eachWithin,
  invalidValue,
  NO_CAUSES,
  notSupported,
  required,
  within,
} from "../../../../apimachinery/validation/field-errors.ts"
import {
  isConfigMapKey,
  isDNS1123Subdomain,
  isEnvVarName,
  isQualifiedName,
} from "../../../../apimachinery/validation/names.ts"
import { quantity } from "../../../../apimachinery/scalars/quantity.ts"
import type {
  ConfigMapKeySelector,
  EnvFromSource,
  EnvVar,
  ObjectFieldSelector,
  ResourceFieldSelector,
  SecretKeySelector,
} from "./env.ts"
import { checked, withoutBacksteps } from "../path-validation.ts"

/**
 * Validates environment variables. Source: ValidateEnv and ValidateEnvFrom in pkg/apis/core/validation/validation.go.
 */

const ENV_FIELDS = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
]
export const VOLUME_FIELDS = [
  "metadata.annotations",
  "metadata.labels",
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
]
/**
 * All fields that the downward API supports; not every one is allowed in each place. Source:
 * podshelper.ConvertDownwardAPIFieldLabel.
 */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...ENV_FIELDS,
  ...VOLUME_FIELDS,
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
])
const RESOURCES = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
]
const BYTE_DIVISORS = ["1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei"]

export function validateEnv(env: readonly EnvVar[]): readonly Cause[] {
  const causes: Cause[] = []
  eachWithin(causes, env, "", validateVariable)
  return causes
}

function validateVariable({ value = "", valueFrom }: EnvVar): readonly Cause[] {
  if (valueFrom === undefined) return NO_CAUSES
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = valueFrom
  const causes: Cause[] = []
  if (fieldRef !== undefined) within(causes, validateFieldRef(fieldRef, ENV_FIELDS), "valueFrom.fieldRef")
  if (resourceFieldRef !== undefined)
    within(causes, validateResourceFieldRef(resourceFieldRef, false), "valueFrom.resourceFieldRef")
  if (configMapKeyRef !== undefined) within(causes, validateKeyRef(configMapKeyRef), "valueFrom.configMapKeyRef")
  if (secretKeyRef !== undefined) within(causes, validateKeyRef(secretKeyRef), "valueFrom.secretKeyRef")
  if (fileKeyRef !== undefined) within(causes, withoutBacksteps("path", fileKeyRef.path), "valueFrom.fileKeyRef")
  let sources = 0
  for (const source of [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef])
    if (source !== undefined) sources++
  if (sources === 0)
    causes.push(
      invalidValue(
        "valueFrom",
        "",
        "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`",
      ),
    )
  else if (value !== "") causes.push(invalidValue("valueFrom", "", "may not be specified when `value` is not empty"))
  else if (sources > 1)
    causes.push(invalidValue("valueFrom", "", "may not have more than one field specified at a time"))
  return causes
}

const validateKeyRef = ({ name, key }: ConfigMapKeySelector | SecretKeySelector): readonly Cause[] => [
  ...checked("name", name, isDNS1123Subdomain),
  ...checked("key", key, isConfigMapKey),
]

export function validateEnvFrom(sources: readonly EnvFromSource[]): readonly Cause[] {
  const causes: Cause[] = []
  for (const [i, { prefix = "", configMapRef, secretRef }] of sources.entries()) {
    if (prefix !== "") within(causes, checked("prefix", prefix, isEnvVarName), i)
    if (configMapRef !== undefined) within(causes, validateName(configMapRef.name), at("", i, "configMapRef"))
    if (secretRef !== undefined) within(causes, validateName(secretRef.name), at("", i, "secretRef"))
    // Upstream gives the path of the list and not of the item here.
    if (configMapRef === undefined && secretRef === undefined)
      causes.push(invalidValue("", "", "must specify one of: `configMapRef` or `secretRef`"))
    else if (configMapRef !== undefined && secretRef !== undefined)
      causes.push(invalidValue("", "", "may not have more than one field specified at a time"))
  }
  return causes
}
const validateName = (name: string): readonly Cause[] =>
  name === "" ? [required("name")] : checked("name", name, isDNS1123Subdomain)

/**
 * Validates a reference to a field of the pod: `metadata.name`, or one label or annotation: `metadata.labels['app']`.
 */
export function validateFieldRef(
  { apiVersion, fieldPath }: ObjectFieldSelector,
  allowed: readonly string[],
): readonly Cause[] {
  if (fieldPath === "") return [required("fieldPath")]
  if (apiVersion !== "v1")
    return [invalidValue("fieldPath", fieldPath, `${NOT_CONVERTED}: unsupported pod version: ${apiVersion}`)]
  if (allowed.includes(fieldPath)) return NO_CAUSES
  const subscript = fieldPath.indexOf("['")
  if (subscript > 0 && fieldPath.endsWith("']") && subscript + 4 <= fieldPath.length) {
    const field = fieldPath.slice(0, subscript)
    const key = fieldPath.slice(subscript + 2, -2)
    if (field === "metadata.labels") return checked("", key, isQualifiedName)
    if (field === "metadata.annotations") return checked("", key.toLowerCase(), isQualifiedName)
    return [
      invalidValue("fieldPath", fieldPath, `${NOT_CONVERTED}: field label does not support subscript: ${fieldPath}`),
    ]
  }
  if (!KNOWN_FIELDS.has(fieldPath))
    return [invalidValue("fieldPath", fieldPath, `${NOT_CONVERTED}: field label not supported: ${fieldPath}`)]
  return [notSupported("fieldPath", fieldPath, [...allowed].sort())]
}
const NOT_CONVERTED = "error converting fieldPath"

/** Validates a reference to a request or limit; in a volume it must name the container. */
export function validateResourceFieldRef(
  { containerName = "", resource, divisor }: ResourceFieldSelector,
  inVolume: boolean,
): readonly Cause[] {
  const causes: Cause[] = []
  const huge = /^(requests|limits)\.hugepages-/.test(resource)
  if (inVolume && containerName === "") causes.push(required("containerName"))
  else if (resource === "") causes.push(required("resource"))
  else if (!huge && !RESOURCES.includes(resource)) causes.push(notSupported("resource", resource, RESOURCES))
  if (quantity(divisor).nano === 0n) return causes
  const [allowed, listed, of] = resource.endsWith(".cpu")
    ? [["1m", "1"], "1m and 1", "cpu"]
    : [
        BYTE_DIVISORS,
        BYTE_DIVISORS.join(", "),
        resource.endsWith(".memory") ? "memory" : huge ? "hugepages" : "local ephemeral storage",
      ]
  if ((huge || RESOURCES.includes(resource)) && !allowed.includes(divisor))
    causes.push(
      invalidValue("divisor", resource, `only divisor's values ${listed} are supported with the ${of} resource`),
    )
  return causes
}
