import type { Cause } from "../../../../apimachinery/errors.ts"
import {
  at,
  forbiddenField,
  invalidValue,
  notSupported,
  required,
} from "../../../../apimachinery/validation/field-errors.ts"
import { isDNS1035Label, isDNS1123Subdomain } from "../../../../apimachinery/validation/names.ts"
import type { DefinitionView } from "./definition-view.ts"
import type { CustomResourceDefinitionSpec, WebhookClientConfig } from "../customresourcedefinitionspec.ts"
import { pushAll } from "../../../../lists/push-all.ts"

const UNDERSTOOD: readonly string[] = ["v1", "v1beta1"]
const PATH = "spec.conversion"

/** Returns the faults of the conversion between versions. */
export function conversionFaults(
  { conversion }: CustomResourceDefinitionSpec,
  old: DefinitionView | undefined,
): readonly Cause[] {
  if (conversion === undefined) return []
  const causes: Cause[] = []
  const { strategy, webhook } = conversion
  if (strategy === "") causes.push(required(at(PATH, "strategy")))
  else if (strategy !== "None" && strategy !== "Webhook")
    causes.push(notSupported(at(PATH, "strategy"), strategy, ["None", "Webhook"]))
  const versions = webhook?.conversionReviewVersions ?? []
  if (strategy !== "Webhook") {
    const detail = "should not be set when strategy is not set to Webhook"
    if (webhook?.clientConfig !== undefined) causes.push(forbiddenField(at(PATH, "webhookClientConfig"), detail))
    if (versions.length > 0) causes.push(forbiddenField(at(PATH, "conversionReviewVersions"), detail))
    return causes
  }
  if (webhook?.clientConfig === undefined)
    causes.push(required(at(PATH, "webhookClientConfig"), "required when strategy is set to Webhook"))
  else pushAll(causes, clientFaults(webhook.clientConfig))
  const before = old?.spec.conversion?.webhook?.conversionReviewVersions ?? []
  const mustBeUnderstood = before.length === 0 || before.some((version) => UNDERSTOOD.includes(version))
  return [...causes, ...reviewVersionFaults(versions, mustBeUnderstood)]
}

function reviewVersionFaults(versions: readonly string[], mustBeUnderstood: boolean): readonly Cause[] {
  const path = at(PATH, "conversionReviewVersions")
  if (versions.length === 0) return [required(path)]
  const causes: Cause[] = []
  for (const [i, version] of versions.entries()) {
    if (versions.indexOf(version) < i) {
      causes.push(invalidValue(at(path, i), version, "duplicate version"))
      continue
    }
    const problem = isDNS1035Label(version) ?? []
    for (const each of typeof problem === "string" ? [problem] : problem)
      causes.push(invalidValue(at(path, i), version, each))
  }
  if (mustBeUnderstood && !versions.some((version) => UNDERSTOOD.includes(version)))
    causes.push(invalidValue(path, versions, `must include at least one of ${UNDERSTOOD.join(", ")}`))
  return causes
}

function clientFaults({ url, service }: WebhookClientConfig): readonly Cause[] {
  const path = at(PATH, "webhookClientConfig")
  if ((url === undefined) === (service === undefined))
    return [required(path, "exactly one of url or service is required")]
  if (url !== undefined) return urlFaults(url, at(path, "url"))
  const causes: Cause[] = []
  // Upstream passes name and namespace in the wrong order; the errors are the same here.
  if (service!.namespace === "") causes.push(required(at(path, "service", "name")))
  if (service!.name === "") causes.push(required(at(path, "service", "namespace")))
  const { port, path: urlPath } = service!
  if (port < 1 || port > 65535)
    causes.push(
      invalidValue(at(path, "service", "port"), port, "port is not valid: must be between 1 and 65535, inclusive"),
    )
  return urlPath === undefined ? causes : [...causes, ...pathFaults(urlPath, at(path, "service", "path"))]
}

const FORM = "; desired format: https://host[/path]"

/** Source: apiserver pkg/util/webhook/validation.go. */
export function urlFaults(text: string, field: string): readonly Cause[] {
  const match =
    /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/(?:([^/?#@]*)@)?([^/?#]*))?[^?#]*(?:\?([^#]*))?(?:#(.*))?$/s.exec(text)
  const [, scheme = "", user, host = "", query = "", fragment = ""] = match ?? []
  const causes: Cause[] = []
  if (scheme !== "https")
    causes.push(invalidValue(field, scheme.toLowerCase(), `'https' is the only allowed URL scheme${FORM}`))
  if (host === "") causes.push(invalidValue(field, "", `host must be specified${FORM}`))
  if (user !== undefined) causes.push(invalidValue(field, user, "user information is not permitted in the URL"))
  if (fragment !== "") causes.push(invalidValue(field, fragment, "fragments are not permitted in the URL"))
  if (query !== "") causes.push(invalidValue(field, query, "query parameters are not permitted in the URL"))
  return causes
}

function pathFaults(path: string, field: string): readonly Cause[] {
  if (path === "/" || path === "") return []
  if (path === "//") return [invalidValue(field, path, "segment[0] may not be empty")]
  const causes: Cause[] = []
  if (!path.startsWith("/")) causes.push(invalidValue(field, path, "must start with a '/'"))
  const steps = path.slice(1).replace(/\/$/, "").split("/")
  for (const [i, step] of steps.entries()) {
    if (step === "") {
      causes.push(invalidValue(field, path, `segment[${i}] may not be empty`))
      continue
    }
    const problem = isDNS1123Subdomain(step) ?? []
    for (const each of typeof problem === "string" ? [problem] : problem)
      causes.push(invalidValue(field, path, `segment[${i}]: ${each}`))
  }
  return causes
}
