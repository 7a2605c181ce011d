import { describe, expect, test } from "bun:test"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { decodeObject } from "../../../pkg/apimachinery/decoding/decode.ts"
import { OwnPorts } from "../../../pkg/component/own-ports.ts"
import { NO_PRESSURE, type Pressure } from "../model/pressure.ts"
import { podOf } from "../testing/pod.ts"
import type { PodSpecInput } from "../testing/simulated-kubelet.fixtures.ts"
import { admit } from "./admission.ts"

type Metadata = NonNullable<Parameters<typeof podOf>[1]>["metadata"]

/** A pod with one container that asks for `requests`. */
const asking = (requests: Record<string, string>, more: Partial<PodSpecInput> = {}): Partial<PodSpecInput> => ({
  containers: [{ name: "c", image: "i", resources: { requests } }],
  ...more,
})
const onPort = (hostPort: number, hostIP?: string): Partial<PodSpecInput> => ({
  containers: [
    { name: "c", image: "i", ports: [{ containerPort: 80, hostPort, ...(hostIP === undefined ? {} : { hostIP }) }] },
  ],
})

const OWN_PORTS = new OwnPorts([{ port: 6443, protocol: "TCP", holder: "the API server" }])
const ALLOCATABLE = { cpu: "4", memory: "8Gi", "ephemeral-storage": "10Gi", pods: "3", "example.com/gpu": "2" }

interface Row {
  readonly title: string
  readonly pod: Partial<PodSpecInput>
  readonly metadata?: Metadata
  readonly others?: readonly Partial<PodSpecInput>[]
  readonly node?: { readonly labels?: Record<string, string>; readonly taints?: NonNullable<Node["spec"]["taints"]> }
  readonly pressure?: Partial<Pressure>
  readonly hasAppArmor?: boolean
  /** `reason: message`; taken when it is left out. */
  readonly rejection?: string
}

function request(row: Row, more: { preempt?: (pods: readonly Pod[]) => void; fresh?: Node; noNode?: boolean } = {}) {
  const node = (labels: Record<string, string>): Node =>
    decodeObject(Node, {
      metadata: { name: "node-0", labels },
      spec: { taints: row.node?.taints ?? [] },
      status: { allocatable: ALLOCATABLE },
    }).object
  return {
    pod: podOf({ nodeName: "node-0", ...row.pod }, row.metadata === undefined ? {} : { metadata: row.metadata }),
    others: () =>
      (row.others ?? []).map((spec, i) =>
        podOf({ nodeName: "node-0", ...spec }, { metadata: { name: `o${i}`, uid: `o${i}` } }),
      ),
    node: more.noNode === true ? undefined : node(row.node?.labels ?? {}),
    ownPorts: OWN_PORTS,
    pressure: { ...NO_PRESSURE, ...row.pressure },
    hasAppArmor: row.hasAppArmor ?? false,
    operatingSystem: "linux",
    freshNode: async () => more.fresh ?? node(row.node?.labels ?? {}),
    preempt: async (pods: readonly Pod[]) => more.preempt?.(pods),
  }
}

const critical = { priority: 2_000_000_000 }
const taint = (effect: "NoExecute" | "NoSchedule") => ({ taints: [{ key: "k", value: "v", effect }] })
const shortOf = (resource: string, requested: number, used: number, capacity: number) =>
  `OutOf${resource}: Node didn't have enough resource: ${resource}, requested: ${requested}, used: ${used}, ` +
  `capacity: ${capacity}`

