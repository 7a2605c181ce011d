import { isIP } from "node:net"
import type { Cause } from "../../../apimachinery/errors.ts"
import {
  at,
  invalidValue,
  invalidValues,
  notSupported,
  required,
} from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import {
  inRange,
  isDNS1123Label,
  isDNS1123Subdomain,
  isIPAddress,
  isPathSegmentName,
  isPortName,
  isWildcardDNS1123Subdomain,
  type Check,
} from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { TypedLocalObjectReference } from "../../core/v1/reference.ts"
import { pushAll } from "../../../lists/push-all.ts"

/**
 * Source: k8s.io/api networking/v1/types.go, pkg/registry/networking/ingress/strategy.go, ValidateIngress in
 * pkg/apis/networking/validation.
 */

/** The older annotation for the name of the class. */
const CLASS_ANNOTATION = "kubernetes.io/ingress.class"

export const ServiceBackendPort = message(
  "networking.v1.ServiceBackendPort",
  "A port of a Service, by name or by number.",
  {
    name: f.string(1, "Name of the port."),
    number: f.int32(2, "Number of the port."),
  },
  { mapType: "atomic" },
)
export interface ServiceBackendPort extends ObjectOf<typeof ServiceBackendPort> {}

export const IngressServiceBackend = message("networking.v1.IngressServiceBackend", "A Service that takes requests.", {
  name: f.string(1, "Name of the Service.").required().ownRule(),
  port: f.message(2, ServiceBackendPort, "Port of the Service.").always(),
})
export interface IngressServiceBackend extends ObjectOf<typeof IngressServiceBackend> {}

export const IngressBackend = message("networking.v1.IngressBackend", "A backend: a Service, or another object.", {
  service: f.message(4, IngressServiceBackend, "The Service."),
  resource: f.message(3, TypedLocalObjectReference, "Another object in the namespace.").ownRule(),
})
export interface IngressBackend extends ObjectOf<typeof IngressBackend> {}

export const HTTPIngressPath = message("networking.v1.HTTPIngressPath", "A path and the backend of its requests.", {
  path: f.string(1, "The path; starts with a slash."),
  pathType: f
    .string(3, "How the path is compared.")
    .required("pathType must be specified")
    .enum("Exact", "Prefix", "ImplementationSpecific")
    .pointer()
    .ownRule(),
  backend: f.message(2, IngressBackend, "The backend that gets the requests.").required(),
})
export interface HTTPIngressPath extends ObjectOf<typeof HTTPIngressPath> {}

export const HTTPIngressRuleValue = message("networking.v1.HTTPIngressRuleValue", "Paths of a host.", {
  paths: f.list(1, HTTPIngressPath, "The paths.").required().atomic(),
})
export interface HTTPIngressRuleValue extends ObjectOf<typeof HTTPIngressRuleValue> {}

export const IngressRule = message("networking.v1.IngressRule", "The rules for requests to a host.", {
  host: f.string(1, "Name of the host; `*.` at its start stands for one label; absent means every host."),
  http: f.message(1, HTTPIngressRuleValue, "Paths of the host.").embeddedIn(2),
})
export interface IngressRule extends ObjectOf<typeof IngressRule> {}

export const IngressTLS = message("networking.v1.IngressTLS", "A certificate for hosts.", {
  hosts: f.list(1, e.string, "The hosts.").atomic(),
  secretName: f.string(2, "Secret with the certificate."),
})
export interface IngressTLS extends ObjectOf<typeof IngressTLS> {}

export const IngressSpec = message("networking.v1.IngressSpec", "Rules that assign requests to backends.", {
  ingressClassName: f.string(4, "Class, and so the controller that is to act.").pointer(),
  defaultBackend: f.message(1, IngressBackend, "The backend for requests that no rule matches."),
  tls: f.list(2, IngressTLS, "Certificates.").atomic(),
  rules: f.list(3, IngressRule, "Hosts and their paths.").atomic(),
})
export interface IngressSpec extends ObjectOf<typeof IngressSpec> {}

export const IngressPortStatus = message("networking.v1.IngressPortStatus", "State of a port.", {
  port: f.int32(1, "Number of the port.").required(),
  protocol: f.string(2, "Transport protocol.").required().enum("TCP", "UDP", "SCTP").ownRule().printZero(),
  error: f.string(3, "Why the port cannot be used.").pointer(),
})
export interface IngressPortStatus extends ObjectOf<typeof IngressPortStatus> {}

