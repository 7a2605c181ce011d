import { familyOf, type Family } from "../../pkg/apimachinery/addresses/cidr.ts"
import { fromLabels, type Labels } from "../../pkg/apimachinery/selectors/labels.ts"
import { exactKey } from "../../pkg/cache/exact-key.ts"
import { ADDRESS_TYPE, FAMILY_WORD } from "../../pkg/netfilter/nft.ts"
import { namesByProtocol, portText, ruleText, type SetNames } from "./rule-text.ts"
import {
  baseChains,
  DIRECTIONS,
  isolated,
  LINK_LOCAL,
  NO_LINK_LOCAL,
  PLACES,
  type Place,
  selves,
  TABLE,
  toItself,
} from "./base-chains.ts"
import { NftTable } from "./nft-table.ts"
import type { PodFacts } from "./pod-facts.ts"
import type { Direction, NamedPort, PodSelection, PolicyRules, PortRange } from "./policy-rules.ts"

/** The chain for addresses whose pod is not known yet. */
const UNKNOWN_CHAIN = "unknown-pod"

/**
 * Every packet is looked up in the maps of this node's pods, which is faster where the kernel knows the most elements
 * of a map: many more than a node has pods.
 */
const SIZED = " ; size 16384"

export interface PolicyTableOptions {
  readonly families: readonly Family[]
  /** The bridge of this node's pods. */
  readonly bridge: string
}

/** A policy, with the number in the names of its chains. */
interface Policy {
  readonly id: number
  readonly rules: PolicyRules
}
/** The state of a pod in the table. */
interface PlacedPod {
  readonly facts: PodFacts
  /** The policies that select it. */
  readonly policies: Set<Policy>
  /** Its elements, by set. */
  readonly elements: Map<string, readonly string[]>
  readonly groups: Partial<Record<Direction, Group>>
}
/** Pods that are isolated in a direction by exactly the same policies share a chain. */
interface Group {
  readonly key: string
  readonly chain: string
  pods: number
}
/** A set of pods, or of pods' ports, with the number of chains that refer to it. */
interface SharedSet<T> {
  readonly of: T
  readonly number: number
  uses: number
}

/**
 * Turns policies, namespaces and pods into the content of an nftables table:
 * map  ingress-ip      address of an isolated pod of this node → its group's chain
 * map  ingress-ip-elsewhere  the same for pods of other nodes
 * chain group-7        jump to the chain of each policy that selects the group's pods, accept what a pod sends to
 *                      itself, then drop
 * chain ingress-3      one policy: accept what each of its rules allows
 * set  pods-ip-4       addresses of the pods that a rule has as peers
 * set  port-ip-5       address . number of the pods' ports that have a name in a rule, of one protocol
 * A pod that is added or removed changes elements only. The cost of a change depends on what it affects: for a pod, the
 * number of policies in its namespace and of selections; for a policy, the number of pods.
 */
export class PolicyTable {
  readonly table = new NftTable(`inet ${TABLE}`)
  readonly #families: readonly Family[]
  readonly #bridge: string
  /** The chains that the kernel calls, and those that only they need. */
  #hooked: readonly string[] = []
  /** Which maps of isolated pods had elements when those chains were written. */
  #hookedFor = ""
  readonly #policies = new Map<string, Policy>()
  readonly #byNamespace = new Map<string, Set<Policy>>()
  readonly #namespaces = new Map<string, Labels>()
  readonly #pods = new Map<string, PlacedPod>()
  readonly #selections = new Map<string, SharedSet<readonly PodSelection[]>>()
  readonly #namedPorts = new Map<string, SharedSet<readonly NamedPort[]>>()
  /** The sets of port numbers to which each policy's chains refer. */
  readonly #portSets = new Map<Policy, string[]>()
  readonly #groups = new Map<string, Group>()
  #last = 0

  constructor({ families, bridge }: PolicyTableOptions) {
    this.#families = families
    this.#bridge = bridge
    for (const family of families) {
      const type = ADDRESS_TYPE[family]
      for (const direction of DIRECTIONS)
        for (const place of PLACES)
          this.table.addSet(
            isolated(direction, family, place),
            `type ${type} : verdict${place === "here" ? SIZED : ""}`,
          )
      this.table.addSet(selves(family), `type ${type} . ${type}`)
    }
    this.table.setChain(UNKNOWN_CHAIN, ["drop"])
    this.table.setChain(LINK_LOCAL, NO_LINK_LOCAL)
  }

