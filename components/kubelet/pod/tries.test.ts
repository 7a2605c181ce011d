import { expect, test } from "bun:test"
import type { ImageBehaviour } from "../runtime/simulated/containers/behaviour.ts"
import { simulatedKubelet, type PodSpecInput } from "../testing/simulated-kubelet.fixtures.ts"

type Node = Awaited<ReturnType<typeof simulatedKubelet>>
type Container = PodSpecInput["containers"][number]

const BROKEN = new Error("it is broken")

interface Row {
  readonly step: string
  readonly image?: ImageBehaviour
  readonly container?: Partial<Container>
  readonly spec?: Partial<PodSpecInput>
  /** Makes the step fail from now on, and calls `tried` with each try. */
  fail?(node: Node, tried: () => void): void
  /** Whether the pod runs before the step fails, and is deleted then. */
  readonly deleted?: boolean
  /** The event that tells of a try, where no call of the runtime does. */
  readonly event?: string
  /** The most tries in a minute. */
  readonly most: number
}

/** Tries every ten seconds, as the pod worker retries, and the one at the beginning. */
const WORKER = 7
/** A container that ends is started again at once the first time, and then after 10 s, 20 s and 40 s. */
const CRASH = 4
/** At once, then after 1 s, 2 s, 4 s, 8 s, and every ten seconds. */
const STOP = 9

const rows: readonly Row[] = [
  {
    step: "a sandbox that cannot be created",
    most: WORKER,
    fail({ runtime: { containers } }, tried) {
      containers.runPodSandbox = () => {
        tried()
        return Promise.reject(BROKEN)
      }
    },
  },
  {
    // containerd keeps it where the network plugin cannot take back either what it has done.
    step: "a sandbox that cannot be created, of which the runtime keeps the remains",
    most: WORKER,
    fail({ runtime: { containers } }, tried) {
      const run = containers.runPodSandbox.bind(containers)
      containers.runPodSandbox = async (config, handler) => {
        tried()
        await containers.stopPodSandbox(await run(config, handler))
        throw BROKEN
      }
    },
  },
  {
    step: "a cgroup",
    most: WORKER,
    fail({ runtime: { cgroups } }, tried) {
      Object.assign(cgroups, {
        ensure(path: readonly string[]) {
          if (path.length > 1) tried()
          return Promise.reject(BROKEN)
        },
      })
    },
  },
  {
    step: "a volume that cannot be mounted",
    most: 11,
    spec: { volumes: [{ name: "v", hostPath: { path: "/none", type: "Directory" } }] },
    fail({ runtime: { volumes } }, tried) {
      Object.assign(volumes, {
        checkHostPath() {
          tried()
          return Promise.reject(BROKEN)
        },
      })
    },
  },
  {
    step: "a host name that is too long",
    most: WORKER,
    spec: { hostname: "h".repeat(60), subdomain: "s", setHostnameAsFQDN: true },
    event: "FailedCreatePodSandBox",
  },
  { step: "a pull", most: CRASH, image: { pullError: "no such image" }, event: "Pulling" },
  {
    step: "a missing Secret",
    most: WORKER,
    container: { envFrom: [{ secretRef: { name: "none" } }] },
    event: "Failed",
  },
  {
    step: "a container that cannot be created",
    most: WORKER,
    fail({ runtime: { containers } }, tried) {
      containers.createContainer = () => {
        tried()
        return Promise.reject(BROKEN)
      }
    },
  },
  {
    step: "a container that cannot be started",
    most: WORKER,
    image: { startError: "no such program" },
    event: "Created",
  },
  { step: "a container that ends at once", most: CRASH, image: { run: async () => 1 }, event: "Started" },
  {
    step: "an init container that ends at once",
    most: CRASH,
    image: { run: async () => 1 },
    spec: { initContainers: [{ name: "i", image: "it" }] },
    event: "Started",
  },
  {
    step: "a container whose end has no time",
    most: CRASH,
    image: { run: async () => 1 },
    event: "Started",
    fail({ runtime: { containers } }) {
      const status = containers.containerStatus.bind(containers)
      containers.containerStatus = async (id) => {
        const found = await status(id)
        return found?.state === "CONTAINER_EXITED" ? { ...found, finishedAt: 0 } : found
      }
    },
  },
  {
    step: "a hook after the start",
    most: CRASH,
    image: { exec: () => 1 },
    container: { lifecycle: { postStart: { exec: { command: ["x"] } } } },
    event: "Started",
  },
  {
    step: "the stop of a container",
    most: STOP,
    deleted: true,
    fail({ runtime: { containers } }, tried) {
      containers.stopContainer = () => {
        tried()
        return Promise.reject(BROKEN)
      }
    },
  },
  {
    step: "the stop of a container that runs on all the same",
    most: STOP,
    deleted: true,
    fail({ runtime: { containers } }, tried) {
      containers.stopContainer = () => {
        tried()
        return Promise.resolve()
      }
      containers.stopPodSandbox = () => Promise.resolve()
    },
  },
  {
    step: "the stop of a sandbox",
    most: STOP,
    deleted: true,
    fail({ runtime: { containers } }, tried) {
      containers.stopPodSandbox = () => {
        tried()
        return Promise.reject(BROKEN)
      }
    },
  },
  {
    step: "the removal of a sandbox",
    most: WORKER,
    deleted: true,
    fail({ runtime: { containers } }, tried) {
      containers.removePodSandbox = () => {
        tried()
        return Promise.reject(BROKEN)
      }
    },
  },
  {
    step: "the removal of a cgroup",
    most: WORKER,
    deleted: true,
    fail({ runtime: { cgroups } }, tried) {
      Object.assign(cgroups, {
        remove() {
          tried()
          return Promise.reject(BROKEN)
        },
      })
    },
  },
]

test.each(rows)("$step is tried at most as often as by upstream's kubelet", async (row) => {
  const { image = {}, container = {}, spec = {}, fail, deleted = false, event, most } = row
  // given a node where a step of a pod fails
  let tries = 0
  await using node = await simulatedKubelet({ it: image })
  const counted = () => fail?.(node, () => tries++)
  if (!deleted) counted()
  // when a pod is to run there for a minute, or to end
  await node.create("pod", {
    terminationGracePeriodSeconds: 1,
    ...spec,
    containers: [{ name: "c", image: "it", ...container }],
  })
  if (deleted) {
    counted()
    await node.delete("pod")
  }
  await node.cluster.advance(60_000)
  // then it is tried, and not all the time
  const told = event === undefined ? tries : node.count("pod", event)
  if (fail !== undefined || event !== undefined) expect(told).toBeGreaterThan(1)
  expect(told).toBeLessThanOrEqual(most)
})
