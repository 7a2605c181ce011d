import { fromLabelSelector } from "../../../../pkg/apimachinery/selectors/labels.ts"
import { keyFrom } from "../../../../pkg/client/informer.ts"
import type { Gateway } from "../../../../pkg/gateway-api/gateway.ts"
import { GATEWAY_GROUP } from "../../../../pkg/gateway-api/k3ts-class.ts"
import type { Alone } from "../../alone.ts"
import type { Certificate, Certificates } from "../../certificates.ts"
import { addressesOf, type Ground, type GatewayAddresses } from "./ground.ts"
import { fails, holds, type BareCondition } from "../status/conditions.ts"
import type { Listener, Objects, RouteKind } from "../watching/objects.ts"
import { fromPool } from "./pool.ts"

/** How connections to a listener are served: without TLS, decrypted here, or passed to a backend still encrypted. */
export type Mode = "http" | "https" | "passthrough"

/** A listener of a Gateway, with what is decided about it before its port is opened. */
export interface ListenerState {
  readonly gateway: Gateway
  readonly listener: Listener
  /** The hostname of the listener; empty when it accepts every host. */
  readonly hostname: string
  /** Undefined when the protocol or the TLS mode is not supported. */
  readonly mode: Mode | undefined
  readonly kinds: readonly RouteKind[]
  readonly certificate: Certificate | undefined
  /** The conditions Accepted, ResolvedRefs and Conflicted, in this order. */
  readonly conditions: readonly BareCondition[]
}

/** A Gateway with its listeners and addresses. */
export interface GatewayState {
  readonly gateway: Gateway
  readonly listeners: readonly ListenerState[]
  readonly addresses: GatewayAddresses
  /** The condition Accepted with status False when the whole Gateway is refused. */
  readonly refusal: BareCondition | undefined
}

const HTTP_KINDS = ["HTTPRoute", "GRPCRoute"] as const

/** Returns whether a listener has no error, so that it is served. */
export const isServed = ({ conditions, mode }: ListenerState): boolean =>
  mode !== undefined && conditions.every(({ type, status }) => status === (type === "Conflicted" ? "False" : "True"))

/** Checks all listeners. When two listeners conflict, the one of the older Gateway is served. */
export function gatewayStates(
  objects: Objects,
  certificates: Certificates,
  ground: Ground,
  alone: Pick<Alone, "run">,
): readonly GatewayState[] {
  const claims = new Claims(ground)
  const given = fromPool(objects.gateways, ground.pool)
  const stateOf = (gateway: Gateway): GatewayState => {
    const refusal = refusalOf(gateway)
    const addresses = addressesOf(gateway, given.get(keyFrom(gateway.metadata)), ground)
    const listeners = gateway.spec.listeners.map((listener): ListenerState => {
      const hostname = listener.hostname ?? ""
      const mode = modeOf(listener)
      const { kinds, invalid } = kindsOf(listener, mode)
      const { certificate, fault: secured } =
        mode === "https" ? certificateOf(gateway, listener, objects, certificates) : {}
      const accepted = acceptedOf(listener, mode, ground)
      const isClaimed = accepted.status === "True" && refusal === undefined
      const conflict = isClaimed
        ? claims.claim({ gateway, port: listener.port, hostname, mode: mode!, sites: addresses.sites })
        : undefined
      const kindsTold =
        invalid.length === 0
          ? undefined
          : fails(
              "ResolvedRefs",
              "InvalidRouteKinds",
              `no routes of these kinds can be attached: ${invalid.join(", ")}`,
            )
      const conditions = [
        conflict === undefined ? accepted : fails("Accepted", conflict.reason, conflict.message),
        kindsTold ?? secured ?? holds("ResolvedRefs", "ResolvedRefs"),
        conflict === undefined
          ? fails("Conflicted", "NoConflicts", "")
          : { ...conflict, type: "Conflicted", status: "True" as const },
      ]
      return { gateway, listener, hostname, mode, kinds, certificate, conditions }
    })
    return { gateway, listeners, addresses, refusal }
  }
  return objects.gateways.flatMap((gateway) => {
    const done = alone.run("Gateway", gateway, () => stateOf(gateway))
    return done === undefined ? [] : done.value
  })
}

/** Refuses fields that this controller does not implement: serving the Gateway without them would hide that. */
function refusalOf({ spec }: Gateway): BareCondition | undefined {
  if (spec.infrastructure?.parametersRef !== undefined)
    return fails(
      "Accepted",
      "InvalidParameters",
      "spec.infrastructure.parametersRef: this controller takes no parameters",
    )
  if (spec.tls?.frontend !== undefined)
    return fails("Accepted", "Invalid", "spec.tls.frontend: verification of client certificates is not supported")
  if (spec.tls?.backend !== undefined)
    return fails("Accepted", "Invalid", "spec.tls.backend: client certificates for backends are not supported")
  return undefined
}

function modeOf({ protocol, tls }: Listener): Mode | undefined {
  if (protocol === "HTTP") return "http"
  if (protocol === "HTTPS") return tls === undefined ? undefined : "https"
  return protocol === "TLS" && tls?.mode === "Passthrough" ? "passthrough" : undefined
}

