import type { Cause } from "../../../apimachinery/errors.ts"
import { at, invalidValue, required } from "../../../apimachinery/validation/field-errors.ts"
import { f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { isDNS1123Subdomain, isPortNumber, oneProblem } from "../../../apimachinery/validation/names.ts"

/**
 * The address of a webhook. Source: k8s.io/api admissionregistration/v1/types.go, apiserver
 * pkg/util/webhook/validation.go.
 */

export const ServiceReference = message("admissionregistration.v1.ServiceReference", "A Service with a webhook.", {
  namespace: f.string(1, "Namespace of the Service.").required().ownRule(),
  name: f.string(2, "Name of the Service.").required().ownRule(),
  path: f.string(3, "Path of the webhook's URL.").pointer(),
  port: f.int32(4, "Port of the Service, on which it speaks TLS.").default(443).pointer(),
})
export interface ServiceReference extends ObjectOf<typeof ServiceReference> {}

export const WebhookClientConfig = message(
  "admissionregistration.v1.WebhookClientConfig",
  "Where a webhook is, and how its certificate is checked.",
  {
    service: f.message(1, ServiceReference, "The Service with the webhook; either this or url."),
    caBundle: f.bytes(2, "PEM certificates of those who may sign the webhook's; the system's unless given."),
    url: f.string(3, "Where the webhook is, as https://host[:port]/path.").pointer(),
  },
)
export interface WebhookClientConfig extends ObjectOf<typeof WebhookClientConfig> {}

/** Returns the faults of a webhook's address. */
export function clientConfigFaults(path: string, { url, service }: WebhookClientConfig): readonly Cause[] {
  if ((url === undefined) === (service === undefined))
    return [required(path, "exactly one of url or service is required")]
  if (url !== undefined) return webhookUrlFaults(at(path, "url"), url)
  return webhookServiceFaults(at(path, "service"), service!)
}

const FORM = "; desired format: https://host[/path]"

/** Returns the faults of the URL of a webhook. */
export function webhookUrlFaults(path: string, url: string): readonly Cause[] {
  const parts = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?$/.exec(url)
  if (parts === null || /[\x00-\x1f\x7f]/.test(url))
    return [
      required(
        path,
        `url must be a valid URL: parse ${JSON.stringify(url)}: net/url: invalid control character in URL${FORM}`,
      ),
    ]
  const [, scheme = "", authority = "", , query = "", fragment = ""] = parts
  const at = authority.lastIndexOf("@")
  const host = authority.slice(at + 1)
  return [
    ...(scheme.toLowerCase() === "https"
      ? []
      : [invalidValue(path, scheme.toLowerCase(), `'https' is the only allowed URL scheme${FORM}`)]),
    ...(host === "" ? [invalidValue(path, host, `host must be specified${FORM}`)] : []),
    ...(at >= 0 ? [invalidValue(path, authority.slice(0, at), "user information is not permitted in the URL")] : []),
    ...(fragment.length > 1 ? [invalidValue(path, fragment.slice(1), "fragments are not permitted in the URL")] : []),
    ...(query.length > 1 ? [invalidValue(path, query.slice(1), "query parameters are not permitted in the URL")] : []),
  ]
}

/** Returns the faults of the Service of a webhook. */
export function webhookServiceFaults(
  path: string,
  { name, namespace, path: urlPath, port }: ServiceReference,
): readonly Cause[] {
  // Upstream passes namespace and name to its check in the wrong order, so the fields in its errors are swapped.
  const causes: Cause[] = []
  if (namespace === "") causes.push(required(at(path, "name")))
  if (name === "") causes.push(required(at(path, "namespace")))
  const problem = isPortNumber(port)
  if (problem !== undefined) causes.push(invalidValue(at(path, "port"), port, `port is not valid: ${problem}`))
  return urlPath === undefined ? causes : [...causes, ...pathFaults(at(path, "path"), urlPath)]
}

function pathFaults(path: string, urlPath: string): readonly Cause[] {
  if (urlPath === "" || urlPath === "/") return []
  if (urlPath === "//") return [invalidValue(path, urlPath, "segment[0] may not be empty")]
  const causes: Cause[] = []
  if (!urlPath.startsWith("/")) causes.push(invalidValue(path, urlPath, "must start with a '/'"))
  const inner = urlPath.slice(1)
  for (const [i, segment] of (inner.endsWith("/") ? inner.slice(0, -1) : inner).split("/").entries()) {
    if (segment === "") causes.push(invalidValue(path, urlPath, `segment[${i}] may not be empty`))
    else {
      const problem = isDNS1123Subdomain(segment)
      if (problem !== undefined) causes.push(invalidValue(path, urlPath, `segment[${i}]: ${oneProblem(problem, ", ")}`))
    }
  }
  return causes
}
