import { describe, expect, test } from "bun:test"
import type { NetworkPolicy } from "../../pkg/api/networking/v1/networkpolicy.ts"
import { policyRules } from "./policy-rules.ts"
import { PolicyTable } from "./policy-table.ts"
import type { LabelSelector } from "../../pkg/apimachinery/meta.ts"
import { seededRandom, type Random } from "../../pkg/clock/random.ts"
import { isAllowed, type Labels, type PeerInput, type PortInput, type World } from "./testing/is-allowed.fixtures.ts"
import { Mirror } from "./testing/mirror.fixtures.ts"
import { CASES, expects, NAMESPACES, PODS, PORTS, PROTOCOLS } from "./testing/truth-tables.fixtures.ts"
import { isForwarded } from "./testing/verdict.fixtures.ts"
import {
  applyTo,
  changed,
  factsOf,
  isHere,
  keyOf,
  ninePods,
  NO_WORLD,
  podOf,
  rulesOf,
} from "./testing/world.fixtures.ts"

const OPTIONS = { families: ["IPv4"], bridge: "cni0" } as const

/**
 * Returns the connections for which the table decides otherwise than the policies, among all pods, ports and protocols.
 */
function differences(table: PolicyTable, world: World): readonly string[] {
  return world.pods.flatMap((from) =>
    world.pods.flatMap((to) =>
      PORTS.flatMap((port) =>
        PROTOCOLS.flatMap((protocol) => {
          const allowed = isAllowed(world, from, to, port, protocol)
          // The packets of a connection to a pod of another node are also judged there.
          const states = isHere(from) && isHere(to) ? (["new", "established"] as const) : (["new"] as const)
          return states.flatMap((state) => {
            const connection = { client: from.address, server: to.address, port, protocol, state }
            const forwarded = isForwarded(table.table, connection)
            return allowed === forwarded
              ? []
              : [`${keyOf(from)} → ${keyOf(to)} ${port}/${protocol} ${state}: ${forwarded}`]
          })
        }),
      ),
    ),
  )
}

describe("upstream's truth tables", () => {
  test.each(CASES)("$title", ({ pods, steps }) => {
    // given nine pods and no policies
    let world = ninePods()
    const table = new PolicyTable(OPTIONS)
    applyTo(table, NO_WORLD, world)
    for (const { changes, checks } of steps) {
      // when policies and labels change
      const before = world
      for (const change of changes) world = changed(world, change)
      applyTo(table, before, world)
      // then the pods that upstream has connect as it says
      for (const check of checks)
        for (const from of pods)
          for (const to of pods) {
            if (from === to) continue // undefined, as upstream has it
            const allowed = isAllowed(world, podOf(world, from), podOf(world, to), check.port, check.protocol)
            expect([from, to, check.port, allowed]).toEqual([from, to, check.port, expects(check, from, to)])
          }
      // and the table says of all pods, ports and protocols what the policies say
      expect(differences(table, world)).toEqual([])
    }
  })
})

/** A world that differs from the last one in one thing, by chance: any field of a policy may stand there. */
function grown(world: World, random: Random): World {
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random.next() * of.length)]!
  const some = <T>(of: readonly T[]): T[] => of.filter(() => random.next() < 0.5)
  const selector = (key: string, values: readonly string[]): LabelSelector =>
    pick<LabelSelector>([
      {},
      { matchLabels: { [key]: pick(values) } },
      { matchExpressions: [{ key, operator: pick(["In", "NotIn"]), values: [pick(values), pick(values)] }] },
      { matchExpressions: [{ key: pick([key, "extra"]), operator: pick(["Exists", "DoesNotExist"]) }] },
    ])
  const pods = () => selector("pod", PODS)
  const namespaces = () => selector("kubernetes.io/metadata.name", NAMESPACES)
  const peer = (): PeerInput =>
    pick<() => PeerInput>([
      () => ({ podSelector: pods() }),
      () => ({ namespaceSelector: namespaces() }),
      () => ({ podSelector: pods(), namespaceSelector: namespaces() }),
      () => ({ ipBlock: { cidr: `10.42.0.${pick([8, 10, 12, 16])}/${pick([28, 29, 30, 32])}` } }),
      () => ({
        ipBlock: {
          cidr: "10.42.0.0/27",
          except: [`10.42.0.${pick([8, 12, 16])}/${pick([29, 30, 31])}`, "10.42.0.14/32"],
        },
      }),
    ])()
  const port = (): PortInput =>
    pick<() => PortInput>([
      () => ({ protocol: pick(PROTOCOLS) }),
      () => ({ port: pick([80, 81, 79]), protocol: pick(PROTOCOLS) }),
      () => ({ port: pick([1, 80]), endPort: pick([80, 81, 65535]) }),
      () => ({ port: pick(["serve-80-tcp", "serve-81-udp", "serve-80-sctp"]), protocol: pick(PROTOCOLS) }),
    ])()
  const peers = () => Array.from({ length: pick([0, 1, 1, 2]) }, peer)
  const ports = () => Array.from({ length: pick([0, 0, 1, 2, 3]) }, port)
  const rules = <T>(rule: () => T): T[] => Array.from({ length: pick([0, 1, 2]) }, rule)
  return pick<() => World>([
    () =>
      changed(world, {
        policy: {
          namespace: pick(NAMESPACES),
          name: pick(["one", "two", "three"]),
          podSelector: pods(),
          policyTypes: pick([["Ingress"], ["Egress"], ["Ingress", "Egress"]] as const),
          ingress: rules(() => ({ from: peers(), ports: ports() })),
          egress: rules(() => ({ to: peers(), ports: ports() })),
        },
      }),
    () => ({ ...world, policies: some(world.policies) }),
    () =>
      changed(world, { pod: keyOf(pick(world.pods)), labels: pick<Labels>([{ extra: "yes" }, { pod: pick(PODS) }]) }),
    () => changed(world, { namespace: pick(NAMESPACES), labels: { extra: pick(["yes", "no"]) } }),
    // One pod goes, and another comes with its address.
    () => {
      const gone = pick(world.pods)
      return {
        ...world,
        pods: [...world.pods.filter((one) => one !== gone), { ...gone, name: `${gone.name}x`.slice(-3) }],
      }
    },
  ])()
}

