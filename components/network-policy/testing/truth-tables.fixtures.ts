/**
 * The cases of upstream's end-to-end tests of NetworkPolicies, each with the connections that it expects. Source:
 * kubernetes test/e2e/network/netpol/network_policy.go, whose titles these are.
 */
import type { LabelSelector } from "../../../pkg/apimachinery/meta.ts"
import type { Labels, PeerInput, PolicyInput, PortInput, Protocol } from "./is-allowed.fixtures.ts"

export type Change =
  | { readonly policy: PolicyInput }
  /** Removes all policies. */
  | { readonly remove: "policies" }
  | { readonly namespace: string; readonly labels: Labels }
  /** `pod` is written `x/a`; the labels are added to those it has. */
  | { readonly pod: string; readonly labels: Labels }

export interface Check {
  readonly port: number
  readonly protocol: Protocol
  /**
   * Source, destination, and whether they connect; a later entry overrides an earlier one, and all others connect. `*`
   * is any.
   */
  readonly expect: readonly (readonly [from: string, to: string, connects: boolean])[]
}

export interface Case {
  readonly title: string
  /** The pods in the expectations. */
  readonly pods: readonly string[]
  readonly steps: readonly { readonly changes: readonly Change[]; readonly checks: readonly Check[] }[]
}

const ALL: LabelSelector = {}
const pod = (...names: readonly string[]): LabelSelector =>
  names.length === 1
    ? { matchLabels: { pod: names[0]! } }
    : { matchExpressions: [{ key: "pod", operator: "In", values: [...names] }] }
const inNamespace = (name: string): LabelSelector => ({ matchLabels: { "kubernetes.io/metadata.name": name } })
const namespace = (operator: "In" | "NotIn", name: string): LabelSelector => ({
  matchExpressions: [{ key: "kubernetes.io/metadata.name", operator, values: [name] }],
})

interface Rules {
  readonly ingress?: PolicyInput["ingress"]
  readonly egress?: PolicyInput["egress"]
}
/** Returns a policy that isolates in the directions for which it has rules, even if the list is empty. */
const policy = (name: string, podSelector: LabelSelector, { ingress, egress }: Rules, in_ = "x"): Change => ({
  policy: {
    namespace: in_,
    name,
    podSelector,
    policyTypes: [
      ...(ingress === undefined ? [] : (["Ingress"] as const)),
      ...(egress === undefined ? [] : (["Egress"] as const)),
    ],
    ...(ingress === undefined ? {} : { ingress }),
    ...(egress === undefined ? {} : { egress }),
  },
})
const from = (...peers: readonly PeerInput[]): Rules => ({ ingress: [{ from: peers }] })
const to = (...peers: readonly PeerInput[]): Rules => ({ egress: [{ to: peers }] })
const check = (port: number, ...expect: Check["expect"]): Check => ({ port, protocol: "TCP", expect })
const over = (protocol: Protocol, port: number, ...expect: Check["expect"]): Check => ({ port, protocol, expect })
const once = (title: string, pods: string, changes: readonly Change[], ...checks: readonly Check[]): Case => ({
  title,
  pods: pods.split(" "),
  steps: [{ changes, checks }],
})
const steps = (title: string, pods: string, ...of: readonly (readonly [readonly Change[], ...Check[]])[]): Case => ({
  title,
  pods: pods.split(" "),
  steps: of.map(([changes, ...checks]) => ({ changes, checks })),
})

/** Upstream's ports have names such as `serve-80-tcp`. */
const onPort = (port: number | string, protocol?: Protocol): PortInput => ({
  port,
  ...(protocol === undefined ? {} : { protocol }),
})
const TO_XA = ["*/*", "x/a", false] as const
const INTO_X = ["*/*", "x/*", false] as const
const OUT_OF_X = ["x/*", "*/*", false] as const

/** The pods of the tests; their addresses follow from their names. */
export const NAMESPACES = ["x", "y", "z"] as const
export const PODS = ["a", "b", "c"] as const
export const PORTS = [80, 81] as const
export const PROTOCOLS = ["TCP", "UDP", "SCTP"] as const
export const addressOf = (name: string): string => {
  const [space = "", own = ""] = name.split("/")
  return `10.42.0.${10 + NAMESPACES.findIndex((one) => one === space) * 3 + PODS.findIndex((one) => one === own)}`
}
/** A large range around an address, as upstream uses it. */
const AROUND = "0.0.0.0/4"

