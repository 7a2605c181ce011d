import { readFileSync } from "node:fs"
import WebSocket from "ws"
import type { InputOfResource } from "../../../pkg/apimachinery/resource.ts"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { BUSYBOX, sh, stay } from "../../harness/cluster.ts"
import type { ConformanceCluster, Loose } from "../cluster.ts"
import { condition } from "../workloads/workload-cluster.ts"

export type PodSpec = NonNullable<InputOfResource<typeof Pod>["spec"]>
export type ContainerSpec = PodSpec["containers"][number]
/** A pod whose containers need no image: busybox is taken. */
export type PodInput = Omit<Partial<PodSpec>, "containers"> & {
  readonly containers?: readonly Partial<ContainerSpec>[]
  readonly metadata?: Record<string, unknown>
}
export interface Executed {
  readonly out: string
  readonly err: string
  readonly code: number
}
/** The end of a pod with one container. */
export interface Ended {
  readonly pod: Loose
  readonly log: string
}
/** The part of a container's status that tests read. */
export interface ContainerStatus {
  readonly name: string
  readonly ready: boolean
  readonly started?: boolean
  readonly restartCount: number
  readonly containerID?: string
  readonly resources?: { readonly requests?: Record<string, string>; readonly limits?: Record<string, string> }
  readonly state: {
    readonly waiting?: { readonly reason: string; readonly message?: string }
    readonly running?: { readonly startedAt: string }
    readonly terminated?: { readonly exitCode: number; readonly reason: string; readonly message?: string }
  }
  readonly lastState?: ContainerStatus["state"]
}

export const isReady = (pod: Loose | undefined): boolean => condition(pod, "Ready")?.status === "True"
export const hasEnded = (pod: Loose | undefined): boolean =>
  pod?.status.phase === "Succeeded" || pod?.status.phase === "Failed"
export const containerStatuses = (pod: Loose | undefined): readonly ContainerStatus[] =>
  (pod?.status["containerStatuses"] ?? []) as readonly ContainerStatus[]

/** The namespace of one stand-in, with helpers that work in it. */
export class TestNamespace {
  readonly cluster: ConformanceCluster
  readonly name: string
  /** The path of its objects of the core group, `/api/v1/namespaces/<name>`. */
  readonly path: string

  private constructor(cluster: ConformanceCluster, name: string) {
    this.cluster = cluster
    this.name = name
    this.path = `/api/v1/namespaces/${name}`
  }

  static async make(cluster: ConformanceCluster, name: string): Promise<TestNamespace> {
    const ns = new TestNamespace(cluster, name)
    await cluster.post("/api/v1/namespaces", { metadata: { name } })
    await cluster.until(`${ns.path}/serviceaccounts/default`, (account) => account !== undefined)
    return ns
  }

  /** Returns the path of its objects of another group, such as `apps/v1`. */
  at(groupVersion: string): string {
    return `/apis/${groupVersion}/namespaces/${this.name}`
  }

  create(plural: string, name: string, body: object = {}): Promise<Loose> {
    return this.cluster.post(`${this.path}/${plural}`, { metadata: { name }, ...body })
  }

  /** Creates a pod without waiting for it. By default it is not restarted, and has a grace period of a second. */
  createPod(name: string, { metadata, containers = [{}], ...spec }: PodInput = {}): Promise<Loose> {
    return this.cluster.post(
      `${this.path}/pods`,
      this.podOf(name, { ...(metadata && { metadata }), containers, ...spec }),
    )
  }

  podOf(name: string, { metadata = {}, containers = [{}], ...spec }: PodInput = {}) {
    return {
      metadata: { ...metadata, name },
      spec: {
        restartPolicy: "Never",
        terminationGracePeriodSeconds: 1,
        ...spec,
        containers: containers.map((container, i) => ({ name: i === 0 ? "c" : `c${i}`, image: BUSYBOX, ...container })),
      },
    }
  }

  untilPod(name: string, wanted: (pod: Loose | undefined) => boolean): Promise<Loose> {
    return this.cluster.until(`${this.path}/pods/${name}`, wanted)
  }

  /** Creates a pod and waits until it is ready. Containers without a command run until they are stopped. */
  async runPod(name: string, pod: PodInput = {}): Promise<Loose> {
    const { containers = [{}] } = pod
    await this.createPod(name, {
      ...pod,
      containers: containers.map((container) =>
        container.args === undefined && container.image === undefined ? { command: stay(), ...container } : container,
      ),
    })
    return this.untilPod(name, isReady)
  }