const rows: readonly Row[] = [
  { title: "an ordinary pod", pod: {} },
  { title: "all of the free cpu", pod: asking({ cpu: "3" }), others: [asking({ cpu: "1" })] },
  {
    title: "too much cpu",
    pod: asking({ cpu: "3500m" }),
    others: [asking({ cpu: "1" })],
    rejection: shortOf("cpu", 3500, 1000, 4000),
  },
  {
    title: "too much memory",
    pod: asking({ memory: "9Gi" }),
    rejection: shortOf("memory", 9 * 2 ** 30, 0, 8 * 2 ** 30),
  },
  {
    title: "too much ephemeral storage",
    pod: asking({ "ephemeral-storage": "11Gi" }),
    rejection: shortOf("ephemeral-storage", 11 * 2 ** 30, 0, 10 * 2 ** 30),
  },
  { title: "one pod too many", pod: {}, others: [{}, {}, {}], rejection: shortOf("pods", 1, 3, 3) },
  {
    title: "one pod too many that also requests too much",
    pod: asking({ cpu: "9" }),
    others: [{}, {}, {}],
    rejection: shortOf("pods", 1, 3, 3),
  },
  {
    title: "too many devices",
    pod: asking({ "example.com/gpu": "2" }),
    others: [asking({ "example.com/gpu": "1" })],
    rejection: shortOf("example.com/gpu", 2, 1, 2),
  },
  { title: "a device that the Node does not list", pod: asking({ "example.com/fpga": "1" }) },
  {
    title: "huge pages on a node without any",
    pod: asking({ "hugepages-2Mi": "4Mi", cpu: "1" }),
    rejection: shortOf("hugepages-2Mi", 4 * 2 ** 20, 0, 0),
  },
  {
    title: "an init container that requests more than the containers",
    pod: { initContainers: [{ name: "i", image: "i", resources: { requests: { cpu: "5" } } }] },
    rejection: shortOf("cpu", 5000, 0, 4000),
  },
  {
    title: "a node selector that does not match",
    pod: { nodeSelector: { disk: "ssd" } },
    rejection: "NodeAffinity: Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  },
  { title: "a node selector that matches", pod: { nodeSelector: { disk: "ssd" } }, node: { labels: { disk: "ssd" } } },
  {
    title: "another node's name",
    pod: { nodeName: "node-1" },
    rejection: "NodeName: Predicate NodeName failed: node(s) didn't match the requested node name",
  },
  {
    title: "a host port that is in use",
    pod: onPort(80),
    others: [onPort(80)],
    rejection: "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  },
  {
    title: "a host port that is in use on one address",
    pod: onPort(80),
    others: [onPort(80, "127.0.0.1")],
    rejection: "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  },
  {
    title: "a host port on which k3ts itself listens",
    pod: onPort(6443),
    rejection:
      "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports: 6443/TCP " +
      "belongs to the API server",
  },
  {
    title: "a host port on which k3ts itself listens, on one address",
    pod: onPort(6443, "192.0.2.1"),
    rejection:
      "NodePorts: Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports: 6443/TCP " +
      "belongs to the API server",
  },
  { title: "a host port on another address", pod: onPort(80, "127.0.0.2"), others: [onPort(80, "127.0.0.1")] },
  {
    title: "a NoExecute taint",
    pod: {},
    node: taint("NoExecute"),
    rejection: "TaintToleration: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
  },
  {
    title: "a NoExecute taint that it tolerates",
    pod: { tolerations: [{ operator: "Exists" }] },
    node: taint("NoExecute"),
  },
  { title: "a NoSchedule taint", pod: {}, node: taint("NoSchedule") },
  {
    title: "a static pod on a node with a taint",
    pod: {},
    metadata: { annotations: { "kubernetes.io/config.source": "file" } },
    node: taint("NoExecute"),
  },
  {
    title: "another operating system",
    pod: { os: { name: "windows" } },
    rejection: "PodOSNotSupported: Failed to admit pod as the OS field doesn't match node OS",
  },
  {
    title: "another operating system by label",
    pod: {},
    metadata: { labels: { "kubernetes.io/os": "windows" } },
    rejection:
      "PodOSSelectorNodeLabelDoesNotMatch: Failed to admit pod as the `kubernetes.io/os` label doesn't match " +
      "node label",
  },
  {
    title: "SupplementalGroupsPolicy Strict when the runtime does not support it",
    pod: { securityContext: { supplementalGroupsPolicy: "Strict" } },
    rejection: "SupplementalGroupsPolicyNotSupported: SupplementalGroupsPolicy=Strict is not supported in this node",
  },
  {
    title: "an unsafe sysctl",
    pod: { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } },
    rejection: 'SysctlForbidden: forbidden sysctl: "kernel.msgmax" not allowlisted',
  },
  {
    title: "a sysctl of the node's own network",
    pod: { hostNetwork: true, securityContext: { sysctls: [{ name: "net.ipv4.tcp_syncookies", value: "1" }] } },
    rejection: 'SysctlForbidden: forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host Net enabled',
  },
  { title: "a safe sysctl", pod: { securityContext: { sysctls: [{ name: "net.ipv4.tcp_syncookies", value: "1" }] } } },
  {
    title: "an AppArmor profile on a node without AppArmor",
    pod: { securityContext: { appArmorProfile: { type: "RuntimeDefault" } } },
    rejection: "AppArmor: Cannot enforce AppArmor: AppArmor is not enabled on the host",
  },
  {
    title: "an unconfined AppArmor profile on a node without AppArmor",
    pod: { securityContext: { appArmorProfile: { type: "Unconfined" } } },
  },
  {
    title: "an AppArmor profile on a node with AppArmor",
    pod: { securityContext: { appArmorProfile: { type: "RuntimeDefault" } } },
    hasAppArmor: true,
  },
  {
    title: "a BestEffort pod under memory pressure",
    pod: {},
    pressure: { memory: true },
    rejection: "Evicted: The node had condition: [MemoryPressure]. ",
  },
  { title: "a Burstable pod under memory pressure", pod: asking({ memory: "1Mi" }), pressure: { memory: true } },
  {
    title: "a BestEffort pod that tolerates memory pressure",
    pod: { tolerations: [{ key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" }] },
    pressure: { memory: true },
  },
  {
    title: "any pod under memory and disk pressure",
    pod: asking({ memory: "1Mi" }),
    pressure: { memory: true, disk: true },
    rejection: "Evicted: The node had condition: [MemoryPressure DiskPressure]. ",
  },
  { title: "a critical pod under all pressures", pod: critical, pressure: { memory: true, disk: true, pid: true } },
  {
    title: "a pressure and an unsafe sysctl: the pressure is reported",
    pod: { securityContext: { sysctls: [{ name: "kernel.msgmax", value: "1" }] } },
    pressure: { disk: true },
    rejection: "Evicted: The node had condition: [DiskPressure]. ",
  },
]

describe("a node admits a pod, or rejects it with the reason", () => {
  test.each(rows)("$title", async (row) => {
    const rejection = await admit(request(row))
    expect(rejection === undefined ? undefined : `${rejection.reason}: ${rejection.message}`).toBe(row.rejection)
  })

  test("a node without its Node object admits no pod", async () => {
    expect(await admit(request({ title: "", pod: {} }, { noNode: true }))).toEqual({
      reason: "InvalidNodeInfo",
      message: "Kubelet cannot get node info.",
    })
  })

  test("a pod is admitted whose node selector matches a label that was just added", async () => {
    const row: Row = { title: "", pod: { nodeSelector: { disk: "ssd" } } }
    const fresh = request({ ...row, node: { labels: { disk: "ssd" } } }).node!
    expect(await admit(request(row, { fresh }))).toBeUndefined()
  })
})

describe("preemption for a critical pod", () => {
  const full: readonly Partial<PodSpecInput>[] = [
    asking({ cpu: "2", memory: "1Gi" }, { priority: 10 }),
    asking({ cpu: "1" }, { priority: 10 }),
    { ...critical, ...asking({ cpu: "1" }) },
  ]
  const preempted = async (pod: Partial<PodSpecInput>, others = full) => {
    const gone: string[] = []
    const rejection = await admit(
      request(
        { title: "", pod: { ...critical, ...pod }, others },
        { preempt: (pods) => gone.push(...pods.map(({ metadata }) => metadata.name!)) },
      ),
    )
    return rejection ?? gone
  }

  test("ends as few and as small pods as possible, and no critical ones", async () => {
    expect(await preempted(asking({ cpu: "1" }))).toEqual(["o1"])
    expect(await preempted(asking({ cpu: "2" }))).toEqual(["o0"])
    expect(await preempted(asking({ cpu: "3" }))).toEqual(["o0", "o1"])
  })

  test("ends pods of a lower QoS class first", async () => {
    const guaranteed = {
      containers: [
        {
          name: "c",
          image: "i",
          resources: { limits: { cpu: "2", memory: "1Gi" }, requests: { cpu: "2", memory: "1Gi" } },
        },
      ],
    }
    expect(await preempted(asking({ cpu: "1" }), [guaranteed, asking({ cpu: "2" })])).toEqual(["o1"])
    // A pod without requests frees nothing but its place.
    expect(await preempted({}, [{}, asking({ cpu: "1" }), guaranteed])).toEqual(["o0"])
  })

  test("ends no pod when all of them would not be enough", async () => {
    expect(await preempted(asking({ cpu: "4" }))).toEqual({
      reason: "UnexpectedAdmissionError",
      message:
        "Unexpected error while attempting to recover from admission failure: preemption: error finding a set " +
        "of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: 1000), ]",
    })
  })

  test("ends no pod when the critical pod could still not run", async () => {
    expect(await preempted(asking({ cpu: "2" }, { nodeSelector: { disk: "ssd" } }))).toMatchObject({
      reason: "NodeAffinity",
    })
  })
})

test("a pod that runs keeps a host port on which k3ts begins to listen", async () => {
  const pod = onPort(6443)
  const running = podOf({ nodeName: "node-0", ...pod }, { status: { phase: "Running" } })
  expect(await admit(request({ title: "", pod }))).toMatchObject({ reason: "NodePorts" })
  expect(await admit({ ...request({ title: "", pod }), pod: running })).toBeUndefined()
})
