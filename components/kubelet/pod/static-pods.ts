import { join } from "node:path"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import { formatTime } from "../../../pkg/apimachinery/scalars/time.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { keyFrom } from "../../../pkg/client/informer.ts"
import type { Timer } from "../../../pkg/clock/clock.ts"
import type { KubeletContext } from "../context.ts"
import { CONFIG_MIRROR, isMirrorPod } from "../model/labels.ts"
import type { PodWorkers } from "./pod-workers.ts"
import { staticPodsIn } from "./static-manifest.ts"

/** The folder is read when it has been unchanged for this time, because editors write a file in several steps. */
const QUIET_MS = 100
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
  #stopped = false
  #retryMs = FIRST_RETRY_MS
  /** Reads of the folder run one after the other, so that an older read cannot come last. */
  #syncing: Promise<void> = Promise.resolve()

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
    // A deleted mirror pod is created again.
    this.#off.push(
      informers.of(Pod).on({
        deleted: (pod) => {
          if (isMirrorPod(pod) && pod.spec.nodeName === config.nodeName) this.#later(0)
        },
      }),
    )
  }

  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
    for (const off of this.#off) off()
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

  async #read(): Promise<void> {
    const {
      runtime: { files },
      config,
      log,
      clock,
    } = this.#context
    const found = new Map<string, Pod>()
    for (const name of (await files.list(config.staticPods)).toSorted()) {
      if (name.startsWith(".") || !/\.(ya?ml|json)$/.test(name)) continue
      const path = join(config.staticPods, name)
      try {
        const text = (await files.read(path)) ?? ""
        for (const pod of staticPodsIn({ path, text }, config.nodeName, formatTime(clock.now())))
          found.set(pod.metadata.uid!, this.#pods.get(pod.metadata.uid!) ?? pod)
      } catch (err) {
        log.error("Failed to read the manifest of a static pod", { path, err })
      }
    }
    const before = this.#pods
    this.#pods = found
    for (const uid of before.keys()) if (!found.has(uid)) this.#workers.remove(uid)
    for (const [uid, pod] of found) if (!before.has(uid)) this.#workers.add(pod)
  }

  /** Creates missing mirror pods, and deletes those of removed pods. */
  async #mirror(): Promise<void> {
    const { client, config, informers } = this.#context
    const nodeUid = this.#nodeUid()
    if (nodeUid === undefined) return
    const pods = informers.of(Pod)
    for (const mirror of this.#mirrors()) {
      if (this.#pods.has(mirror.metadata.annotations![CONFIG_MIRROR]!)) continue
      await client
        .delete(Pod, mirror.metadata, { gracePeriodSeconds: 0, preconditions: { uid: mirror.metadata.uid! } })
        .catch((err: unknown) => {
          if (!isNotFound(err)) throw err
        })
    }
    for (const pod of this.#pods.values()) {
      // The name is taken by the mirror pod, or by an outdated one whose deletion leads here again.
      if (pods.get(keyFrom(pod.metadata)) !== undefined) continue
      const { uid, name, namespace, labels, annotations } = pod.metadata
      await client.create(Pod, {
        metadata: {
          ...(labels === undefined ? {} : { labels }),
          name,
          namespace,
          annotations: { ...annotations, [CONFIG_MIRROR]: uid! },
          ownerReferences: [{ apiVersion: "v1", kind: "Node", name: config.nodeName, uid: nodeUid, controller: true }],
        },
        spec: pod.spec,
      })
    }
  }
}