  /** Runs a pod to its end. The log is that of its first container. */
  async endOf(name: string, pod: PodInput): Promise<Ended> {
    await this.createPod(name, pod)
    const ended = await this.untilPod(name, hasEnded)
    const container = pod.containers?.[0]?.name ?? "c"
    return { pod: ended, log: await this.log(name, `container=${container}`) }
  }

  /** Runs a script in a pod to its end, and returns its output. @throws Error when the pod fails */
  async output(
    name: string,
    script: string,
    container: Partial<ContainerSpec> = {},
    pod: PodInput = {},
  ): Promise<string> {
    const { pod: ended, log } = await this.endOf(name, { ...pod, containers: [{ command: sh(script), ...container }] })
    if (ended.status.phase !== "Succeeded") throw new Error(`${name} failed: ${log} ${JSON.stringify(ended.status)}`)
    return log
  }

  async log(name: string, query = ""): Promise<string> {
    const answer = await this.cluster.send("GET", `${this.path}/pods/${name}/log?${query}`)
    if (answer.code !== 200) throw new Error(`The log of ${name} cannot be read: ${answer.code} ${answer.text}`)
    return answer.text
  }

  /** Waits until the log contains the wanted text, and returns the log. */
  async untilLog(name: string, wanted: (log: string) => boolean, query = ""): Promise<string> {
    return until(`the log of ${name}`, () => this.log(name, query), wanted)
  }

  /** Runs a shell script in a container. */
  exec(pod: string, script: string, container = "c"): Promise<Executed> {
    const query = new URLSearchParams({ container, stdout: "1", stderr: "1" })
    for (const word of sh(script)) query.append("command", word)
    return new Promise((resolve, reject) => {
      const socket = new WebSocket(
        `wss://127.0.0.1:${this.cluster.port}${this.path}/pods/${pod}/exec?${query}`,
        "v5.channel.k8s.io",
        { headers: { authorization: `Bearer ${this.cluster.token}` }, rejectUnauthorized: false },
      )
      const channels = ["", "", "", ""]
      socket.on("message", (data: Buffer) => (channels[data[0]!] += data.subarray(1).toString()))
      socket.on("error", reject)
      socket.on("close", () => {
        const [, out = "", err = "", status = ""] = channels
        if (status === "") return reject(new Error(`exec in ${pod} ended without a status: ${out} ${err}`))
        const {
          status: outcome,
          message,
          details,
        } = JSON.parse(status) as {
          status: string
          message?: string
          details?: { causes?: { reason: string; message: string }[] }
        }
        const code = details?.causes?.find(({ reason }) => reason === "ExitCode")?.message
        if (outcome !== "Success" && code === undefined) return reject(new Error(`exec in ${pod}: ${message}`))
        resolve({ out, err, code: Number(code ?? 0) })
      })
    })
  }

  /** Returns the output of a script in a container. @throws Error when it fails */
  async sh(pod: string, script: string, container?: string): Promise<string> {
    const { out, err, code } = await this.exec(pod, script, container)
    if (code !== 0) throw new Error(`${script}: ended with ${code}: ${out}${err}`)
    return out
  }

  /** Runs a script in a container until its output is as wanted, also after failures. Returns the output. */
  untilSh(pod: string, script: string, wanted: (out: string) => boolean, container?: string): Promise<string> {
    return until(
      `${script} in ${pod}`,
      async () => {
        const { out, err, code } = await this.exec(pod, script, container)
        return code === 0 ? out : `ended with ${code}: ${out}${err}`
      },
      wanted,
    )
  }
}

/** Repeats a question, since containers do not report changes inside them. @throws Error after 90 s */
export async function until<T>(what: string, ask: () => Promise<T>, wanted: (value: T) => boolean): Promise<T> {
  const deadline = performance.now() + 90_000
  for (;;) {
    const value = await ask()
    if (wanted(value)) return value
    if (performance.now() > deadline) throw new Error(`Waited in vain for ${what}: ${JSON.stringify(value)}`)
    await Bun.sleep(200)
  }
}

/** Whether this machine has version 2 of cgroups. */
export const isCgroup2 = (): boolean => readFileSync("/proc/mounts", "utf8").includes(" /sys/fs/cgroup cgroup2 ")
