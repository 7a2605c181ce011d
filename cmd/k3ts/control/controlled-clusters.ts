import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { startCluster, type Cluster } from "../../../components/cluster/testing/cluster.ts"
import type { ClusterOptions } from "../../../components/cluster/testing/options/options.ts"
import { systemRandom } from "../../../pkg/clock/random.ts"
import { ControlChannel } from "./channel.ts"
import type { Driven } from "./routes.ts"

/** The name of the first cluster in URLs. */
const FIRST = "main"

/** The clusters that a control channel drives: the first one, and those that were forked from it. */
export class ControlledClusters {
  readonly token: string = Buffer.from(systemRandom.bytes(24)).toString("base64url")
  readonly #folder: string
  readonly #options: ClusterOptions
  readonly #clusters = new Map<string, Driven>()
  readonly #channel: ControlChannel
  #made = 0
  #snapshots = 0

  /** `options` are those of every cluster; kubeconfigs and snapshots are written below `folder`. */
  constructor(folder: string, options: ClusterOptions) {
    this.#folder = folder
    this.#options = options
    this.#channel = new ControlChannel(this.#clusters, this.token)
  }

  /** Starts to listen, with the first cluster. Returns its kubeconfig's path. */
  async start(cluster: Cluster): Promise<string> {
    await this.#channel.start()
    return this.#drive(FIRST, cluster)
  }

  /** The URL of the first cluster. */
  get url(): string {
    return this.#channel.urlOf(FIRST)
  }

  /** Ends all clusters. @throws what the first cluster that fails its last checks throws */
  async stop(): Promise<void> {
    this.#channel.stop()
    const ends = await Promise.allSettled([...this.#clusters.values()].map(({ end }) => end()))
    for (const end of ends) if (end.status === "rejected") throw end.reason
  }

  async #drive(name: string, cluster: Cluster): Promise<string> {
    const folder = join(this.#folder, name)
    mkdirSync(folder, { mode: 0o700 })
    const kubeconfig = join(folder, "kubeconfig.yaml")
    writeFileSync(kubeconfig, (await cluster.listen()).kubeconfig, { mode: 0o600 })
    const snapshot = async () => {
      const path = join(folder, `snapshot-${++this.#snapshots}`)
      writeFileSync(path, await cluster.snapshot(), { mode: 0o600 })
      return path
    }
    this.#clusters.set(name, {
      cluster,
      kubeconfig,
      faults: new Map(),
      snapshot,
      fork: async (from) => this.#fork(from ?? (await snapshot())),
      end: async () => {
        this.#clusters.delete(name)
        await cluster.stop()
      },
    })
    return kubeconfig
  }

  async #fork(snapshot: string): Promise<{ readonly url: string; readonly kubeconfig: string }> {
    const name = `fork-${++this.#made}`
    // Its nodes are those of the snapshot.
    const { nodes: _, ...options } = this.#options
    const kubeconfig = await this.#drive(name, await startCluster({ ...options, snapshot }))
    return { url: this.#channel.urlOf(name), kubeconfig }
  }
}
