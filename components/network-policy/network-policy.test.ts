/** The commands that the component gives to a machine, which only records them. */
import { describe, expect, test } from "bun:test"
import { Event } from "../../pkg/api/core/v1/event/event.ts"
import { Namespace } from "../../pkg/api/core/v1/namespace.ts"
import { Pod } from "../../pkg/api/core/v1/pod/pod.ts"
import { NetworkPolicy } from "../../pkg/api/networking/v1/networkpolicy.ts"
import { Registry } from "../../pkg/metrics/registry.ts"
import { startCluster } from "../cluster/testing/cluster.ts"
import { createNetworkPolicy } from "./network-policy.ts"
import { podObject } from "./testing/packets.fixtures.ts"

/** A part of rules that the machine refuses. */
const REFUSED = "6666"
/** Returns the rules of policies that allow something. */
const allowing = (text: string): readonly string[] => text.match(/add rule \S+ \S+ ingress-\d+ .*accept/g) ?? []
const OLD = "table inet k3ts-network-policy\n"

async function onMachine({ nft = "nftables v1.0.6 (Lester Gooch #5)", tables = "" } = {}) {
  const cluster = await startCluster({
    components: { scheduler: false, controllers: false },
    admission: { disabled: ["ServiceAccount"] },
  })
  const { client } = cluster
  const machine = {
    /** The commands of nft that only read. */
    asked: [] as string[],
    /** The rules that were written. */
    written: [] as string[],
    tables,
    refuses: false,
    /** The number of rules that allow something, and the most that the machine takes. */
    rules: 0,
    most: Infinity,
    /** The number of rule sets that were only checked. */
    checked: 0,
    chain: "drop",
  }
  const metrics = new Registry()
  const component = createNetworkPolicy(cluster.contextFor("test:network-policy", ["system:masters"]), {
    nodeName: "node-0",
    families: ["IPv4"],
    bridge: "cni0",
    dnsAddresses: ["10.43.0.10"],
    metrics,
    host: {
      run(_program, args) {
        machine.asked.push(args.join(" "))
        if (args[0] === "--version") return nft === "" ? Promise.reject(new Error("ENOENT")) : Promise.resolve(nft)
        return Promise.resolve(args[1] === "tables" ? machine.tables : args[1] === "chain" ? machine.chain : "")
      },
      feed(_program, args, input) {
        if (nft === "") return Promise.reject(new Error("ENOENT"))
        const rules = (input.includes("delete table") ? 0 : machine.rules) + allowing(input).length
        const isRefused = input.includes(REFUSED) || rules > machine.most
        if (args.includes("--check")) {
          machine.checked++
          return isRefused ? Promise.reject(new Error("nft failed with code 1")) : Promise.resolve()
        }
        if (machine.refuses) return Promise.reject(new Error("nft failed with code 1: Device or resource busy"))
        if (isRefused) return Promise.reject(new Error("nft failed with code 1: Message too long"))
        machine.rules = rules
        machine.written.push(input)
        return Promise.resolve()
      },
    },
  })
  await component.start(new AbortController().signal)
  await client.create(Namespace, { metadata: { name: "x" } })
  return {
    cluster,
    client,
    machine,
    component,
    refusals: () => Number(/^k3ts_network_policies_refused (\d+)/m.exec(metrics.text())![1]),
    /** Writes a pod; `address` is what its status shows. */
    async pod(name: string, labels: Record<string, string>, address?: string): Promise<Pod> {
      const pod = await client.create(Pod, podObject({ namespace: "x", name, labels, address: "", ports: [] }))
      if (address === undefined) return pod
      const body = { status: { phase: "Running", podIP: address } }
      return client.patch(Pod, pod.metadata, { type: "merge", body }, { subresource: "status" })
    },
    policy: (name: string, labels: Record<string, string>) =>
      client.create(NetworkPolicy, {
        metadata: { name, namespace: "x" },
        spec: {
          podSelector: { matchLabels: labels },
          ingress: [{ from: [{ podSelector: { matchLabels: { role: "friend" } } }] }],
        },
      }),
    async [Symbol.asyncDispose]() {
      await component.stop()
      await cluster.stop()
    },
  }
}

