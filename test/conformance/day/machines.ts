/**
 * Plays the machines of a cluster whose nodes exist in the API only: what kubelets, an attacher of volumes and users'
 * programs would write. It is the same program for every server that is compared.
 */
import { ApiError } from "../../../pkg/apimachinery/errors.ts"
import type { KubeObject } from "../../../pkg/apimachinery/resource.ts"
import { Lease } from "../../../pkg/api/coordination/v1/lease.ts"
import { Node } from "../../../pkg/api/core/v1/node/node.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { VolumeAttachment } from "../../../pkg/api/storage/v1/volumeattachment.ts"
import { keyFrom, splitKey } from "../../../pkg/client/informer.ts"
import { microTimestamp, timestamp } from "../../../pkg/clock/clock.ts"
import {
  defineController,
  watching,
  type Controller,
  type ReconcileContext,
} from "../../../pkg/controller/controller.ts"

/** An annotation of a Node: its machine is off. */
export const LOST = "day.example.com/lost"
/** An annotation of a Pod: how its container ends two seconds after its start, "succeeded" or "failed". */
export const ENDS = "day.example.com/ends"
/** An annotation of a Pod: it runs, and never becomes ready. */
export const UNREADY = "day.example.com/unready"

const HEARTBEAT_MS = 10_000
const START_MS = 1000
const RUN_MS = 2000

/** Every machine of the cluster, as controllers. */
export const machines = (): readonly Controller[] =>
  [heartbeats, kubelets, attacher].map((controller) => controller as Controller)

/** Renews the Lease of each node, and says that it is ready, unless its machine is off. */
const heartbeats = defineController<Node>({
  name: "day-heartbeats",
  reconciles: Node,
  async reconcile(key, { client, informers, clock }) {
    const node = informers.of(Node).get(key)
    if (node === undefined || isLost(node)) return
    const name = node.metadata.name!
    const ref = { name, namespace: "kube-node-lease" }
    const renewTime = microTimestamp(clock)
    await client.patch(Lease, ref, { type: "merge", body: { spec: { renewTime } } }).catch(async (err: unknown) => {
      if (!(err instanceof ApiError) || err.reason !== "NotFound") throw err
      await client.create(Lease, {
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata: { ...ref, ownerReferences: [{ apiVersion: "v1", kind: "Node", name, uid: node.metadata.uid! }] },
        spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime },
      })
    })
    if (node.status.conditions?.find(({ type }) => type === "Ready")?.status !== "True")
      await client.patch(Node, { name }, { type: "strategic", body: readyNode(clock) }, { subresource: "status" })
    return { requeueAfter: HEARTBEAT_MS }
  },
})

const isLost = ({ metadata }: KubeObject): boolean => metadata.annotations?.[LOST] !== undefined

const readyNode = (clock: ReconcileContext["clock"]) => ({
  status: {
    conditions: ["MemoryPressure", "DiskPressure", "PIDPressure", "Ready"].map((type) => ({
      type,
      status: type === "Ready" ? "True" : "False",
      reason: "Played",
      message: "",
      lastHeartbeatTime: timestamp(clock),
      lastTransitionTime: timestamp(clock),
    })),
  },
})