const perProtocol = (protocol: Protocol): readonly Case[] => [
  once(
    `${protocol}: should support a 'default-deny-ingress' policy`,
    "x/a x/b y/a y/b",
    [policy("deny-all", ALL, { ingress: [] })],
    over(protocol, 80, INTO_X),
  ),
  once(
    `${protocol}: should enforce policy based on Ports`,
    "x/a x/b y/a z/a",
    [
      policy("allow-ingress-on-port-81-ns-x", pod("a"), {
        ingress: [{ from: [{ namespaceSelector: inNamespace("y") }], ports: [onPort(81, protocol)] }],
      }),
    ],
    over(protocol, 81, ["x/*", "x/a", false], ["z/*", "x/a", false]),
  ),
  once(
    `${protocol}: should enforce policy to allow traffic only from a pod in a different namespace based on PodSelector and NamespaceSelector`,
    "x/a x/b y/a",
    [policy("allow-ns-y-pod-a", pod("a"), from({ namespaceSelector: inNamespace("y"), podSelector: pod("a") }))],
    over(protocol, 80, TO_XA, ["y/a", "x/a", true]),
  ),
]

export const CASES: readonly Case[] = [
  once(
    "should support a 'default-deny-ingress' policy",
    "x/a x/b y/a y/b",
    [policy("deny-ingress", ALL, { ingress: [] })],
    check(80, INTO_X),
  ),
  once(
    "should support a 'default-deny-all' policy",
    "x/a x/b y/a",
    [policy("deny-all", ALL, { ingress: [], egress: [] })],
    check(80, INTO_X, OUT_OF_X),
  ),
  once(
    "should enforce policy to allow traffic from pods within server namespace based on PodSelector",
    "x/a x/b x/c y/a",
    [policy("x-a-allows-x-b", pod("a"), from({ podSelector: pod("b") }))],
    check(80, TO_XA, ["x/b", "x/a", true]),
  ),
  once(
    "should enforce policy to allow ingress traffic for a target",
    "x/a x/b y/a",
    [
      policy("deny-all", ALL, { ingress: [] }),
      policy("allow-all-to-a", pod("a"), from({ podSelector: ALL, namespaceSelector: ALL })),
    ],
    check(80, ["*/*", "x/a", true], ["*/*", "x/b", false]),
  ),
  once(
    "should enforce policy to allow ingress traffic from pods in all namespaces",
    "x/a x/b y/a z/a",
    [policy("allow-from-another-ns", pod("a"), from({ namespaceSelector: ALL }))],
    check(80),
  ),
  once(
    "should enforce policy to allow traffic only from a different namespace, based on NamespaceSelector",
    "x/a x/b y/a z/a",
    [policy("allow-y", pod("a"), from({ namespaceSelector: inNamespace("y") }))],
    check(80, ["x/*", "x/a", false], ["z/*", "x/a", false]),
  ),
  once(
    "should enforce policy based on PodSelector with MatchExpressions",
    "x/a x/b y/a",
    [
      policy(
        "x-a-allows-x-b",
        pod("a"),
        from({ podSelector: { matchExpressions: [{ key: "pod", operator: "In", values: ["b"] }] } }),
      ),
    ],
    check(80, TO_XA, ["x/b", "x/a", true]),
  ),
  once(
    "should enforce policy based on NamespaceSelector with MatchExpressions",
    "x/a x/b y/a z/a",
    [policy("allow-y", pod("a"), from({ namespaceSelector: namespace("In", "y") }))],
    check(80, ["x/*", "x/a", false], ["z/*", "x/a", false]),
  ),
  once(
    "should enforce policy based on PodSelector or NamespaceSelector",
    "x/a x/b x/c y/a",
    [
      policy(
        "allow-others-or-b",
        pod("a"),
        from({ namespaceSelector: namespace("NotIn", "x") }, { podSelector: pod("b") }),
      ),
    ],
    check(80, ["x/a", "x/a", false], ["x/c", "x/a", false]),
  ),
  once(
    "should enforce policy based on PodSelector and NamespaceSelector",
    "x/a x/b y/a y/b z/b",
    [
      policy(
        "allow-b-of-others",
        pod("a"),
        from({ namespaceSelector: namespace("NotIn", "x"), podSelector: pod("b") }),
      ),
    ],
    check(80, TO_XA, ["y/b", "x/a", true], ["z/b", "x/a", true]),
  ),
  once(
    "should enforce policy based on Multiple PodSelectors and NamespaceSelectors",
    "x/a x/b y/a y/b y/c",
    [
      policy(
        "allow-b-c-of-others",
        pod("a"),
        from({ namespaceSelector: namespace("NotIn", "x"), podSelector: pod("b", "c") }),
      ),
    ],
    check(80, ["x/*", "x/a", false], ["y/a", "x/a", false]),
  ),
  once(
    "should enforce policy based on any PodSelectors",
    "x/a x/b x/c",
    [policy("allow-b-c", pod("a"), from({ podSelector: pod("b") }, { podSelector: pod("c") }))],
    check(80, TO_XA, ["x/b", "x/a", true], ["x/c", "x/a", true]),
  ),
  once(
    "should enforce policy to allow traffic only from a pod in a different namespace based on PodSelector and NamespaceSelector",
    "x/a x/b y/a y/b z/a",
    [policy("allow-y-a", pod("a"), from({ namespaceSelector: inNamespace("y"), podSelector: pod("a") }))],
    check(80, TO_XA, ["y/a", "x/a", true]),
  ),
  once(
    "should enforce policy based on Ports",
    "x/a x/b y/a y/b z/a",
    [
      policy("allow-81", pod("a"), {
        ingress: [{ from: [{ namespaceSelector: inNamespace("y") }], ports: [onPort(81, "TCP")] }],
      }),
    ],
    check(81, ["x/*", "x/a", false], ["y/*", "x/a", true], ["z/*", "x/a", false]),
  ),
  steps(
    "should enforce multiple, stacked policies with overlapping podSelectors",
    "x/a x/b y/a y/b z/a",
    [
      [
        policy("allow-81", pod("a"), {
          ingress: [{ from: [{ namespaceSelector: inNamespace("y") }], ports: [onPort(81, "TCP")] }],
        }),
      ],
      check(81, ["x/*", "x/a", false], ["y/*", "x/a", true], ["z/*", "x/a", false]),
      check(80, TO_XA),
    ],
    [
      [
        policy("allow-80", pod("a"), {
          ingress: [{ from: [{ namespaceSelector: inNamespace("y") }], ports: [onPort(80, "TCP")] }],
        }),
      ],
      check(80, ["x/*", "x/a", false], ["y/*", "x/a", true], ["z/*", "x/a", false]),
    ],
  ),
  once(
    "should support allow-all policy",
    "x/a x/b y/a",
    [policy("allow-all", ALL, { ingress: [{}] })],
    check(80),
    check(81),
  ),
  once(
    "should allow ingress access on one named port",
    "x/a x/b y/a",
    [policy("allow-81", ALL, { ingress: [{ ports: [onPort("serve-81-tcp")] }] })],
    check(81),
    check(80, INTO_X),
  ),
  once(
    "should allow ingress access from namespace on one named port",
    "x/a x/b y/a z/a",
    [
      policy("allow-80", pod("a"), {
        ingress: [{ from: [{ namespaceSelector: inNamespace("y") }], ports: [onPort("serve-80-tcp", "TCP")] }],
      }),
    ],
    check(80, ["x/*", "x/a", false], ["z/*", "x/a", false]),
    check(81, TO_XA),
  ),
  once(
    "should allow egress access on one named port",
    "x/a y/a",
    [policy("allow-egress", ALL, { egress: [{ ports: [onPort("serve-80-tcp")] }] })],
    check(80),
    check(81, OUT_OF_X),
  ),
  steps(
    "should enforce updated policy",
    "x/a y/a",
    [[policy("mutated", ALL, { ingress: [{}] })], check(81)],
    [[policy("mutated", ALL, { ingress: [] })], check(81, INTO_X)],
  ),
  steps(
    "should allow ingress access from updated namespace",
    "x/a y/a",
    [
      [policy("allow-ns2", pod("a"), from({ namespaceSelector: { matchLabels: { ns2: "updated" } } }))],
      check(80, TO_XA),
    ],
    [[{ namespace: "y", labels: { ns2: "updated" } }], check(80, TO_XA, ["y/*", "*/*", true])],
  ),
  steps(
    "should allow ingress access from updated pod",
    "x/a x/b",
    [
      [policy("allow-b2", pod("a"), from({ podSelector: { matchLabels: { pod: "b", pod2: "updated" } } }))],
      check(80, TO_XA),
    ],
    [[{ pod: "x/b", labels: { pod2: "updated" } }], check(80, TO_XA, ["x/b", "x/a", true])],
  ),
  once(
    "should deny ingress from pods on other namespaces",
    "x/a x/b y/a z/a",
    [policy("own-only", ALL, from({ podSelector: ALL }))],
    check(80, ["y/*", "x/*", false], ["z/*", "x/*", false]),
  ),
  steps(
    "should deny ingress access to updated pod",
    "x/a y/a",
    [[policy("deny-isolated", { matchLabels: { target: "isolated" } }, { ingress: [] })], check(80)],
    [[{ pod: "x/a", labels: { target: "isolated" } }], check(80, TO_XA)],
  ),
  once(
    "should deny egress from pods based on PodSelector",
    "x/a x/b y/a",
    [policy("deny-egress-pod-a", pod("a"), { egress: [] })],
    check(80, ["x/a", "*/*", false]),
  ),
  once(
    "should deny egress from all pods in a namespace",
    "x/a x/b y/a",
    [policy("deny-egress-ns-x", ALL, { egress: [] })],
    check(80, OUT_OF_X),
  ),
  once(
    "should work with Ingress, Egress specified together",
    "x/a x/b x/c y/a",
    [policy("both", pod("a"), { ...from({ podSelector: pod("b") }), egress: [{ ports: [onPort(80)] }] })],
    check(80, TO_XA, ["x/b", "x/a", true]),
    check(81, TO_XA, ["x/a", "*/*", false], ["x/b", "x/a", true]),
  ),
  once(
    "should support denying of egress traffic on the client side (even if the server explicitly allows this traffic)",
    "x/a y/a y/b",
    [
      policy("allow-to-ns-y-pod-a", pod("a"), to({ namespaceSelector: inNamespace("y"), podSelector: pod("a") })),
      policy("from-xa-on-ya", pod("a"), from({ namespaceSelector: inNamespace("x"), podSelector: pod("a") }), "y"),
      policy("from-xa-on-yb", pod("b"), from({ namespaceSelector: inNamespace("x"), podSelector: pod("a") }), "y"),
    ],
    check(80, ["x/a", "*/*", false], ["*/*", "y/a", false], ["x/a", "y/a", true], ["*/*", "y/b", false]),
  ),
  once(
    "should enforce egress policy allowing traffic to a server in a different namespace based on PodSelector and NamespaceSelector",
    "x/a y/a y/b",
    [policy("allow-to-y-a", pod("a"), to({ namespaceSelector: inNamespace("y"), podSelector: pod("a") }))],
    check(80, ["x/a", "*/*", false], ["x/a", "y/a", true]),
  ),
  once(
    "should enforce ingress policy allowing any port traffic to a server on a specific protocol",
    "x/a y/a",
    [policy("allow-ingress-by-proto", pod("a"), { ingress: [{ ports: [{ protocol: "TCP" }] }] })],
    check(80),
    over("UDP", 80, TO_XA),
  ),
  steps(
    "should enforce multiple ingress policies with ingress allow-all policy taking precedence",
    "x/a y/a",
    [[policy("allow-80", ALL, { ingress: [{ ports: [onPort(80)] }] })], check(81, INTO_X)],
    [[policy("allow-all", ALL, { ingress: [{}] })], check(81)],
  ),
  steps(
    "should enforce multiple egress policies with egress allow-all policy taking precedence",
    "x/a y/a",
    [[policy("allow-80", ALL, { egress: [{ ports: [onPort(80)] }] })], check(81, OUT_OF_X)],
    [[policy("allow-all", ALL, { egress: [{}] })], check(81)],
  ),
  steps(
    "should stop enforcing policies after they are deleted",
    "x/a y/a",
    [[policy("deny-all", ALL, { ingress: [], egress: [] })], check(80, OUT_OF_X, INTO_X)],
    [[{ remove: "policies" }], check(80)],
  ),
  once(
    "should allow egress access to server in CIDR block",
    "x/a y/a y/b",
    [policy("allow-cidr", pod("a"), to({ ipBlock: { cidr: `${addressOf("y/b")}/32` } }))],
    check(80, ["x/a", "*/*", false], ["x/a", "y/b", true]),
  ),
  once(
    "should enforce except clause while egress access to server in CIDR block",
    "x/a x/b x/c",
    [policy("allow-cidr", pod("a"), to({ ipBlock: { cidr: AROUND, except: [`${addressOf("x/b")}/32`] } }))],
    check(80, ["x/a", "x/b", false]),
  ),
  steps(
    "should ensure an IP overlapping both IPBlock.CIDR and IPBlock.Except is allowed",
    "x/a x/b x/c",
    [
      [policy("allow-cidr", pod("a"), to({ ipBlock: { cidr: AROUND, except: [`${addressOf("x/b")}/32`] } }))],
      check(80, ["x/a", "x/b", false]),
    ],
    [
      [policy("allow-cidr", pod("a"), to({ ipBlock: { cidr: `${addressOf("x/b")}/32` } }))],
      check(80, ["x/a", "*/*", false], ["x/a", "x/b", true]),
    ],
  ),
  steps(
    "should enforce policies to check ingress and egress policies can be controlled independently based on PodSelector",
    "x/a x/b y/a",
    [[policy("allow-egress", pod("a"), { egress: [{}] })], check(80)],
    [[policy("deny-ingress", pod("a"), { ingress: [] })], check(80, TO_XA)],
  ),
  once(
    "should not mistakenly treat 'protocol: SCTP' as 'protocol: TCP', even if the plugin doesn't support SCTP",
    "x/a y/a",
    [
      policy("deny-ingress", ALL, { ingress: [] }),
      policy("allow-only-sctp-81", pod("a"), { ingress: [{ ports: [onPort(81, "SCTP")] }] }),
    ],
    check(81, INTO_X),
  ),
  once(
    "should properly isolate pods that are selected by a policy allowing SCTP, even if the plugin doesn't support SCTP",
    "x/a y/a",
    [policy("allow-only-sctp-80", pod("a"), { ingress: [{ ports: [onPort(80, "SCTP")] }] })],
    check(81, TO_XA),
  ),
  once(
    "should not allow access by TCP when a policy specifies only UDP",
    "x/a y/a",
    [policy("allow-only-udp-81", pod("a"), { ingress: [{ ports: [onPort(81, "UDP")] }] })],
    check(81, TO_XA),
  ),
  once(
    "should enforce policy to allow traffic based on NamespaceSelector with MatchLabels using default ns label",
    "x/a x/b y/a z/a",
    [policy("allow-y", pod("a"), from({ namespaceSelector: inNamespace("y") }))],
    check(80, ["x/*", "x/a", false], ["z/*", "x/a", false]),
  ),
  once(
    "should enforce policy based on NamespaceSelector with MatchExpressions using default ns label",
    "x/a x/b y/a z/a",
    [policy("not-to-y", pod("a"), to({ namespaceSelector: namespace("NotIn", "y") }))],
    check(80, ["x/a", "y/*", false]),
  ),
  ...perProtocol("UDP"),
  ...perProtocol("SCTP"),
]

/** Whether a check expects the connection to succeed. */
export function expects({ expect }: Check, from_: string, to_: string): boolean {
  const is = (pattern: string, name: string) => {
    const [space, own] = [pattern.split("/"), name.split("/")]
    return space.every((part, i) => part === "*" || part === own[i])
  }
  return expect.findLast(([a, b]) => is(a, from_) && is(b, to_))?.[2] ?? true
}