describe("a node without policies", () => {
  test("lists the tables of an earlier run once, and does not delay pods", async () => {
    await using on = await onMachine()
    const pod = await on.pod("a", {})
    await on.component.admit(pod, ["10.42.0.5"])
    await on.cluster.settle()
    await on.cluster.advance("1h")
    expect([on.machine.asked, on.machine.written]).toEqual([["list tables inet"], []])
  })

  test("removes the table of an earlier run", async () => {
    await using on = await onMachine({ tables: OLD })
    await on.cluster.settle()
    expect(on.machine.written).toEqual([`delete table inet k3ts-network-policy\n`])
  })

  test("removes its table with the last policy", async () => {
    await using on = await onMachine()
    await on.policy("web", {})
    await on.cluster.settle()
    on.machine.tables = OLD
    await on.client.delete(NetworkPolicy, { name: "web", namespace: "x" })
    await on.cluster.settle()
    expect(on.machine.written.at(-1)).toBe("delete table inet k3ts-network-policy\n")
    expect(on.component.problem?.()).toBeUndefined()
  })
})

test("a policy whose rules the kernel refuses isolates its own pods, is named by an Event, and no other policy is off", async () => {
  // given policies, and a pod of each
  await using on = await onMachine()
  for (const [i, name] of ["a", "b", "c", "d"].entries()) {
    await on.policy(name, { app: name })
    await on.pod(`${name}-1`, { app: name }, `10.42.0.${i + 5}`)
  }
  await on.cluster.settle()
  // when one is changed to what the kernel refuses
  const b = await on.client.get(NetworkPolicy, { name: "b", namespace: "x" })
  const changed = await on.client.update(NetworkPolicy, {
    ...b,
    spec: { ...b.spec, ingress: [{ ports: [{ port: Number(REFUSED), protocol: "TCP" }] }] },
  })
  await on.cluster.settle()
  // then
  const table = on.machine.written.at(-1)!
  expect(allowing(table)).toHaveLength(3)
  expect(table.match(/10\.42\.0\.\d : goto group-\d+/g)).toHaveLength(4)
  expect(on.component.problem?.()).toBeUndefined()
  await on.cluster.advance("1s")
  const events = (await on.client.list(Event)).items.filter(({ reason }) => reason === "PolicyRefused")
  expect(events.map(({ involvedObject, message }) => [involvedObject.name, message])).toEqual([
    ["b", expect.stringContaining("nft failed with code 1: Message too long")],
  ])
  expect(on.refusals()).toBe(1)
  // and when it is mended, it holds again
  await on.client.update(NetworkPolicy, { ...changed, spec: b.spec })
  await on.cluster.settle()
  expect(allowing(on.machine.written.at(-1)!)).toHaveLength(1)
  expect(on.refusals()).toBe(0)
})

test("where the kernel takes not all policies together, those that it had stay in force, and few rule sets are tried", async () => {
  // given as many policies as the kernel takes
  await using on = await onMachine()
  const names = Array.from({ length: 64 }, (_, i) => `p${i}`)
  for (const name of names) await on.policy(name, { app: name })
  await on.cluster.settle()
  on.machine.most = names.length
  // when another one is too much
  await on.policy("too-much", { app: "too-much" })
  await on.cluster.settle()
  // then
  const events = (await on.client.list(Event)).items.filter(({ reason }) => reason === "PolicyRefused")
  expect(events.map(({ involvedObject }) => involvedObject.name)).toEqual(["too-much"])
  expect(allowing(on.machine.written.at(-1)!)).toHaveLength(names.length)
  expect(on.machine.checked).toBeLessThan(6)
})

