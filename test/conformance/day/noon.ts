/** The middle of the day: users change everything, and machines fail. */
import { Eviction } from "../../../pkg/api/policy/v1/eviction.ts"
import { ConfigMap } from "../../../pkg/api/core/v1/configmap.ts"
import { DaemonSet } from "../../../pkg/api/apps/v1/daemonset.ts"
import { Deployment } from "../../../pkg/api/apps/v1/deployment.ts"
import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { ReplicaSet } from "../../../pkg/api/apps/v1/replicaset.ts"
import { StatefulSet } from "../../../pkg/api/apps/v1/statefulset.ts"
import type { Client } from "../../../pkg/client/client.ts"
import { LOST, UNREADY } from "./machines.ts"
import * as a from "./objects.ts"
import { change, create, remove, type Step } from "./step.ts"

const withImage = (version: number) => ({
  spec: { template: { spec: { containers: a.podSpec({}, `example.com/app:${version}`).containers } } },
})

export const NOON: readonly Step[] = [
  {
    title: "A Deployment gets a new image",
    seconds: 20,
    run: async (users) => void (await change(users, Deployment, "web", withImage(2))),
  },
  {
    title: "It is paused, changed, and resumed",
    seconds: 20,
    async run(users) {
      await change(users, Deployment, "web", { spec: { paused: true } })
      await change(users, Deployment, "web", withImage(3))
      await change(users, Deployment, "web", { spec: { paused: false } })
    },
  },
  {
    title: "It goes back to its first image",
    seconds: 20,
    run: async (users) => void (await change(users, Deployment, "web", withImage(1))),
  },
  {
    title: "It grows",
    seconds: 10,
    run: async (users) => void (await change(users, Deployment, "web", { spec: { replicas: 5 } })),
  },
  {
    title: "It shrinks",
    seconds: 10,
    run: async (users) => void (await change(users, Deployment, "web", { spec: { replicas: 3 } })),
  },
  {
    title: "Deployments that recreate their pods, and that come to nothing",
    seconds: 15,
    async run(users) {
      const stuck = a.deployment("stuck", 1, { progressDeadlineSeconds: 8 })
      await create(users, [
        a.deployment("recreated", 1, { strategy: { type: "Recreate" } }),
        {
          ...stuck,
          spec: { ...(stuck["spec"] as object), template: a.template("stuck", a.podSpec(), { [UNREADY]: "true" }) },
        },
      ])
    },
  },
  {
    title: "One is recreated",
    seconds: 10,
    run: async (users) => void (await change(users, Deployment, "recreated", withImage(2))),
  },
  {
    title: "A pod leaves its ReplicaSet",
    seconds: 10,
    run: async (users) => relabel(users, "set", "free"),
  },
  {
    title: "It comes back, and an orphan is adopted",
    seconds: 10,
    async run(users) {
      await relabel(users, "free", "set")
      await create(users, [a.pod("orphan", a.on("node-1"), { app: "set" })])
    },
  },
  {
    title: "A ReplicaSet shrinks",
    seconds: 10,
    run: async (users) => void (await change(users, ReplicaSet, "set", { spec: { replicas: 1 } })),
  },
  {
    title: "A StatefulSet and a DaemonSet get a new image",
    seconds: 30,
    async run(users) {
      await change(users, StatefulSet, "db", withImage(2))
      await change(users, DaemonSet, "agent", withImage(2))
    },
  },
  {
    title: "A StatefulSet shrinks",
    seconds: 10,
    run: async (users) => void (await change(users, StatefulSet, "db", { spec: { replicas: 1 } })),
  },
  {
    title: "A pod is evicted, a second one may not be",
    seconds: 10,
    async run(users) {
      const pods = (await users.list(Pod, { namespace: "default", labelSelector: "app=web" })).items
      for (const { metadata } of pods.slice(0, 2)) await evict(users, metadata.name!)
    },
  },
  {
    title: "A machine gets a taint",
    seconds: 10,
    run: async (users) => void (await users.patch(Node, { name: "node-2" }, tainted("day.example.com/cleaning"))),
  },
  {
    title: "The taint goes",
    seconds: 10,
    run: async (users) =>
      void (await users.patch(Node, { name: "node-2" }, { type: "merge", body: { spec: { taints: null } } })),
  },
  {
    title: "A machine is lost",
    seconds: 80,
    async run(users) {
      await create(users, [
        a.pod("impatient", {
          ...a.on("node-1"),
          tolerations: [
            { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 },
          ],
        }),
      ])
      await change(users, Node, "node-1", { metadata: { annotations: { [LOST]: "true" } } })
    },
  },
  {
    title: "It comes back",
    seconds: 15,
    run: async (users) => void (await change(users, Node, "node-1", { metadata: { annotations: { [LOST]: null } } })),
  },
  {
    title: "A large pod of low priority comes",
    seconds: 5,
    run: (users) => create(users, [a.pod("large", large("low", "2500m"))]),
  },
  {
    title: "One of high priority takes its place",
    seconds: 10,
    run: (users) => create(users, [a.pod("urgent", large("high", "2000m"))]),
  },
  {
    title: "A machine is removed, and a pod names one that never was",
    seconds: 75,
    async run(users) {
      await create(users, [a.pod("nowhere", { nodeName: "node-8", nodeSelector: {} })])
      await remove(users, Node, "node-2")
    },
  },
  {
    title: "Root certificates are changed and deleted",
    seconds: 10,
    async run(users) {
      await change(users, ConfigMap, "kube-root-ca.crt", { data: { "ca.crt": "none" } })
      await users.delete(ConfigMap, { namespace: "kube-public", name: "kube-root-ca.crt" })
      await users.delete(Lease, { namespace: "kube-node-lease", name: "node-0" })
    },
  },
]

const large = (priorityClassName: string, cpu: string) => ({
  priorityClassName,
  containers: [{ name: "c", image: "example.com/app:1", resources: { requests: { cpu } } }],
})

async function relabel(users: Client, from: string, to: string): Promise<void> {
  const pods = (await users.list(Pod, { namespace: "default", labelSelector: `app=${from}` })).items
  const name = pods.map(({ metadata }) => metadata.name!).toSorted()[0]!
  await change(users, Pod, name, { metadata: { labels: { app: to } } })
}

/** Evicts a pod, unless a budget refuses. */
async function evict(users: Client, name: string): Promise<void> {
  const { apiVersion, kind } = Eviction
  await users
    .createSubresource(Pod, { namespace: "default", name }, "eviction", { apiVersion, kind, metadata: { name } })
    .catch(() => undefined)
}

const tainted = (key: string) =>
  ({ type: "merge", body: { spec: { taints: [{ key, effect: "NoExecute" }] } } }) as const
