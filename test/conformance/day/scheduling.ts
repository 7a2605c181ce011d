/** A morning of the scheduler: pods that fit, that do not, that wait, and that others make room for. */
import type { ComponentContext } from "../../../pkg/component/component.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Event } from "../../../pkg/api/events/v1/event.ts"
import * as a from "./objects.ts"
import { change, create, remove, type Manifest, type Step } from "./step.ts"

const sized = (cpu: string, more: object = {}) => ({
  nodeSelector: {},
  containers: [{ name: "c", image: "example.com/app:1", resources: { requests: { cpu } } }],
  ...more,
})

const apart = (app: string) => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { labelSelector: { matchLabels: { app } }, topologyKey: "kubernetes.io/hostname" },
      ],
    },
  },
})

const spread = (app: string) => ({
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: "day.example.com/room",
      whenUnsatisfiable: "DoNotSchedule",
      labelSelector: { matchLabels: { app } },
    },
  ],
})

const listening = (hostPort: number) =>
  sized("10m", {
    ...a.on("node-0"),
    containers: [{ name: "c", image: "example.com/app:1", ports: [{ containerPort: 80, hostPort }] }],
  })

const apps = (app: string, names: readonly string[], more: object): readonly Manifest[] =>
  names.map((name) => a.pod(name, more, { app }))

export const SCHEDULING: readonly Step[] = [
  {
    title: "Two machines join",
    seconds: 20,
    run: (users) => create(users, ["node-0", "node-1"].map(a.node)),
  },
  {
    title: "Pods that fit, and that fit nowhere",
    seconds: 10,
    run: (users) =>
      create(users, [
        a.pod("fits", sized("100m", a.on("node-0"))),
        a.pod("too-large", sized("9")),
        a.pod("on-no-node", sized("10m", a.on("node-9"))),
        a.pod("of-another", sized("10m", { schedulerName: "another" })),
      ]),
  },
  {
    title: "Pods that keep apart, and that listen on one port",
    seconds: 15,
    async run(users) {
      for (const manifest of [
        ...apps("apart", ["apart-0", "apart-1", "apart-2"], sized("10m", apart("apart"))),
        ...apps("spread", ["spread-0"], sized("10m", spread("spread"))),
        ...apps("listens", ["listens-0", "listens-1"], listening(8080)),
      ])
        await create(users, [manifest])
    },
  },
  {
    title: "A pod waits behind a gate, and for a claim that is not there",
    seconds: 10,
    run: (users) =>
      create(users, [
        a.pod("gated", sized("10m", { ...a.on("node-0"), schedulingGates: [{ name: "day.example.com/wait" }] })),
        a.pod("without-claim", sized("10m", a.mounting("missing"))),
      ]),
  },
  {
    title: "The gate goes",
    seconds: 10,
    run: async (users) => void (await change(users, Pod, "gated", { spec: { schedulingGates: null } })),
  },
  {
    title: "A claim waits for its first pod",
    seconds: 10,
    run: (users) =>
      create(users, [
        a.storageClass("late", "kubernetes.io/no-provisioner", { volumeBindingMode: "WaitForFirstConsumer" }),
        a.volume("late", "late"),
        a.claim("late", "late"),
      ]),
  },
  {
    title: "It comes, and the claim is bound",
    seconds: 15,
    run: (users) =>
      create(users, [a.pod("first-consumer", sized("10m", { ...a.on("node-0"), ...a.mounting("late") }))]),
  },
  {
    title: "A pod of high priority makes room for itself",
    seconds: 20,
    run: (users) =>
      create(users, [
        { apiVersion: "scheduling.k8s.io/v1", kind: "PriorityClass", metadata: { name: "high" }, value: 1000 },
        {
          apiVersion: "scheduling.k8s.io/v1",
          kind: "PriorityClass",
          metadata: { name: "patient" },
          value: 1000,
          preemptionPolicy: "Never",
        },
        a.pod("low", sized("3", a.on("node-1"))),
      ]),
  },
  {
    title: "It comes, and one that makes no room",
    seconds: 20,
    run: (users) =>
      create(users, [
        a.pod("urgent", sized("3500m", { ...a.on("node-1"), priorityClassName: "high" })),
        a.pod("patient", sized("3500m", { ...a.on("node-1"), priorityClassName: "patient" })),
      ]),
  },
  {
    title: "Machines are cordoned and tainted, a pod comes, and they are free again",
    seconds: 15,
    async run(users) {
      await change(users, Node, "node-0", { spec: { unschedulable: true } })
      await change(users, Node, "node-1", { spec: { taints: [{ key: "day", value: "off", effect: "NoSchedule" }] } })
      await create(users, [a.pod("nowhere-yet", sized("20m"))])
    },
  },
  {
    title: "One machine is free again",
    seconds: 15,
    run: async (users) => void (await change(users, Node, "node-0", { spec: { unschedulable: null, taints: null } })),
  },
  {
    title: "What fits nowhere is deleted",
    seconds: 10,
    async run(users) {
      for (const name of ["too-large", "on-no-node", "without-claim"]) await remove(users, Pod, name)
    },
  },
]

/** Conditions that the scheduler writes. */
const CONDITIONS: ReadonlySet<string> = new Set(["PodScheduled", "DisruptionTarget"])

/** Collects what the scheduler tells of pods, in conditions, nominations and Events, as lines. */
export function witnessScheduling({ informers }: Pick<ComponentContext, "informers">): ReadonlySet<string> {
  const told = new Set<string>()
  const seePod = ({ metadata: { name }, status }: Pod) => {
    for (const { type, status: holds, reason = "", message = "" } of status.conditions ?? [])
      if (CONDITIONS.has(type) && reason !== "") told.add(`${name}: ${type} is ${holds}: ${reason}: ${message}`)
    if (status.nominatedNodeName !== undefined) told.add(`${name}: nominated for ${status.nominatedNodeName}`)
  }
  const seeEvent = ({ type, reason, action, note, reportingController, regarding, related }: Event) => {
    if (reportingController !== "default-scheduler") return
    const also = related === undefined ? "" : ` (${related.kind} ${related.name})`
    told.add(`${regarding.kind} ${regarding.name}: ${type} ${reason}, ${action}: ${note}${also}`)
  }
  informers.of(Pod).on({ added: seePod, updated: seePod, deleted: () => undefined })
  informers.of(Event).on({ added: seeEvent, updated: seeEvent, deleted: () => undefined })
  return told
}
