import { rangeWarnings } from "../../../apimachinery/addresses/address-warnings.ts"
import type { Cause } from "../../../apimachinery/errors.ts"
import { covers, parseNetwork } from "../../../apimachinery/addresses/cidr.ts"
import {
  at,
  forbiddenField,
  invalidValue,
  invalidValues,
  notSupported,
  required,
} from "../../../apimachinery/validation/field-errors.ts"
import { e, f, message, type ObjectOf } from "../../../apimachinery/fields.ts"
import { labelSelectorFaults } from "../../../apimachinery/selectors/labelselector.ts"
import { LabelSelector } from "../../../apimachinery/meta.ts"
import { inRange, isCIDR, isPortName } from "../../../apimachinery/validation/names.ts"
import { defineResource, type ObjectFor } from "../../../apimachinery/resource.ts"
import { pushAll } from "../../../lists/push-all.ts"

/**
 * Source: k8s.io/api networking/v1/types.go, SetDefaults_NetworkPolicy, ValidateNetworkPolicy in
 * pkg/apis/networking/validation.
 */

const DIRECTIONS = ["Ingress", "Egress"] as const

export const IPBlock = message("networking.v1.IPBlock", "A range of addresses.", {
  cidr: f.string(1, "The range.").required(),
  except: f.list(2, e.string, "Ranges inside the CIDR that are excluded.").atomic(),
})
export interface IPBlock extends ObjectOf<typeof IPBlock> {}

export const NetworkPolicyPeer = message("networking.v1.NetworkPolicyPeer", "Pods or addresses.", {
  podSelector: f.message(1, LabelSelector, "Labels of the pods."),
  namespaceSelector: f.message(2, LabelSelector, "Labels of the pods' namespaces; the policy's own when absent."),
  ipBlock: f.message(3, IPBlock, "Addresses; then neither selector may be given."),
})
export interface NetworkPolicyPeer extends ObjectOf<typeof NetworkPolicyPeer> {}

export const NetworkPolicyPort = message("networking.v1.NetworkPolicyPort", "Ports.", {
  protocol: f.string(1, "Transport protocol.").default("TCP").enum("TCP", "UDP", "SCTP").inOrder().pointer(),
  port: f.intOrString(2, "Number or name of the port; absent means all."),
  endPort: f.int32(3, "Last port of a range that starts with port.").pointer(),
})
export interface NetworkPolicyPort extends ObjectOf<typeof NetworkPolicyPort> {}

export const NetworkPolicyIngressRule = message("networking.v1.NetworkPolicyIngressRule", "Traffic that may come in.", {
  ports: f.list(1, NetworkPolicyPort, "Ports of the pods; absent means all.").atomic(),
  from: f.list(2, NetworkPolicyPeer, "Permitted sources; absent means all sources.").atomic(),
})
export interface NetworkPolicyIngressRule extends ObjectOf<typeof NetworkPolicyIngressRule> {}

export const NetworkPolicyEgressRule = message("networking.v1.NetworkPolicyEgressRule", "Traffic that may go out.", {
  ports: f.list(1, NetworkPolicyPort, "Permitted destination ports; absent means all ports.").atomic(),
  to: f.list(2, NetworkPolicyPeer, "Permitted destinations; absent means all destinations.").atomic(),
})
export interface NetworkPolicyEgressRule extends ObjectOf<typeof NetworkPolicyEgressRule> {}

export const NetworkPolicySpec = message(
  "networking.v1.NetworkPolicySpec",
  "Which traffic of which pods is allowed.",
  {
    podSelector: f.message(1, LabelSelector, "Labels of the pods; empty means all in the namespace.").always(),
    ingress: f.list(2, NetworkPolicyIngressRule, "Traffic that may come in.").atomic(),
    egress: f.list(3, NetworkPolicyEgressRule, "Traffic that may go out.").atomic(),
    policyTypes: f
      .list(4, e.string, "Which directions are restricted.")
      .atomic()
      .enum(...DIRECTIONS)
      .ownRule(),
  },
  { defaults: (spec: never): object => withPolicyTypes(spec) },
)
export interface NetworkPolicySpec extends ObjectOf<typeof NetworkPolicySpec> {}

const fields = {
  spec: f.message(2, NetworkPolicySpec, "Which traffic is allowed.").always(),
}
export interface NetworkPolicy extends ObjectFor<typeof fields> {}

export const NetworkPolicy = defineResource(
  {
    group: "networking.k8s.io",
    version: "v1",
    kind: "NetworkPolicy",
    plural: "networkpolicies",
    shortNames: ["netpol"],
    scope: "Namespaced",
    doc: "The permitted traffic of the selected pods. All traffic is permitted for pods that no policy selects.",
    generation: true,
    columns: [
      {
        name: "Pod-Selector",
        type: "string",
        doc: "Selector of the pods that the policy applies to.",
        value: ({ spec }) => selectorText(spec.podSelector),
      },
    ],
    warnings: ({ spec }) => [
      ...(spec.ingress ?? []).flatMap(({ from = [] }, i) => blockWarnings(from, `spec.ingress[${i}].from`)),
      ...(spec.egress ?? []).flatMap(({ to = [] }, i) => blockWarnings(to, `spec.egress[${i}].to`)),
    ],
    validateSpec: ({ spec }) => specFaults(spec),
  },
  fields,
)