export const IngressLoadBalancerIngress = message(
  "networking.v1.IngressLoadBalancerIngress",
  "Addresses at which the Ingress is served.",
  {
    ip: f.string(1, "Address."),
    hostname: f.string(2, "DNS name."),
    ports: f.list(4, IngressPortStatus, "State of each port.").atomic(),
  },
)
export interface IngressLoadBalancerIngress extends ObjectOf<typeof IngressLoadBalancerIngress> {}

export const IngressLoadBalancerStatus = message(
  "networking.v1.IngressLoadBalancerStatus",
  "Addresses at which the Ingress is served.",
  {
    ingress: f.list(1, IngressLoadBalancerIngress, "Each place.").atomic(),
  },
)
export interface IngressLoadBalancerStatus extends ObjectOf<typeof IngressLoadBalancerStatus> {}

export const IngressStatus = message("networking.v1.IngressStatus", "The present state of an Ingress.", {
  loadBalancer: f.message(1, IngressLoadBalancerStatus, "Addresses at which the Ingress is served.").always(),
})
export interface IngressStatus extends ObjectOf<typeof IngressStatus> {}

const fields = {
  spec: f.message(2, IngressSpec, "Rules that assign requests to backends.").always(),
  status: f.message(3, IngressStatus, "The present state.").always(),
}
export interface Ingress extends ObjectFor<typeof fields> {}

export const Ingress = defineResource(
  {
    group: "networking.k8s.io",
    version: "v1",
    kind: "Ingress",
    plural: "ingresses",
    shortNames: ["ing"],
    scope: "Namespaced",
    upstreamChecks: { wholeMetadata: 1 },
    doc: "Rules by which requests from outside reach Services.",
    generation: true,
    subresources: { status: { validateUpdate: ({ status }) => statusFaults(status) } },
    columns: [
      {
        name: "Class",
        type: "string",
        doc: "Name of the IngressClass.",
        value: ({ metadata, spec }) => spec.ingressClassName ?? metadata.annotations?.[CLASS_ANNOTATION],
      },
      { name: "Hosts", type: "string", doc: "Hosts of the rules.", value: ({ spec }) => hostsText(spec.rules ?? []) },
      {
        name: "Address",
        type: "string",
        doc: "Addresses at which the Ingress is served.",
        value: ({ status }) =>
          (status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip || hostname || "").join(","),
      },
      {
        name: "Ports",
        type: "string",
        doc: "Ports.",
        value: ({ spec }) => ((spec.tls ?? []).length > 0 ? "80, 443" : "80"),
      },
    ],
    warnings: ({ metadata: { annotations }, spec }, old) =>
      old === undefined && annotations?.[CLASS_ANNOTATION] !== undefined && spec.ingressClassName === undefined
        ? [`annotation "${CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead`]
        : [],
    validateSpec: ({ spec }) => specFaults(spec),
    validateCreate: (ingress) => classFaults(ingress),
  },
  fields,
)

function hostsText(rules: readonly IngressRule[]): string {
  const hosts = rules.flatMap(({ host }) => (host ? [host] : []))
  if (hosts.length === 0) return "*"
  return hosts.length > 3 ? `${hosts.slice(0, 3).join(",")} + ${hosts.length - 3} more...` : hosts.join(",")
}

function specFaults(spec: IngressSpec): readonly Cause[] {
  const { rules = [], tls = [], defaultBackend, ingressClassName } = spec
  const causes: Cause[] = []
  if (rules.length === 0 && defaultBackend === undefined)
    causes.push(invalidValue("spec", spec.rules, "either `defaultBackend` or `rules` must be specified"))
  if (defaultBackend !== undefined) pushAll(causes, backendFaults(defaultBackend, "spec.defaultBackend"))
  for (const [i, { host, http }] of rules.entries()) {
    const field = at("spec.rules", i, "host")
    if (host && isIP(host) !== 0) causes.push(invalidValue(field, host, "must be a DNS name, not an IP address"))
    if (host) pushAll(causes, hostFaults(field, host))
    for (const [j, path] of (http?.paths ?? []).entries())
      pushAll(causes, pathFaults(path, at("spec.rules", i, "http", "paths", j)))
  }
  for (const [i, { hosts = [], secretName = "" }] of tls.entries()) {
    for (const [j, host] of hosts.entries()) pushAll(causes, hostFaults(at("spec.tls", i, "hosts", j), host))
    if (secretName !== "")
      pushAll(causes, invalidValues(at("spec.tls", i, "secretName"), secretName, isDNS1123Subdomain(secretName)))
  }
  if (ingressClassName !== undefined)
    pushAll(causes, invalidValues("spec.ingressClassName", ingressClassName, isDNS1123Subdomain(ingressClassName)))
  return causes
}