  /** `rules` is undefined for a deleted policy. */
  setPolicy(key: string, rules: PolicyRules | undefined): void {
    const before = this.#policies.get(key)
    const after = rules === undefined ? undefined : { id: before?.id ?? ++this.#last, rules }
    if (before === undefined && after === undefined) return
    const namespace = (after ?? before!).rules.namespace
    if (after !== undefined) {
      this.#policies.set(key, after)
      this.#ofNamespace(namespace).add(after)
      for (const direction of DIRECTIONS) this.#writePolicy(after, direction)
    } else this.#policies.delete(key)
    if (before !== undefined) this.#byNamespace.get(namespace)!.delete(before)
    for (const pod of this.#pods.values()) {
      if (pod.facts.namespace !== namespace) continue
      if (before !== undefined) pod.policies.delete(before)
      if (after?.rules.subjects.matches(pod.facts.labels) === true) pod.policies.add(after)
      this.#isolate(pod)
    }
    this.#hook()
    if (before === undefined) return
    for (const direction of DIRECTIONS) {
      if (after?.rules.rules[direction] === undefined && before.rules.rules[direction] !== undefined)
        this.table.removeChain(policyChain(direction, before))
      this.#release(before, direction)
    }
    for (const name of this.#portSets.get(before) ?? []) this.table.removeSet(name)
    this.#portSets.delete(before)
  }

  /** `labels` is undefined for a deleted namespace. */
  setNamespace(name: string, labels: Labels | undefined): void {
    const before = this.#namespaces.get(name)
    if (labels === undefined) this.#namespaces.delete(name)
    else this.#namespaces.set(name, labels)
    if (before !== undefined && labels !== undefined && fromLabels(labels).toString() === fromLabels(before).toString())
      return
    for (const pod of this.#pods.values()) if (pod.facts.namespace === name) this.#fill(pod)
  }

  /** No other pod may have any of its addresses. */
  setPod(facts: PodFacts): void {
    const before = this.#pods.get(facts.key)
    const isSame = before?.facts.isHere === facts.isHere && same(before.facts.addresses, facts.addresses)
    if (before !== undefined && !isSame) this.removePod(facts.key)
    const policies = [...(this.#byNamespace.get(facts.namespace) ?? [])].filter(({ rules }) =>
      rules.subjects.matches(facts.labels),
    )
    const known = this.#pods.get(facts.key)
    const pod: PlacedPod = {
      facts,
      policies: new Set(policies),
      elements: known?.elements ?? new Map(),
      groups: known?.groups ?? {},
    }
    this.#pods.set(facts.key, pod)
    this.#isolate(pod)
    this.#fill(pod)
    this.#hook()
  }

  removePod(key: string): void {
    const pod = this.#pods.get(key)
    if (pod === undefined) return
    this.#pods.delete(key)
    pod.policies.clear()
    this.#isolate(pod)
    for (const [set, elements] of pod.elements) for (const element of elements) this.table.take(set, element)
    this.#hook()
  }

  /** Drops all packets to and from an address until a pod has it. */
  closeUnknown(address: string): void {
    const family = familyOf(address)
    if (!this.#families.includes(family)) return
    for (const direction of DIRECTIONS)
      this.table.put(isolated(direction, family, "here"), address, `goto ${UNKNOWN_CHAIN}`)
    this.#hook()
  }

  /** Makes the kernel call the chains of those directions in which pods are isolated, and no others. */
  #hook(): void {
    const isNeeded = (direction: Direction, place: Place) =>
      this.#families.some((family) => this.table.elements(isolated(direction, family, place)).size > 0)
    const now = DIRECTIONS.flatMap((direction) => PLACES.map((place) => isNeeded(direction, place))).join()
    if (now === this.#hookedFor) return
    this.#hookedFor = now
    const chains = baseChains(this.#families, this.#bridge, isNeeded)
    for (const { name, rules, hook } of chains) this.table.setChain(name, rules, hook)
    const names = chains.map(({ name }) => name)
    for (const name of this.#hooked) if (!names.includes(name)) this.table.removeChain(name)
    this.#hooked = names
  }

  #ofNamespace(namespace: string): Set<Policy> {
    let policies = this.#byNamespace.get(namespace)
    if (policies === undefined) this.#byNamespace.set(namespace, (policies = new Set()))
    return policies
  }

  #writePolicy(policy: Policy, direction: Direction): void {
    const rules = policy.rules.rules[direction]
    if (rules === undefined) return
    for (const { peers, ports } of rules) {
      if (peers !== undefined && peers.pods.length > 0) this.#useSelections(peers.pods)
      for (const [, of] of namesByProtocol(ports?.names ?? [])) this.#useNamedPorts(of)
    }
    const names: SetNames = {
      pods: (selections, family) => podsSet(this.#selections.get(keyOfSelections(selections))!.number, family),
      namedPorts: (of, family) => portSet(this.#namedPorts.get(keyOfPorts(of))!.number, family),
      ports: (ranges) => this.#addPorts(policy, ranges),
    }
    const text = rules.flatMap((rule) => ruleText(direction, rule, this.#families, names))
    this.table.setChain(policyChain(direction, policy), [...new Set(text)])
  }

  #addPorts(policy: Policy, ranges: readonly PortRange[]): string {
    const name = `numbers-${++this.#last}`
    this.table.addSet(name, "type inet_service ; flags interval")
    for (const range of ranges) this.table.put(name, portText(range))
    this.#portSets.set(policy, [...(this.#portSets.get(policy) ?? []), name])
    return name
  }

  #useSelections(selections: readonly PodSelection[]): void {
    const key = keyOfSelections(selections)
    const known = this.#selections.get(key)
    if (known !== undefined) return void known.uses++
    const shared = { of: selections, number: ++this.#last, uses: 1 }
    this.#selections.set(key, shared)
    for (const family of this.#families)
      this.table.addSet(podsSet(shared.number, family), `type ${ADDRESS_TYPE[family]}`)
    for (const pod of this.#pods.values()) this.#fillSelection(pod, shared)
  }

  #useNamedPorts(ports: readonly NamedPort[]): void {
    const key = keyOfPorts(ports)
    const known = this.#namedPorts.get(key)
    if (known !== undefined) return void known.uses++
    const shared = { of: ports, number: ++this.#last, uses: 1 }
    this.#namedPorts.set(key, shared)
    for (const family of this.#families)
      this.table.addSet(portSet(shared.number, family), `type ${ADDRESS_TYPE[family]} . inet_service`)
    for (const pod of this.#pods.values()) this.#fillNamedPort(pod, shared)
  }

  /** Releases the sets to which a policy's rules referred. */
  #release({ rules }: Policy, direction: Direction): void {
    for (const { peers, ports } of rules.rules[direction] ?? []) {
      if (peers !== undefined && peers.pods.length > 0)
        this.#releaseSet(this.#selections, keyOfSelections(peers.pods), podsSet)
      for (const [, of] of namesByProtocol(ports?.names ?? []))
        this.#releaseSet(this.#namedPorts, keyOfPorts(of), portSet)
    }
  }

  #releaseSet(
    all: Map<string, SharedSet<readonly PodSelection[]> | SharedSet<readonly NamedPort[]>>,
    key: string,
    nameOf: (number: number, family: Family) => string,
  ): void {
    const shared = all.get(key)!
    if (--shared.uses > 0) return
    all.delete(key)
    for (const family of this.#families) {
      const name = nameOf(shared.number, family)
      this.table.removeSet(name)
      for (const pod of this.#pods.values()) pod.elements.delete(name)
    }
  }

  /** Adds the pod to the sets that it belongs to, and removes it from the others. */
  #fill(pod: PlacedPod): void {
    for (const shared of this.#selections.values()) this.#fillSelection(pod, shared)
    for (const shared of this.#namedPorts.values()) this.#fillNamedPort(pod, shared)
  }

  #fillSelection(pod: PlacedPod, { of, number }: SharedSet<readonly PodSelection[]>): void {
    const has = of.some((selection) => this.#has(selection, pod.facts))
    for (const family of this.#families)
      this.#hold(pod, podsSet(number, family), has ? addressesOf(pod.facts, family) : [])
  }

  #fillNamedPort(pod: PlacedPod, { of, number }: SharedSet<readonly NamedPort[]>): void {
    const numbers = pod.facts.ports.filter(({ name, protocol }) =>
      of.some((port) => port.name === name && port.protocol === protocol),
    )
    for (const family of this.#families) {
      const elements = addressesOf(pod.facts, family).flatMap((address) =>
        numbers.map((port) => `${address} . ${port.number}`),
      )
      this.#hold(pod, portSet(number, family), [...new Set(elements)])
    }
  }

  #has({ namespaces, pods }: PodSelection, { namespace, labels }: PodFacts): boolean {
    if (typeof namespaces === "string") return namespaces === namespace && pods.matches(labels)
    const ofNamespace = this.#namespaces.get(namespace)
    return ofNamespace !== undefined && namespaces.matches(ofNamespace) && pods.matches(labels)
  }

  #hold(pod: PlacedPod, set: string, elements: readonly string[]): void {
    const before = pod.elements.get(set) ?? []
    if (same(before, elements)) return
    for (const element of before) if (!elements.includes(element)) this.table.take(set, element)
    for (const element of elements) this.table.put(set, element)
    if (elements.length === 0) pod.elements.delete(set)
    else pod.elements.set(set, elements)
  }

  /** Maps the pod's addresses to the chain of the policies that isolate it, in each direction. */
  #isolate(pod: PlacedPod): void {
    for (const direction of DIRECTIONS) {
      const policies = [...pod.policies].filter(({ rules }) => rules.rules[direction] !== undefined)
      const before = pod.groups[direction]
      const group = policies.length === 0 ? undefined : this.#group(direction, policies)
      if (group !== undefined) group.pods++
      for (const family of this.#families)
        for (const address of addressesOf(pod.facts, family)) {
          // An address that was nobody's is among those of this node.
          if (group === undefined)
            for (const place of PLACES) this.table.take(isolated(direction, family, place), address)
          else {
            const place = pod.facts.isHere ? "here" : "elsewhere"
            this.table.put(isolated(direction, family, place), address, `goto ${group.chain}`)
            if (place === "elsewhere") this.table.take(isolated(direction, family, "here"), address)
          }
        }
      if (group === undefined) delete pod.groups[direction]
      else pod.groups[direction] = group
      if (before !== undefined && --before.pods === 0) {
        this.#groups.delete(before.key)
        this.table.removeChain(before.chain)
      }
    }
    const isIsolated = Object.keys(pod.groups).length > 0
    for (const family of this.#families)
      this.#hold(pod, selves(family), isIsolated ? addressesOf(pod.facts, family).map((one) => `${one} . ${one}`) : [])
  }

  #group(direction: Direction, policies: readonly Policy[]): Group {
    const ids = policies.map(({ id }) => id).sort((a, b) => a - b)
    const key = `${direction} ${ids.join(" ")}`
    let group = this.#groups.get(key)
    if (group === undefined) {
      group = { key, chain: `group-${++this.#last}`, pods: 0 }
      this.#groups.set(key, group)
      // Few packets are of a pod that reaches itself, so this is asked last.
      const itself = this.#families.map(toItself)
      this.table.setChain(group.chain, [...ids.map((id) => `jump ${direction}-${id}`), ...itself, "drop"])
    }
    return group
  }
}

const addressesOf = ({ addresses }: PodFacts, family: Family): readonly string[] =>
  addresses.filter((address) => familyOf(address) === family)

const podsSet = (number: number, family: Family) => `pods-${FAMILY_WORD[family]}-${number}`
const portSet = (number: number, family: Family) => `port-${FAMILY_WORD[family]}-${number}`
const policyChain = (direction: Direction, { id }: Policy) => `${direction}-${id}`
const keyOfSelections = (selections: readonly PodSelection[]) => exactKey(selections.map(({ key }) => key).sort())
const keyOfPorts = (ports: readonly NamedPort[]) =>
  exactKey(ports.map(({ protocol, name }) => exactKey([protocol, name])).sort())
const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((item, i) => item === b[i])