function acceptedOf({ protocol, port }: Listener, mode: Mode | undefined, { reserved }: Ground): BareCondition {
  if (mode === undefined) {
    return protocol === "TLS"
      ? fails("Accepted", "UnsupportedValue", "tls.mode: only Passthrough is supported for protocol TLS")
      : protocol === "HTTPS"
        ? fails("Accepted", "UnsupportedValue", "tls: a listener of protocol HTTPS needs certificateRefs")
        : fails("Accepted", "UnsupportedProtocol", `protocol ${protocol} is not supported: use HTTP, HTTPS or TLS`)
  }
  const holder = reserved(port)
  return holder === undefined
    ? holds("Accepted", "Accepted")
    : fails("Accepted", "PortUnavailable", `port ${port} is used by ${holder}: choose another port`)
}

function kindsOf({ allowedRoutes: { kinds } }: Listener, mode: Mode | undefined) {
  const supported: readonly RouteKind[] = mode === undefined ? [] : mode === "passthrough" ? ["TLSRoute"] : HTTP_KINDS
  if (kinds === undefined || kinds.length === 0) return { kinds: supported, invalid: [] }
  const named = kinds.map(({ group, kind }) => ({
    text: group === GATEWAY_GROUP ? kind : `${group}/${kind}`,
    kind: group === GATEWAY_GROUP ? supported.find((one) => one === kind) : undefined,
  }))
  return {
    kinds: [...new Set(named.flatMap(({ kind }) => kind ?? []))],
    // The condition Accepted already says that the protocol or TLS mode is not supported.
    invalid: mode === undefined ? [] : named.filter(({ kind }) => kind === undefined).map(({ text }) => text),
  }
}

/** Returns the first certificate. All must be usable, but a listener of this proxy shows only one. */
function certificateOf(
  { metadata }: Gateway,
  { tls }: Listener,
  { grants, secret }: Objects,
  certificates: Certificates,
): { readonly certificate?: Certificate; readonly fault?: BareCondition } {
  const namespace = metadata.namespace ?? ""
  let found: Certificate | undefined
  for (const ref of tls?.certificateRefs ?? []) {
    const text = `${ref.kind} ${ref.namespace ?? namespace}/${ref.name}`
    const invalid = (why: string) => ({
      fault: fails("ResolvedRefs", "InvalidCertificateRef", `tls.certificateRefs: ${text} ${why}`),
    })
    if (ref.group !== "" || ref.kind !== "Secret") return invalid("is not a Secret of the core group")
    const to = { group: "", kind: "Secret", namespace: ref.namespace ?? namespace, name: ref.name }
    if (!grants.permits({ group: GATEWAY_GROUP, kind: "Gateway", namespace }, to))
      return {
        fault: fails("ResolvedRefs", "RefNotPermitted", `tls.certificateRefs: no ReferenceGrant permits ${text}`),
      }
    const object = secret(keyFrom(to))
    if (object === undefined) return invalid("does not exist, or is not of type kubernetes.io/tls")
    const certificate = certificates.of(object)
    if (typeof certificate === "string") return invalid(certificate)
    found ??= certificate
  }
  return found === undefined
    ? { fault: fails("ResolvedRefs", "InvalidCertificateRef", "tls.certificateRefs: no certificate is named") }
    : { certificate: found }
}

/** Returns whether a listener allows routes of a namespace. */
export function allowsNamespace({ gateway, listener }: ListenerState, namespace: string, objects: Objects): boolean {
  const { from, selector } = listener.allowedRoutes.namespaces
  if (from === "All") return true
  if (from === "Same") return namespace === gateway.metadata.namespace
  const labels = objects.namespaceLabels(namespace)
  return selector !== undefined && labels !== undefined && fromLabelSelector(selector).matches(labels)
}

interface Claim {
  readonly gateway: Gateway
  readonly port: number
  readonly hostname: string
  readonly mode: Mode
  readonly sites: readonly (string | undefined)[]
}

/** The ports and hostnames that earlier listeners have claimed. */
class Claims {
  /** Whether a port is served over TLS, and the owner who claimed it first. */
  readonly #ports: Map<number, { readonly isTls: boolean; readonly by: string }>
  /** How connections for a host are served, by `<address> <port> <hostname>`, and the Gateway that claimed it first. */
  readonly #hosts = new Map<string, { readonly mode: Mode; readonly by: string }>()

  constructor({ ingressPorts }: Ground) {
    this.#ports = new Map(
      [...ingressPorts].map(([port, protocol]) => [port, { isTls: protocol === "tls", by: "Ingresses" }]),
    )
  }

  claim({ gateway, port, hostname, mode, sites }: Claim): Pick<BareCondition, "reason" | "message"> | undefined {
    const by = `Gateway ${keyFrom(gateway.metadata)}`
    const isTls = mode !== "http"
    const known = this.#ports.get(port)
    if (known !== undefined && known.isTls !== isTls)
      return {
        reason: "ProtocolConflict",
        message: `port ${port} is served ${known.isTls ? "over TLS" : "without TLS"} for ${known.by}: choose another port`,
      }
    const keys = sites.map((address) => `${address ?? ""} ${port} ${hostname}`)
    for (const key of keys) {
      const other = this.#hosts.get(key)
      // Gateways may share an address, a port and a host, but all must serve its connections in the same mode.
      if (other !== undefined && other.mode !== mode)
        return {
          reason: "HostnameConflict",
          message: `port ${port} has another TLS mode for this hostname in ${other.by}: choose another hostname or port`,
        }
    }
    if (known === undefined) this.#ports.set(port, { isTls, by })
    for (const key of keys) if (!this.#hosts.has(key)) this.#hosts.set(key, { mode, by })
    return undefined
  }
}