/** A new Ingress with both the field and the annotation must have the same class in both. */
function classFaults({ metadata, spec: { ingressClassName } }: Ingress): readonly Cause[] {
  const older = metadata.annotations?.[CLASS_ANNOTATION]
  return older === undefined || ingressClassName === undefined || older === ingressClassName
    ? []
    : [invalidValue(`annotations.${CLASS_ANNOTATION}`, older, "must match `ingressClassName` when both are specified")]
}

const hostFaults = (field: string, host: string): readonly Cause[] =>
  invalidValues(field, host, host.includes("*") ? isWildcardDNS1123Subdomain(host) : isDNS1123Subdomain(host))

const PATH_TYPES: readonly string[] = ["Exact", "ImplementationSpecific", "Prefix"]

/** Sequences in a path that leave its folder or contain an encoded slash. */
const BAD_SEQUENCES = ["//", "/./", "/../", "%2f", "%2F"]
const BAD_ENDINGS = ["/..", "/."]

function pathFaults({ path = "", pathType, backend }: HTTPIngressPath, here: string): readonly Cause[] {
  if (pathType === undefined) return [required(at(here, "pathType"), "pathType must be specified")]
  const causes: Cause[] = []
  const field = at(here, "path")
  if (!PATH_TYPES.includes(pathType)) causes.push(notSupported(at(here, "pathType"), pathType, PATH_TYPES))
  else if (pathType !== "ImplementationSpecific") {
    if (!path.startsWith("/")) causes.push(invalidValue(field, path, "must be an absolute path"))
    for (const bad of BAD_SEQUENCES)
      if (path.includes(bad)) causes.push(invalidValue(field, path, `must not contain '${bad}'`))
    for (const bad of BAD_ENDINGS)
      if (path.endsWith(bad)) causes.push(invalidValue(field, path, `cannot end with '${bad}'`))
  } else if (path !== "" && !path.startsWith("/")) causes.push(invalidValue(field, path, "must be an absolute path"))
  return [...causes, ...backendFaults(backend, at(here, "backend"))]
}

function backendFaults({ service, resource }: IngressBackend, here: string): readonly Cause[] {
  if (service !== undefined && resource !== undefined)
    return [invalidValue(here, "", "cannot set both resource and service backends")]
  if (resource !== undefined) return referenceFaults(resource, at(here, "resource"))
  if (service === undefined) return [invalidValue(here, "", "resource or service backend is required")]
  const causes: Cause[] = [...givenFaults(at(here, "service", "name"), service.name, isDNS1123Label)]
  const { name = "", number = 0 } = service.port
  if (name !== "" && number !== 0) return [...causes, invalidValue(here, "", "cannot set both port name & port number")]
  if (name === "" && number === 0) return [...causes, required(here, "port name or number is required")]
  const port = at(here, "service", "port")
  return [
    ...causes,
    ...(name === ""
      ? invalidValues(at(port, "number"), number, inRange(number, 1, 65535))
      : invalidValues(at(port, "name"), name, isPortName(name))),
  ]
}

function referenceFaults(
  { apiGroup, kind = "", name = "" }: TypedLocalObjectReference,
  here: string,
): readonly Cause[] {
  return [
    ...(apiGroup === undefined || apiGroup === null
      ? []
      : invalidValues(at(here, "apiGroup"), apiGroup, isDNS1123Subdomain(apiGroup))),
    ...givenFaults(at(here, "kind"), kind, isPathSegmentName),
    ...givenFaults(at(here, "name"), name, isPathSegmentName),
  ]
}

const givenFaults = (field: string, value: string, check: Check): readonly Cause[] =>
  value === "" ? [required(field)] : invalidValues(field, value, check(value))

/** Source: ValidateIngressLoadBalancerStatus. */
const statusFaults = ({ loadBalancer }: Ingress["status"]): readonly Cause[] =>
  (loadBalancer.ingress ?? []).flatMap(({ ip = "", hostname = "" }, i) => {
    const here = at("status.loadBalancer.ingress", i)
    return [
      ...(ip === "" ? [] : invalidValues(at(here, "ip"), ip, isIPAddress(ip))),
      ...(hostname === "" ? [] : invalidValues(at(here, "hostname"), hostname, isDNS1123Subdomain(hostname))),
      ...(isIP(hostname) === 0
        ? []
        : [invalidValue(at(here, "hostname"), hostname, "must be a DNS name, not an IP address")]),
    ]
  })
