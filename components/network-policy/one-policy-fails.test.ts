/** A network policy of which no rules can be made is left out alone, and isolates its pods. */
import { expect, test } from "bun:test"
import type { NetworkPolicy } from "../../pkg/api/networking/v1/networkpolicy.ts"
import { VirtualClock } from "../../pkg/clock/virtual.ts"
import { silent } from "../../pkg/log/log.ts"
import { PAGE_BYTES } from "../../pkg/quarantine/in-hand.ts"
import { Quarantine } from "../../pkg/quarantine/quarantine.ts"
import { NOTHING_RECORDED, type QuarantineRecord } from "../../pkg/quarantine/record.ts"
import { Enforcer } from "./enforcer.ts"
import type { PodFacts } from "./pod-facts.ts"

const policyOf = (name: string, ingress: () => NetworkPolicy["spec"]["ingress"]): NetworkPolicy => ({
  apiVersion: "networking.k8s.io/v1",
  kind: "NetworkPolicy",
  metadata: { namespace: "x", name, uid: name },
  spec: {
    podSelector: { matchLabels: { app: name } },
    policyTypes: ["Ingress"],
    get ingress() {
      return ingress()
    },
  },
})
const FRIENDS = () => [{ from: [{ podSelector: { matchLabels: { role: "friend" } } }] }]
const podOf = (name: string, i: number): PodFacts => ({
  key: `x/${name}`,
  namespace: "x",
  labels: { app: name },
  addresses: [`10.42.0.${i}`],
  ports: [],
  isHere: true,
})

/** A node with three pods, whose kernel takes everything. */
function onNode(record: Partial<QuarantineRecord> = {}) {
  const clock = new VirtualClock(0)
  const told: string[] = []
  const policies: NetworkPolicy[] = []
  const pods = ["good", "bad", "free"].map(podOf)
  const page = new Uint8Array(PAGE_BYTES)
  const before = { ...NOTHING_RECORDED, ...record }
  const quarantine = new Quarantine({ page, before, boot: "b", save: () => undefined, clock, log: silent })
  const written: string[] = []
  let refusals = 0
  const enforcer = new Enforcer({
    clock,
    log: silent,
    host: { run: async () => "", feed: async (_program, _args, input) => void written.push(input) },
    ownsMachine: false,
    families: ["IPv4"],
    bridge: "cni0",
    quarantine,
    everything: () => ({ namespaces: [], policies, pods }),
    unenforceable: () => undefined,
    refused: () => undefined,
    leftOut: (policy, reason) => void told.push(`${policy.metadata.name} ${reason}`),
    refusals: { set: (number) => void (refusals = number) },
  })
  return {
    clock,
    told,
    enforcer,
    quarantine,
    written: () => written.at(-1)!,
    all: () => written.join(),
    refusals: () => refusals,
    set(policy: NetworkPolicy) {
      policies.push(policy)
      enforcer.setPolicy(policy)
    },
    async [Symbol.asyncDispose]() {
      await enforcer.stop()
      quarantine.end()
    },
  }
}
const isolated = (text: string) => [...text.matchAll(/(10\.42\.0\.\d) : goto group/g)].map(([, address]) => address)
const allowing = (text: string) => text.match(/add rule \S+ \S+ ingress-\d+ .*accept/g) ?? []

test.each(["before", "after"])(
  "a policy of which no rules can be made isolates its own pods and no others, %s the table is in the kernel",
  async (when) => {
    // given
    await using node = onNode()
    let fails = true
    const bad = policyOf("bad", () => {
      if (fails) throw new TypeError("poison")
      return FRIENDS()
    })
    const good = policyOf("good", FRIENDS)
    // when
    if (when === "before") node.set(bad)
    await node.enforcer.start()
    node.set(good)
    await node.clock.advance(0)
    if (when === "after") node.set(bad)
    await node.clock.advance(0)
    await node.enforcer.inForce()
    // then
    const { told, refusals } = node
    expect(told).toEqual(["bad SyncFailed"])
    expect(refusals()).toBe(1)
    node.enforcer.setNamespace("y", {})
    expect(node.enforcer.problem).toBeUndefined()
    // and it holds when its cause is gone, without a change of the policy
    expect(allowing(node.all())).toHaveLength(1)
    fails = false
    await node.clock.advance(3000)
    expect(refusals()).toBe(0)
    expect(allowing(node.all())).toHaveLength(2)
    expect(new Set(isolated(node.all()))).toEqual(new Set(["10.42.0.0", "10.42.0.1"]))
  },
)

test("a policy that is set aside isolates its own pods, until it is freed", async () => {
  // given
  const item = { place: "network-policy", key: "x/bad", since: "2026-01-01T00:00:00Z", why: "w" }
  await using node = onNode({ setAside: [item] })
  node.set(policyOf("good", FRIENDS))
  node.set(policyOf("bad", FRIENDS))
  await node.enforcer.start()
  expect(node.told).toEqual(["bad SetAside"])
  expect(isolated(node.written())).toEqual(["10.42.0.0", "10.42.0.1"])
  expect(allowing(node.written())).toHaveLength(1)
  // when
  node.quarantine.reread(NOTHING_RECORDED)
  await node.clock.advance(0)
  // then
  expect(allowing(node.written())).toHaveLength(1)
  expect(node.refusals()).toBe(0)
})
