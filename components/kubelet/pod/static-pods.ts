import { join } from "node:path"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { formatTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import type { Timer } from "../../../pkg/clock/clock.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { KubeletContext } from "../context.ts"
import { CONFIG_MIRROR, isMirrorPod } from "../model/labels.ts"
import type { PodWorkers } from "./pod-workers.ts"
import { staticPodsIn } from "./static-manifest.ts"

/** The folder is read when it has been unchanged for this time, because editors write a file in several steps. */
const QUIET_MS = 100
/**
 * How often the folder is read without a notification: none comes when a file changes to which a link in it leads.
 * Source: fileCheckFrequency in pkg/kubelet/apis/config/v1beta1/defaults.go.
 */
const CHECK_MS = 20_000
/** Source: maxConfigLength in pkg/kubelet/config/common.go. */
const MOST_BYTES = 10 * 2 ** 20
/**
 * First delay before a refused mirror pod is created again; it doubles. Source: pkg/kubelet/kubelet.go, each sync of
 * the pod: about a minute.
 */
const FIRST_RETRY_MS = 2000
const LAST_RETRY_MS = 60_000

/**
 * Runs pods from manifests in a folder of the node, without the API. A mirror pod in the API shows each of them.
 * Source: pkg/kubelet/config/file.go, common.go, pkg/kubelet/pod/mirror_client.go.
 */
export class StaticPods {
  readonly #context: KubeletContext
  readonly #workers: PodWorkers
  readonly #nodeUid: () => string | undefined
  #pods = new Map<string, Pod>()
  #off: (() => void)[] = []
  #timer: Timer | undefined
  #check: Timer | undefined
  #stopped = false
  #retryMs = FIRST_RETRY_MS
  /** Reads of the folder run one after the other, so that an older read cannot come last. */
  #syncing: Promise<void> = Promise.resolve()
  /** What is wrong with files, by path. It is logged once, not at every read. */
  #problems = new Map<string, string>()

  constructor(context: KubeletContext, workers: PodWorkers, nodeUid: () => string | undefined) {
    this.#context = context
    this.#workers = workers
    this.#nodeUid = nodeUid
  }

  /** Reads the folder now and whenever it changes. Resolves when the present pods have workers. */
  async start(): Promise<void> {
    const { runtime, config, informers } = this.#context
    this.#off.push(runtime.files.watchFolder?.(config.staticPods, () => this.#later(QUIET_MS)) ?? (() => {}))
    await this.#read()
    if (runtime.files.watchFolder !== undefined) this.#checkLater()
    // A deleted mirror pod is created again. One whose deletion has begun waits for nobody else.
    const isOurs = (pod: Pod) => isMirrorPod(pod) && pod.spec.nodeName === config.nodeName
    this.#off.push(
      informers.of(Pod).on({
        updated: (pod) => {
          if (pod.metadata.deletionTimestamp !== undefined && isOurs(pod)) this.#later(0)
        },
        deleted: (pod) => {
          if (isOurs(pod)) this.#later(0)
        },
      }),
    )
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    this.#check?.cancel()
    for (const off of this.#off) off()
  }

  #checkLater(): void {
    const check = async () => {
      if (this.#stopped) return
      if (await this.#read()) this.#later(0)
      this.#checkLater()
    }
    if (!this.#stopped)
      this.#check = this.#context.clock.setTimeout(
        () => this.#context.spawn("static pods", () => (this.#syncing = this.#syncing.then(check))),
        CHECK_MS,
        "watchdog",
      )
  }

  #later(ms: number): void {
    this.#timer?.cancel()
    if (!this.#stopped)
      this.#timer = this.#context.clock.setTimeout(
        () => this.#context.spawn("static pods", () => (this.#syncing = this.#syncing.then(() => this.#sync()))),
        ms,
      )
  }

  /** Never rejects. */
  async #sync(): Promise<void> {
    if (this.#stopped) return
    try {
      await this.#read()
      await this.#mirror()
      this.#retryMs = FIRST_RETRY_MS
    } catch (err) {
      if (this.#stopped) return
      this.#context.log.warn("Failed to update the static pods; will retry", { err })
      this.#later(this.#retryMs)
      this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS)
    }
  }

  /** Called once the API and the Node are available. Most nodes have no static pods, and nothing to mirror. */
  mirrorAll(): void {
    const { synced } = this.#context.informers.of(Pod)
    if (this.#pods.size > 0 || !synced || this.#mirrors().length > 0) this.#later(0)
  }

  /** Returns the mirror pods of this node. */
  #mirrors(): readonly Pod[] {
    const { informers, config } = this.#context
    return informers
      .of(Pod)
      .list()
      .filter((pod) => isMirrorPod(pod) && pod.spec.nodeName === config.nodeName)
  }

  /** Reads the folder, and has its pods run. Never rejects. @returns whether pods came or went */
  async #read(): Promise<boolean> {
    const found = await this.#find()
    const before = this.#pods
    this.#pods = found
    const gone = [...before.keys()].filter((uid) => !found.has(uid))
    const added = [...found.values()].filter((pod) => !before.has(pod.metadata.uid!))
    for (const uid of gone) this.#workers.remove(uid)
    for (const pod of added) this.#workers.add(pod)
    return gone.length + added.length > 0
  }

  /**
   * Returns the pods of all manifests by their uids. As upstream, it reads each file whose name does not begin with a
   * dot, so also `web.manifest` and the `web.yaml~` of an editor. Of pods with one name the first runs, in the order of
   * the files' names. Source: pkg/kubelet/config/file.go extractFromDir, config.go filterInvalidPods.
   */
  async #find(): Promise<Map<string, Pod>> {
    const { runtime, config, clock } = this.#context
    const found = new Map<string, Pod>()
    const names = new Map<string, string>()
    const problems = new Map<string, string>()
    for (const name of (await runtime.files.list(config.staticPods)).toSorted()) {
      if (name.startsWith(".")) continue
      const path = join(config.staticPods, name)
      try {
        const text = await this.#text(path)
        for (const pod of staticPodsIn({ path, text }, config.nodeName, formatTime(clock.now()))) {
          const uid = pod.metadata.uid!
          const key = keyFrom(pod.metadata)
          const first = names.get(key)
          if (first !== undefined) {
            this.#tell(problems, path, new Error(`the pod ${key} is in ${first} already`))
            continue
          }
          names.set(key, path)
          found.set(uid, this.#pods.get(uid) ?? pod)
        }
      } catch (err) {
        this.#tell(problems, path, err)
      }
    }
    this.#problems = problems
    return found
  }

  async #text(path: string): Promise<string> {
    const { files } = this.#context.runtime
    const size = (await files.size(path)) ?? 0
    if (size > MOST_BYTES) throw new Error(`has ${size} bytes; a manifest may have ${MOST_BYTES}`)
    return (await files.read(path)) ?? ""
  }

  /** Logs what is wrong with a file, unless the last read found the same. */
  #tell(problems: Map<string, string>, path: string, err: unknown): void {
    problems.set(path, errorMessage(err))
    if (this.#problems.get(path) !== errorMessage(err))
      this.#context.log.error("Failed to read the manifest of a static pod", { path, err })
  }

  /**
   * Creates missing mirror pods, and deletes those of removed pods and those whose deletion somebody has asked for.
   * Source: tryReconcileMirrorPods in pkg/kubelet/kubelet.go.
   */
  async #mirror(): Promise<void> {
    const { client, config, informers } = this.#context
    const nodeUid = this.#nodeUid()
    if (nodeUid === undefined) return
    const pods = informers.of(Pod)
    const failures: unknown[] = []
    const attempt = (change: Promise<unknown>) => change.catch((err: unknown) => void failures.push(err))
    for (const mirror of this.#mirrors()) {
      const { annotations, deletionTimestamp } = mirror.metadata
      if (deletionTimestamp === undefined && this.#pods.has(annotations![CONFIG_MIRROR]!)) continue
      const deletion = client.delete(Pod, mirror.metadata, {
        gracePeriodSeconds: 0,
        preconditions: { uid: mirror.metadata.uid! },
      })
      await attempt(
        deletion.catch((err: unknown) => {
          if (!isNotFound(err)) throw err
        }),
      )
    }
    for (const pod of this.#pods.values()) {
      // The name is taken by the mirror pod, or by an outdated one whose deletion leads here again.
      if (pods.get(keyFrom(pod.metadata)) !== undefined) continue
      const { uid, name, namespace, labels, annotations } = pod.metadata
      await attempt(
        client.create(Pod, {
          metadata: {
            ...(labels === undefined ? {} : { labels }),
            name,
            namespace,
            annotations: { ...annotations, [CONFIG_MIRROR]: uid! },
            ownerReferences: [
              { apiVersion: "v1", kind: "Node", name: config.nodeName, uid: nodeUid, controller: true },
            ],
          },
          spec: pod.spec,
        }),
      )
    }
    // One that is refused, as in a namespace that is missing, does not keep the others from the API.
    if (failures.length > 0) throw failures[0]
  }
}