/** Without `policyTypes`, incoming traffic is restricted; outgoing traffic only if there are egress rules. */
function withPolicyTypes(spec: NetworkPolicySpec): NetworkPolicySpec {
  if ((spec.policyTypes ?? []).length > 0) return spec
  return { ...spec, policyTypes: (spec.egress ?? []).length > 0 ? ["Ingress", "Egress"] : ["Ingress"] }
}

function specFaults(spec: NetworkPolicySpec): readonly Cause[] {
  const { ingress = [], egress = [], policyTypes = [] } = spec
  return [
    ...labelSelectorFaults("spec.podSelector", spec.podSelector),
    ...ingress.flatMap(({ ports = [], from = [] }, i) => [
      ...ports.flatMap((port, j) => portFaults(port, at("spec.ingress", i, "ports", j))),
      ...from.flatMap((peer, j) => peerFaults(peer, at("spec.ingress", i, "from", j))),
    ]),
    ...egress.flatMap(({ ports = [], to = [] }, i) => [
      ...ports.flatMap((port, j) => portFaults(port, at("spec.egress", i, "ports", j))),
      ...to.flatMap((peer, j) => peerFaults(peer, at("spec.egress", i, "to", j))),
    ]),
    ...(policyTypes.length > 2
      ? [invalidValue("spec.policyTypes", policyTypes, "may not specify more than two policyTypes")]
      : policyTypes.flatMap((type, i) =>
          DIRECTIONS.includes(type) ? [] : [notSupported(at("spec.policyTypes", i), type, DIRECTIONS)],
        )),
  ]
}

function portFaults({ port, endPort }: NetworkPolicyPort, here: string): readonly Cause[] {
  const causes: Cause[] = []
  const outside = (field: string, number: number) => {
    const wrong = inRange(number, 1, 65535)
    if (wrong !== undefined) causes.push(invalidValue(at(here, field), number, wrong))
  }
  if (typeof port === "number") {
    outside("port", port)
    if (endPort !== undefined && endPort < port)
      causes.push(invalidValue(at(here, "endPort"), port, "must be greater than or equal to `port`"))
    if (endPort !== undefined) outside("endPort", endPort)
    return causes
  }
  if (endPort !== undefined)
    causes.push(
      invalidValue(
        at(here, "endPort"),
        endPort,
        `may not be specified when \`port\` is ${port === undefined ? "not specified" : "non-numeric"}`,
      ),
    )
  if (port !== undefined) pushAll(causes, invalidValues(at(here, "port"), port, isPortName(port)))
  return causes
}

function peerFaults({ podSelector, namespaceSelector, ipBlock }: NetworkPolicyPeer, here: string): readonly Cause[] {
  const causes: Cause[] = []
  if (podSelector !== undefined) pushAll(causes, labelSelectorFaults(at(here, "podSelector"), podSelector))
  if (namespaceSelector !== undefined)
    pushAll(causes, labelSelectorFaults(at(here, "namespaceSelector"), namespaceSelector))
  if (ipBlock !== undefined) pushAll(causes, blockFaults(ipBlock, at(here, "ipBlock")))
  if (podSelector === undefined && namespaceSelector === undefined && ipBlock === undefined)
    causes.push(required(here, "must specify a peer"))
  if (ipBlock !== undefined && (podSelector !== undefined || namespaceSelector !== undefined))
    causes.push(forbiddenField(here, "may not specify both ipBlock and another peer"))
  return causes
}

function blockFaults({ cidr, except = [] }: IPBlock, here: string): readonly Cause[] {
  const outer = parseNetwork(cidr)
  return [
    ...invalidValues(at(here, "cidr"), cidr, isCIDR(cidr)),
    ...(outer === undefined
      ? []
      : except.flatMap((text, i) => {
          const field = at(here, "except", i)
          const inner = parseNetwork(text)
          const inside = inner === undefined || (covers(outer, inner) && !covers(inner, outer))
          return [
            ...invalidValues(field, text, isCIDR(text)),
            ...(inside ? [] : [invalidValue(field, text, "must be a strict subset of `cidr`")]),
          ]
        })),
  ]
}

/** Returns a selector as kubectl shows it. Source: metav1.FormatLabelSelector. */
function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string | undefined {
  const words: Readonly<Record<string, string>> = { In: "in", NotIn: "notin" }
  const parts = [
    ...Object.keys(matchLabels).map((key) => `${key}=${matchLabels[key]}`),
    ...matchExpressions.map(({ key, operator, values = [] }) =>
      operator === "Exists"
        ? key
        : operator === "DoesNotExist"
          ? `!${key}`
          : `${key} ${words[operator]} (${[...values].sort().join(",")})`,
    ),
  ]
  return parts.sort().join(",") || undefined
}

const blockWarnings = (peers: readonly NetworkPolicyPeer[], path: string): readonly string[] =>
  peers.flatMap(({ ipBlock }, i) =>
    ipBlock === undefined
      ? []
      : [
          ...rangeWarnings(`${path}[${i}].ipBlock.cidr`, ipBlock.cidr),
          ...(ipBlock.except ?? []).flatMap((range, j) => rangeWarnings(`${path}[${i}].ipBlock.except[${j}]`, range)),
        ],
  )
