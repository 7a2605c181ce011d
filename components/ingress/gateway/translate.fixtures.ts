/**
 * Gateways and routes as plain objects, and where requests to them are routed, without sockets and without a cluster.
 */
import type { Secret } from "../../../pkg/api/core/v1/secret/secret.ts"
import type { Service } from "../../../pkg/api/core/v1/service/service.ts"
import type { Labels } from "../../../pkg/apimachinery/selectors/labels.ts"
import type { JsonSchema } from "../../../pkg/apimachinery/structural/json-schema.ts"
import { withDefaults } from "../../../pkg/apimachinery/structural/coerce.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import { VirtualClock } from "../../../pkg/clock/virtual.ts"
import { DEFINITIONS } from "../../../pkg/gateway-api/definitions.ts"
import type { Gateway } from "../../../pkg/gateway-api/gateway.ts"
import type { ReferenceGrant } from "../../../pkg/gateway-api/referencegrant.ts"
import { createCa, issueCertificate } from "../../../pkg/pki/certificate.ts"
import type { Alone } from "../alone.ts"
import { Certificates } from "../certificates.ts"
import { fieldOf } from "../messages/fields.ts"
import type { IncomingRequest } from "../messages/messages.ts"
import { locationOf } from "../routing/changes.ts"
import { hostOf } from "../messages/head.ts"
import { SiteRouter } from "../routing/site.ts"
import { isRefusal, type Target } from "../routing/target.ts"
import type { PortsState } from "../source.ts"
import { Grants } from "./listeners/grants.ts"
import type { AnyRoute } from "./watching/objects.ts"
import { gatewayReports, routeReports } from "./status/reports.ts"
import { translate } from "./translate.ts"

const NODE_IP = "192.0.2.1"
export const POOL = ["192.0.2.11", "192.0.2.12"]
const VALIDITY = { notBefore: new Date(0), notAfter: new Date(4e12) }

interface DefinitionSpec {
  readonly names: { readonly kind: string }
  readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: JsonSchema } }[]
}

/** Returns the spec with the defaults that the API server fills in. */
function defaulted(kind: string, spec: object): object {
  const definitions = DEFINITIONS.map((each) => each.spec as DefinitionSpec)
  const [version] = definitions.find(({ names }) => names.kind === kind)!.versions
  return (withDefaults(version!.schema.openAPIV3Schema, { spec }) as { readonly spec: object }).spec
}

/**
 * Each object is one second younger than the one before. The namespace is `infra` unless `name` is
 * `<namespace>/<name>`.
 */
let age = 0
function object(kind: string, name: string, spec: object) {
  const slash = name.indexOf("/")
  const creationTimestamp = new Date(++age * 1000).toISOString()
  const metadata = { namespace: slash < 0 ? "infra" : name.slice(0, slash), name: name.slice(slash + 1) }
  return { metadata: { ...metadata, generation: 1, creationTimestamp }, spec: defaulted(kind, spec) }
}

export const gateway = (name: string, listeners: readonly object[], more: object = {}) =>
  object("Gateway", name, { gatewayClassName: "k3ts", listeners, ...more }) as unknown as Gateway
export const http = (name: string, parents: readonly object[], spec: object) =>
  ({ kind: "HTTPRoute", route: object("HTTPRoute", name, { parentRefs: parents, ...spec }) }) as unknown as AnyRoute
export const grpc = (name: string, parents: readonly object[], spec: object) =>
  ({ kind: "GRPCRoute", route: object("GRPCRoute", name, { parentRefs: parents, ...spec }) }) as unknown as AnyRoute
export const tls = (name: string, parents: readonly object[], spec: object) =>
  ({ kind: "TLSRoute", route: object("TLSRoute", name, { parentRefs: parents, ...spec }) }) as unknown as AnyRoute
export const grant = (namespace: string, from: readonly object[], to: readonly object[]) =>
  object("ReferenceGrant", `${namespace}/grant`, { from, to }) as unknown as ReferenceGrant

/** Returns a listener for HTTP at port 80. Routes of the Gateway's namespace may attach to it. */
export const listener = (more: object = {}) => ({ name: "http", port: 80, protocol: "HTTP", ...more })
/** Returns a backendRef to port 80 of a Service. */
export const to = (name: string, more: object = {}) => ({ name, port: 80, ...more })

export interface World {
  readonly gateways: readonly Gateway[]
  readonly routes?: readonly AnyRoute[]
  readonly grants?: readonly ReferenceGrant[]
  /** Whether each Gateway gets an address of its own. */
  readonly ownAddresses?: boolean
  readonly alone?: Pick<Alone, "run">
}

const NAMESPACES: Readonly<Record<string, Labels>> = {
  infra: { purpose: "infra" },
  backend: { purpose: "backend" },
  other: {},
}
const SERVICES = ["infra/one", "infra/two", "infra/three", "backend/one", "other/one"]

export interface Asked {
  readonly gateway?: string
  readonly port?: number
  readonly host?: string
  readonly path?: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** The server name that the client sends with TLS. */
  readonly serverName?: string
}