/** Starts and ends pods on nodes that exist and whose machine is on. */
const kubelets = defineController<Pod>({
  name: "day-kubelets",
  reconciles: Pod,
  workers: 20,
  // A machine that is on again goes on with its pods.
  watches: [
    watching(Node, ({ metadata: { name } }, { informers }, old) =>
      old === undefined || !isLost(old)
        ? []
        : informers
            .of(Pod)
            .list()
            .filter(({ spec }) => spec.nodeName === name)
            .map(({ metadata }) => keyFrom(metadata)),
    ),
  ],
  async reconcile(key, context) {
    const { informers, clock } = context
    const pod = informers.of(Pod).get(key)
    const node = pod === undefined ? undefined : informers.of(Node).get(pod.spec.nodeName ?? "")
    if (pod === undefined || node === undefined || isLost(node)) return
    const { phase, startTime } = pod.status
    const hasEnded = phase === "Succeeded" || phase === "Failed"
    if (pod.metadata.deletionTimestamp !== undefined) {
      if (!hasEnded) await report(pod, "Failed", context)
      return remove(pod, context)
    }
    if (hasEnded) return
    if (startTime === undefined) {
      await report(pod, "Pending", context)
      return { requeueAfter: START_MS }
    }
    if (phase === "Pending") await report(pod, "Running", context)
    const end = pod.metadata.annotations?.[ENDS]
    if (end === undefined) return
    const left = Date.parse(startTime) + START_MS + RUN_MS - clock.now()
    if (left > 0) return { requeueAfter: left }
    await report(pod, end === "failed" ? "Failed" : "Succeeded", context)
  },
})

/** Ends a pod whose containers have ended. Another one of its name may be there already. */
async function remove({ metadata: { namespace, name, uid } }: Pod, { client }: ReconcileContext): Promise<void> {
  await client
    .delete(Pod, { namespace, name }, { gracePeriodSeconds: 0, preconditions: { uid: uid! } })
    .catch((err: unknown) => {
      if (!(err instanceof ApiError) || !["NotFound", "Conflict"].includes(err.reason)) throw err
    })
}

type Phase = "Pending" | "Running" | "Succeeded" | "Failed"

async function report(pod: Pod, phase: Phase, { client, clock }: ReconcileContext): Promise<void> {
  const now = timestamp(clock)
  const isReady = phase === "Running" && pod.metadata.annotations?.[UNREADY] === undefined
  const conditions = {
    PodReadyToStartContainers: phase === "Running",
    Initialized: true,
    Ready: isReady,
    ContainersReady: isReady,
    PodScheduled: true,
  }
  const exitCode = phase === "Failed" ? 1 : 0
  const state = {
    Pending: { waiting: { reason: "ContainerCreating" } },
    Running: { running: { startedAt: now } },
    Succeeded: { terminated: { exitCode, startedAt: now, finishedAt: now } },
    Failed: { terminated: { exitCode, startedAt: now, finishedAt: now } },
  }[phase]
  const status = {
    phase,
    startTime: pod.status.startTime ?? now,
    hostIP: HOST,
    hostIPs: [{ ip: HOST }],
    ...(phase === "Pending" ? {} : { podIP: addressOf(pod), podIPs: [{ ip: addressOf(pod) }] }),
    conditions: Object.entries(conditions).map(([type, holds]) => ({
      type,
      status: holds ? "True" : "False",
      lastTransitionTime: now,
    })),
    containerStatuses: pod.spec.containers.map(({ name, image = "" }) => ({
      name,
      image,
      imageID: image,
      ready: isReady,
      started: phase === "Running",
      restartCount: 0,
      state,
    })),
  }
  const { namespace, name, uid } = pod.metadata
  const body = { metadata: { uid }, status }
  await client.patch(Pod, { namespace, name }, { type: "strategic", body }, { subresource: "status" })
}

const HOST = "192.0.2.10"

/** An address for each pod, by its uid. */
function addressOf({ metadata: { uid = "" } }: Pod): string {
  const number = Number.parseInt(uid.slice(0, 4), 16)
  return `10.244.${number >> 8}.${number & 255}`
}

/** Attaches volumes as soon as that is wanted, as the attacher of a driver does. */
const attacher = defineController<VolumeAttachment>({
  name: "day-attacher",
  reconciles: VolumeAttachment,
  async reconcile(key, { client, informers }) {
    const attachment = informers.of(VolumeAttachment).get(key)
    if (attachment === undefined || attachment.status?.attached === true) return
    const { name } = splitKey(key)
    const body = { status: { attached: true } }
    await client.patch(VolumeAttachment, { name }, { type: "merge", body }, { subresource: "status" })
  },
})
