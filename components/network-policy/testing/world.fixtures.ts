import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { NetworkPolicy } from "../../../pkg/api/networking/v1/networkpolicy.ts"
import type { PodInput, PolicyInput, World } from "./is-allowed.fixtures.ts"
import type { PodFacts } from "../pod-facts.ts"
import { policyRules } from "../policy-rules.ts"
import type { PolicyTable } from "../policy-table.ts"
import { addressOf, NAMESPACES, PODS, PORTS, PROTOCOLS, type Change } from "./truth-tables.fixtures.ts"

/** Returns upstream's nine pods in three namespaces, without policies. */
export const ninePods = (): World => ({
  policies: [],
  pods: NAMESPACES.flatMap((namespace) =>
    PODS.map((name) => ({
      namespace,
      name,
      labels: { pod: name },
      address: addressOf(`${namespace}/${name}`),
      ports: PORTS.flatMap((number) =>
        PROTOCOLS.map((protocol) => ({ name: `serve-${number}-${protocol.toLowerCase()}`, protocol, number })),
      ),
    })),
  ),
  namespaces: Object.fromEntries(NAMESPACES.map((name) => [name, { "kubernetes.io/metadata.name": name }])),
})

export const keyOf = ({ namespace, name }: { readonly namespace: string; readonly name: string }): string =>
  `${namespace}/${name}`
export const podOf = ({ pods }: World, key: string): PodInput => pods.find((pod) => keyOf(pod) === key)!

/** Returns the world after a change. */
export function changed(world: World, change: Change): World {
  if ("policy" in change) {
    const key = keyOf(change.policy)
    return { ...world, policies: [...world.policies.filter((policy) => keyOf(policy) !== key), change.policy] }
  }
  if ("remove" in change) return { ...world, policies: [] }
  if ("namespace" in change) {
    const { namespace, labels } = change
    return { ...world, namespaces: { ...world.namespaces, [namespace]: { ...world.namespaces[namespace], ...labels } } }
  }
  const { labels } = change
  return {
    ...world,
    pods: world.pods.map((pod) => (keyOf(pod) === change.pod ? { ...pod, labels: { ...pod.labels, ...labels } } : pod)),
  }
}

/** Whether a pod is on the node whose table is made: those of one of the three namespaces are not. */
export const isHere = ({ namespace }: Pick<PodInput, "namespace">): boolean => namespace !== "z"

export const factsOf = ({ address, name, ...pod }: PodInput): PodFacts => ({
  ...pod,
  key: keyOf({ ...pod, name }),
  addresses: address === "" ? [] : [address],
  isHere: isHere(pod),
})

export const rulesOf = (policy: PolicyInput) => policyRules(objectOf(policy))

/** Returns the policy as an API object. */
export function objectOf({ namespace, name, ...spec }: PolicyInput): NetworkPolicy {
  return decodeObject(NetworkPolicy, { metadata: { namespace, name }, spec }).object
}

/** Changes a table from one world to another by their differences. */
export function applyTo(table: PolicyTable, before: World, after: World): void {
  for (const [name, labels] of Object.entries(after.namespaces))
    if (before.namespaces[name] !== labels) table.setNamespace(name, labels)
  for (const name of Object.keys(before.namespaces))
    if (after.namespaces[name] === undefined) table.setNamespace(name, undefined)
  for (const pod of before.pods) if (!after.pods.some((one) => keyOf(one) === keyOf(pod))) table.removePod(keyOf(pod))
  for (const pod of after.pods) if (!before.pods.includes(pod)) table.setPod(factsOf(pod))
  for (const policy of before.policies)
    if (!after.policies.some((one) => keyOf(one) === keyOf(policy))) table.setPolicy(keyOf(policy), undefined)
  for (const policy of after.policies)
    if (!before.policies.includes(policy)) table.setPolicy(keyOf(policy), rulesOf(policy))
}

export const NO_WORLD: World = { policies: [], pods: [], namespaces: {} }
