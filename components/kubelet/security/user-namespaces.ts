import { join } from "node:path"
import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { madeOnce } from "../../../pkg/cache/made-once.ts"
import type { UserNamespace } from "../../../pkg/cri/security.ts"
import type { InitOf } from "../../../pkg/protobuf/message.ts"
import type { KubeletContext } from "../context.ts"
import { podFolder } from "../model/pod-paths.ts"

export type UserNamespaceOptions = InitOf<typeof UserNamespace>

/** How many user and group ids each pod has. Source: DefaultKubeletUserNamespacesIDsPerPod. */
const IDS_PER_POD = 65_536
/** Ranges of ids of this host; the first one is the host's own. */
const RANGES = 2 ** 32 / IDS_PER_POD

/** The file in a pod's folder that keeps its range for later kubelets. */
const FILE = "userns"

/**
 * Gives each pod with `hostUsers: false` a range of the host's ids that no other pod has. Source:
 * pkg/kubelet/userns/userns_manager.go. Differs from upstream: the range of a host user `kubelet` is not asked for.
 */
export class UserNamespaces {
  readonly #context: Pick<KubeletContext, "runtime" | "config">
  /** The number of each pod's range, by the pod's uid. */
  readonly #ranges = new Map<string, number>()
  readonly #readAll = madeOnce(() => this.#read())

  constructor(context: Pick<KubeletContext, "runtime" | "config">) {
    this.#context = context
  }

  /**
   * Returns the ids of a pod; undefined for one that has those of the host.
   * @param handler the runtime's handler of the pod's RuntimeClass; `""` for the usual one
   * @throws Error where the runtime has no user namespaces: the pod must not run as the host's root instead
   */
  async of(pod: Pod, handler: string): Promise<UserNamespaceOptions | undefined> {
    if (pod.spec.hostUsers !== false) return undefined
    await this.#checkSupport(handler)
    await this.#readAll()
    const uid = pod.metadata.uid!
    const range = this.#ranges.get(uid) ?? (await this.#take(uid))
    const ids = [mappingOf(range)]
    return { mode: "POD", uids: ids, gids: ids }
  }

  /** Called when nothing of a pod is left. */
  release(uid: string): void {
    this.#ranges.delete(uid)
  }

  async #checkSupport(handler: string): Promise<void> {
    const { runtimeHandlers } = await this.#context.runtime.containers.status()
    const found = runtimeHandlers.find(({ name }) => name === handler)
    if (found?.features?.userNamespaces === true) return
    const whose =
      handler === ""
        ? "runtime does not support user namespaces"
        : `RuntimeClass handler ${JSON.stringify(handler)} does not support user namespaces`
    const unknown =
      found === undefined && runtimeHandlers.length > 0 ? `: the handler ${JSON.stringify(handler)} is not known` : ""
    throw new Error(`can't set \`spec.hostUsers: false\`, ${whose}${unknown}`)
  }

  async #take(uid: string): Promise<number> {
    const used = new Set(this.#ranges.values())
    let range = 1
    while (used.has(range)) range++
    if (range >= RANGES)
      throw new Error("create user namespace: could not find an empty slot to allocate a user namespace")
    this.#ranges.set(uid, range)
    const ids = [mappingOf(range)]
    try {
      await this.#context.runtime.files.write(
        this.#pathOf(uid),
        JSON.stringify({ uidMappings: ids, gidMappings: ids }),
        0o600,
      )
    } catch (err) {
      this.#ranges.delete(uid)
      throw err
    }
    return range
  }

  /** Reads the ranges of pods that an earlier kubelet has started. */
  async #read(): Promise<void> {
    const { runtime, config } = this.#context
    for (const uid of await runtime.files.list(join(config.root, "pods"))) {
      const text = await runtime.files.read(this.#pathOf(uid))
      if (text === undefined) continue
      const range = rangeIn(text)
      if (range !== undefined) this.#ranges.set(uid, range)
    }
  }

  #pathOf(uid: string): string {
    return join(podFolder(this.#context.config, uid), FILE)
  }
}

const mappingOf = (range: number) => ({ hostId: range * IDS_PER_POD, containerId: 0, length: IDS_PER_POD })

/** Returns the number of the range in a file; undefined for a damaged file, whose pod gets another range. */
function rangeIn(text: string): number | undefined {
  const first = Number(/"hostId":(\d+)/.exec(text)?.[1])
  return Number.isInteger(first / IDS_PER_POD) && first > 0 ? first / IDS_PER_POD : undefined
}