/** Translates the objects, and answers questions about routing and conditions. */
export function worldOf({ gateways, routes = [], grants = [], ownAddresses = false, alone }: World) {
  const certificates = new Certificates(new VirtualClock(0))
  const translation = translate(
    {
      gateways,
      routes,
      grants: new Grants(grants),
      namespaceLabels: (name) => NAMESPACES[name],
      service: (key) => (SERVICES.includes(key) ? SERVICE : undefined),
      secret: (key) => SECRETS[key],
    },
    certificates,
    {
      nodeIps: [NODE_IP],
      pool: ownAddresses ? POOL : [],
      isOwnAddress: () => false,
      reserved: (port) => (port === 22 ? "SSH" : undefined),
      ingressPorts: new Map(),
    },
    alone,
  )
  const ports: PortsState = { errors: new Map(), faults: [], portOf: (_protocol, port) => port }
  const gatewaysTold = gatewayReports(translation, ports)
  const routesTold = routeReports(translation.routes)
  const addressOf = (name: string | undefined): string =>
    (name === undefined ? undefined : gatewaysTold.get(`infra/${name}`)?.report.addresses[0]) ?? NODE_IP
  return {
    /** Returns the Service that gets a request, the status of an answer by the proxy, or the location of a redirect. */
    ask(asked: Asked): string | number {
      const { request, path } = requestOf(asked, addressOf(asked.gateway))
      const protocol = asked.serverName === undefined ? "http" : "tls"
      const sites = translation.sites.filter((site) => site.port === request.origin.port && site.protocol === protocol)
      const found = new SiteRouter(sites).find(request, path)
      return isRefusal(found) ? found.status : outcomeOf(found, request, path)
    },
    target(asked: Asked): Target {
      const { request, path } = requestOf(asked, addressOf(asked.gateway))
      const found = new SiteRouter(translation.sites).find(request, path)
      if (isRefusal(found)) throw new Error(`The request is answered with ${found.status}`)
      return found
    },
    /**
     * Returns the Service to which a TLS connection is passed; undefined when the connection is closed or decrypted.
     */
    connect(serverName: string, port = 443): string | undefined {
      const found = new SiteRouter(translation.sites.filter((site) => site.port === port)).findName(NODE_IP, serverName)
      const to = found?.passthrough?.backends[0]?.to
      return to === undefined ? undefined : to.service
    },
    /** Returns whether a TLS connection is decrypted with the certificate of a listener. */
    isDecrypted: (serverName: string, port = 443): boolean =>
      new SiteRouter(translation.sites.filter((site) => site.port === port)).findName(NODE_IP, serverName)?.context !==
      undefined,
    /** Returns the conditions of a Gateway, as `<type> <status> <reason>`. */
    gateway: (name: string) => texts(gatewaysTold.get(`infra/${name}`)!.report.conditions),
    listeners: (name: string) =>
      gatewaysTold.get(`infra/${name}`)!.report.listeners.map(({ kinds, attachedRoutes, conditions }) => ({
        kinds,
        attachedRoutes,
        conditions: texts(conditions),
      })),
    /** Returns the conditions of a route at each of its parents. */
    route: (any: AnyRoute) =>
      (routesTold.get(keyFrom(any.route.metadata))?.report ?? []).map(({ conditions }) => texts(conditions)),
    /** Returns the message of a route's condition Accepted at its first parent. */
    message: (any: AnyRoute) => routesTold.get(keyFrom(any.route.metadata))!.report[0]!.conditions[0]!.message,
  }
}

const texts = (conditions: readonly { type: string; status: string; reason: string }[]) =>
  conditions.map(({ type, status, reason }) => `${type} ${status} ${reason}`)

function requestOf(
  { host = "any.example", path: target = "/", method = "GET", headers = {}, port = 80, serverName }: Asked,
  address: string,
) {
  const origin = { client: "", isSecure: serverName !== undefined, port, listener: port, address, serverName }
  const fields = Object.entries(headers).map(([name, value]) => fieldOf(name, value))
  const request = { method, target, authority: host, host: hostOf(host), fields, origin } as unknown as IncomingRequest
  return { request, path: target.replace(/\?.*/, "") }
}

function outcomeOf({ redirect, backends }: Target, request: IncomingRequest, path: string): string | number {
  if (redirect !== undefined) return `${redirect.status} ${locationOf(redirect, request, path)}`
  const chosen = backends.filter(({ weight }) => weight > 0)
  const texts = chosen.map(({ to }) => (isRefusal(to) ? to.status : to.service))
  return texts.length === 0 ? 500 : texts.length === 1 ? texts[0]! : texts.join(" or ")
}

const SERVICE = { spec: { ports: [{ name: "http", port: 80, protocol: "TCP" }] } } as unknown as Service

const ca = createCa({ commonName: "test", validity: VALIDITY })
const pair = issueCertificate(ca, {
  subject: { commonName: "test", organizations: [] },
  usages: ["server"],
  dnsNames: ["example.com"],
  validity: VALIDITY,
})
const secretOf = (cert: string, key: string) =>
  ({
    data: { "tls.crt": Buffer.from(cert).toString("base64"), "tls.key": Buffer.from(key).toString("base64") },
  }) as unknown as Secret
const SECRETS: Readonly<Record<string, Secret>> = {
  "infra/good": secretOf(pair.certPem, pair.keyPem),
  "infra/broken": secretOf("no certificate", pair.keyPem),
  "other/good": secretOf(pair.certPem, pair.keyPem),
}
