/** What is wrong in an AuthorizationConfiguration. Source: apiserver pkg/apis/apiserver/validation/validation.go. */
import { statSync } from "node:fs"
import { isAbsolute } from "node:path"
import type { Cause } from "../../../../pkg/apimachinery/errors.ts"
import { parseDuration } from "../../../../pkg/apimachinery/scalars/time.ts"
import {
  duplicate,
  invalidValue,
  notSupported,
  required,
  tooMany,
} from "../../../../pkg/apimachinery/validation/field-errors.ts"
import { isDNS1123Subdomain } from "../../../../pkg/apimachinery/validation/names.ts"
import { pushAll } from "../../../../pkg/lists/push-all.ts"
import { compiledCondition } from "./conditions.ts"
import type { AuthorizationConfiguration, AuthorizerConfiguration, WebhookConfiguration } from "./fields.ts"

/** In upstream's order, for the message. */
const TYPES = ["ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"]
const MOST_CONDITIONS = 64
const LONGEST_TIMEOUT_MS = 30_000

export function authorizationFaults({ authorizers = [] }: AuthorizationConfiguration): readonly Cause[] {
  if (authorizers.length === 0) return [required("authorizers", "at least one authorization mode must be defined")]
  const causes: Cause[] = []
  const [types, names] = [new Set<string>(), new Set<string>()]
  for (const [i, authorizer] of authorizers.entries()) {
    const field = `authorizers[${i}]`
    const { type = "", name = "" } = authorizer
    if (type === "") causes.push(required(`${field}.type`))
    else if (!TYPES.includes(type)) causes.push(notSupported(`${field}.type`, type, TYPES))
    else if (types.has(type) && type !== "Webhook") causes.push(duplicate(`${field}.type`, type))
    else {
      types.add(type)
      pushAll(causes, nameFaults(name, `${field}.name`, names), webhookFaults(authorizer, field))
      names.add(name)
    }
  }
  return causes
}

function nameFaults(name: string, field: string, names: ReadonlySet<string>): readonly Cause[] {
  if (name === "") return [required(field)]
  if (names.has(name)) return [duplicate(field, name)]
  const problem = isDNS1123Subdomain(name)
  if (problem === undefined) return []
  const why = typeof problem === "string" ? problem : problem.join(", ")
  return [invalidValue(field, name, `authorizer name is invalid: ${why}`)]
}

function webhookFaults({ type, webhook }: AuthorizerConfiguration, field: string): readonly Cause[] {
  if (type !== "Webhook")
    return webhook === undefined
      ? []
      : [invalidValue(`${field}.webhook`, "non-null", "may only be specified when type=Webhook")]
  if (webhook === undefined) return [required(`${field}.webhook`, "required when type=Webhook")]
  const { subjectAccessReviewVersion: version = "", failurePolicy = "", matchConditions = [] } = webhook
  const conditionVersion = webhook.matchConditionSubjectAccessReviewVersion ?? ""
  const one = (name: string, value: string, choices: readonly string[]): readonly Cause[] =>
    value === ""
      ? [required(`${field}.${name}`)]
      : choices.includes(value)
        ? []
        : [notSupported(`${field}.${name}`, value, choices)]
  return [
    ...durationFaults(webhook, field),
    ...one("subjectAccessReviewVersion", version, ["v1", "v1beta1"]),
    ...(conditionVersion !== ""
      ? one("matchConditionSubjectAccessReviewVersion", conditionVersion, ["v1"])
      : matchConditions.length === 0
        ? []
        : [
            required(`${field}.matchConditionSubjectAccessReviewVersion`, "required if match conditions are specified"),
          ]),
    ...one("failurePolicy", failurePolicy, ["NoOpinion", "Deny"]),
    ...connectionFaults(webhook.connectionInfo, `${field}.connectionInfo`),
    ...conditionFaults(matchConditions, `${field}.matchConditions`),
  ]
}

function durationFaults(
  { timeout = "", authorizedTTL, unauthorizedTTL }: WebhookConfiguration,
  field: string,
): readonly Cause[] {
  const causes: Cause[] = []
  const timeoutMs = timeout === "" ? 0 : parseDuration(timeout)!
  if (timeoutMs === 0) causes.push(required(`${field}.timeout`))
  else if (timeoutMs > LONGEST_TIMEOUT_MS || timeoutMs < 0)
    causes.push(invalidValue(`${field}.timeout`, timeout, "must be > 0s and <= 30s"))
  for (const [name, ttl] of Object.entries({ authorizedTTL, unauthorizedTTL }))
    if (parseDuration(ttl)! < 0) causes.push(invalidValue(`${field}.${name}`, ttl, "must be > 0s"))
  return causes
}

function connectionFaults(
  { type = "", kubeConfigFile: file }: WebhookConfiguration["connectionInfo"],
  field: string,
): readonly Cause[] {
  const at = `${field}.kubeConfigFile`
  if (type === "") return [required(`${field}.type`)]
  if (type === "InClusterConfig")
    return file === undefined ? [] : [invalidValue(at, file, "can only be set when type=KubeConfigFile")]
  if (type !== "KubeConfigFile") return [notSupported(`${field}.type`, type, ["InClusterConfig", "KubeConfigFile"])]
  if (file === undefined || file === "") return [required(at)]
  if (!isAbsolute(file)) return [invalidValue(at, file, "must be an absolute path")]
  try {
    return statSync(file).isFile() ? [] : [invalidValue(at, file, "must be a regular file")]
  } catch (err) {
    return [invalidValue(at, file, `error loading file: ${(err as Error).message}`)]
  }
}

function conditionFaults(
  conditions: NonNullable<WebhookConfiguration["matchConditions"]>,
  field: string,
): readonly Cause[] {
  if (conditions.length > MOST_CONDITIONS) return [tooMany(field, conditions.length, MOST_CONDITIONS)]
  const causes: Cause[] = []
  const seen = new Set<string>()
  for (const [i, { expression = "" }] of conditions.entries()) {
    const at = `${field}[${i}].expression`
    if (expression.trim() === "") causes.push(required(at))
    else if (seen.has(expression)) causes.push(duplicate(at, expression))
    else {
      const outcome = compiledCondition(at, expression)
      if ("fault" in outcome) causes.push(outcome.fault)
    }
    seen.add(expression)
  }
  return causes
}