test("the kernel is asked to check only those directions in which pods are isolated, and the pods of this node", () => {
  // given a policy in a namespace without pods
  const table = new PolicyTable(OPTIONS)
  const policy = { namespace: "x", name: "web", podSelector: {}, policyTypes: ["Ingress"] as const }
  table.setPolicy("x/web", rulesOf(policy))
  const hooks = () => [...table.table.whole().matchAll(/add chain \S+ \S+ (\S+) \{/g)].map(([, name]) => name)
  const { table: rules } = table
  expect(hooks()).toEqual([])
  // when it isolates a pod of another node
  const pod = factsOf({ namespace: "x", name: "a", labels: {}, address: "10.42.0.8", ports: [] })
  table.setPod({ ...pod, isHere: false })
  // then connections to it are checked when they begin, and where this node translates them
  expect(hooks()).toEqual(["ingress-forward"])
  expect(rules.rulesOf("ingress-forward")).not.toContain("ct reply ip saddr vmap @ingress-ip")
  expect(rules.rulesOf("ingress-forward")).toContain("ct status snat,dnat ct reply ip saddr vmap @ingress-ip-elsewhere")
  // and when it is on this node, all its packets are
  table.setPod(pod)
  expect(rules.rulesOf("ingress-forward")).toContain("ct reply ip saddr vmap @ingress-ip")
  expect([...rules.elements("ingress-ip-elsewhere")]).toEqual([])
  // and without it, none
  table.removePod(pod.key)
  expect(hooks()).toEqual([])
})

describe("a table under random changes", () => {
  test.each([1, 2, 3])("allows what the policies allow, and writes no more than the difference (seed %d)", (seed) => {
    const random = seededRandom(seed)
    const table = new PolicyTable(OPTIONS)
    const mirror = new Mirror()
    let world = ninePods()
    applyTo(table, NO_WORLD, world)
    mirror.take(table.table.whole())
    for (let i = 0; i < 40; i++) {
      const before = world
      world = grown(world, random)
      applyTo(table, before, world)
      // then
      expect([i, differences(table, world)]).toEqual([i, []])
      // and the commands lead a kernel that takes nothing wrong to the same content
      mirror.take(table.table.changes())
      const whole = new Mirror()
      whole.take(table.table.whole())
      expect([i, mirror.content()]).toEqual([i, whole.content()])
    }
    // when all is gone, then so are its sets and chains
    applyTo(table, world, NO_WORLD)
    mirror.take(table.table.changes())
    const empty = new Mirror()
    empty.take(new PolicyTable(OPTIONS).table.whole())
    expect(mirror.content()).toEqual(empty.content())
  })
})

test("a policy with many peers and many named ports has as many rules as one with few", () => {
  // given a rule whose pairs of peers and ports are 360,000
  const many = (count: number) => ({
    metadata: { name: "many", namespace: "x" },
    spec: {
      podSelector: {},
      policyTypes: ["Ingress"],
      ingress: [
        {
          from: [
            ...Array.from({ length: count }, (_, i) => ({ podSelector: { matchLabels: { a: `v${i}` } } })),
            ...Array.from({ length: count }, (_, i) => ({ ipBlock: { cidr: `192.0.${i >> 8}.${i & 255}/32` } })),
          ],
          ports: [
            ...Array.from({ length: count }, (_, i) => ({ port: `p${i}`, protocol: "TCP" as const })),
            ...Array.from({ length: count }, (_, i) => ({ port: i * 2 + 1, protocol: "UDP" as const })),
          ],
        },
      ],
    },
  })
  const rulesWith = (count: number) => {
    const table = new PolicyTable({ ...OPTIONS, families: ["IPv4", "IPv6"] })
    table.setPolicy("x/many", policyRules(many(count) as unknown as NetworkPolicy))
    return table.table.whole().split("\n").length
  }
  // then
  expect(rulesWith(600)).toBe(rulesWith(2))
})