describe("a pod that starts", () => {
  test("is added as elements of the table, and continues when the kernel has them", async () => {
    // given a policy, and a pod that it isolates
    await using on = await onMachine()
    await on.policy("web", { app: "web" })
    await on.pod("web-1", { app: "web" }, "10.42.0.5")
    await on.cluster.settle()
    on.machine.written.length = 0
    // when
    const pod = await on.pod("web-2", { app: "web", role: "friend" })
    await on.component.admit(pod, ["10.42.0.6"])
    // then
    const table = "inet k3ts-network-policy"
    expect(
      on.machine.written
        .join("")
        .replaceAll(/group-\d+/g, "group")
        .trim()
        .split("\n"),
    ).toEqual([
      `add element ${table} ingress-ip { 10.42.0.6 : goto group }`,
      `add element ${table} selves-ip { 10.42.0.6 . 10.42.0.6 }`,
      expect.stringMatching(/^add element inet k3ts-network-policy pods-ip-\d+ \{ 10\.42\.0\.6 \}$/),
    ])
    // and a second time it waits for nothing
    await on.component.admit(pod, ["10.42.0.6"])
    expect(on.machine.written).toHaveLength(1)
  })

  test("waits up to ten seconds if the kernel refuses the rules, and reports why", async () => {
    await using on = await onMachine()
    await on.policy("web", { app: "web" })
    await on.cluster.settle()
    // given
    on.machine.refuses = true
    const pod = await on.pod("web-1", { app: "web" })
    const outcome = on.component.admit(pod, ["10.42.0.6"]).catch((err: Error) => err.message)
    await on.cluster.settle()
    expect(on.component.problem?.()).toContain("Device or resource busy")
    // when
    await on.cluster.advance("10s")
    // then
    expect(await outcome).toBe(
      "network policies are not in force after 10 s: nft failed with code 1: Device or resource busy",
    )
    // and when the kernel takes rules again, all are written, with the pod
    on.machine.refuses = false
    await on.cluster.advance("1s")
    expect(on.machine.written.at(-1)).toStartWith("add table inet k3ts-network-policy\ndelete table")
    expect(on.machine.written.at(-1)).toContain("10.42.0.6 : goto")
    expect(on.component.problem?.()).toBeUndefined()
  })
})

describe("a node that cannot enforce policies", () => {
  test("reports that in an Event of each policy, and starts pods", async () => {
    await using on = await onMachine({ nft: "" })
    await on.policy("early", {})
    await on.cluster.settle()
    await on.policy("late", {})
    await on.component.admit(await on.pod("a", {}), ["10.42.0.5"])
    await on.cluster.settle()
    const { items } = await on.client.list(Event, { namespace: "x" })
    const told = items.map(({ involvedObject, reason, message }) => [involvedObject.name, reason, message])
    expect(told.sort(([a = ""], [b = ""]) => a.localeCompare(b))).toEqual(
      ["early", "late"].map((name) => [
        name,
        "NotEnforced",
        "The policy is not enforced on this node: nft is not on the PATH: apt-get install nftables",
      ]),
    )
    expect(on.machine.written).toEqual([])
  })
})

test("rules that another program has removed are written again within half a minute", async () => {
  await using on = await onMachine()
  await on.policy("web", {})
  await on.cluster.settle()
  await on.cluster.advance("30s")
  expect(on.machine.written).toHaveLength(1)
  on.machine.chain = ""
  await on.cluster.advance("30s")
  expect(on.machine.written).toHaveLength(2)
  expect(on.machine.written[1]).toBe(on.machine.written[0]!)
})

test("policies apply to the node's DNS server as to a CoreDNS pod", async () => {
  await using on = await onMachine()
  await on.client.create(NetworkPolicy, {
    metadata: { name: "names", namespace: "x" },
    spec: {
      podSelector: {},
      policyTypes: ["Egress"],
      egress: [
        {
          to: [
            {
              namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "kube-system" } },
              podSelector: { matchLabels: { "k8s-app": "kube-dns" } },
            },
          ],
          ports: [{ protocol: "UDP", port: "dns" }],
        },
      ],
    },
  })
  await on.cluster.settle()
  const sets = on.machine.written
    .at(-1)!
    .split("\n")
    .filter((line) => line.startsWith("add element"))
  expect(sets.map((line) => line.replace(/^.*\{ (.*) \}$/, "$1"))).toEqual(["10.43.0.10", "10.43.0.10 . 53"])
})
