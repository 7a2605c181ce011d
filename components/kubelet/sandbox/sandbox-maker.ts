import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodSandboxConfig } from "../../../pkg/cri/sandbox.ts"
import type { KubeletContext } from "../context.ts"
import type { Resolver } from "./dns.ts"
import type { RuntimeCache } from "../pod/runtime-cache.ts"
import type { PodIdentity } from "../pod/pod-identity.ts"
import type { RuntimeSandbox } from "../pod/runtime-pod.ts"
import { podCgroup, sandboxConfig } from "./sandbox-config.ts"
import type { Slots } from "../pod/slots.ts"

export interface SandboxParts {
  readonly context: KubeletContext
  readonly cache: RuntimeCache
  /** How many sandboxes are made at a time. */
  readonly starting: Slots
  hostResolver(): Promise<Resolver>
  /** The handler of a RuntimeClass. @throws Error when there is none of that name */
  runtimeHandler(runtimeClass: string): Promise<string>
}

/** Makes the sandboxes of one pod. */
export class SandboxMaker {
  readonly #parts: SandboxParts
  readonly #identity: PodIdentity

  constructor(parts: SandboxParts, identity: PodIdentity) {
    this.#parts = parts
    this.#identity = identity
  }

  /**
   * The configuration of the pod's sandbox number `attempt`, with which its containers are created too. It is made again
   * for containers that start later, as by upstream: it would take half a kilobyte of each pod at rest.
   */
  async config(pod: Pod, attempt: number): Promise<PodSandboxConfig> {
    const { context, hostResolver } = this.#parts
    return sandboxConfig({
      pod,
      attempt,
      config: context.config,
      hostResolver: await hostResolver(),
      nodeHostname: context.runtime.machine.hostname,
      cgroupParent: context.runtime.cgroups.parentName(podCgroup(pod)),
    })
  }

  /** Undefined when it could not be made, which an event tells. */
  async create(pod: Pod, config: PodSandboxConfig, signal: AbortSignal): Promise<RuntimeSandbox | undefined> {
    const { context, cache, starting } = this.#parts
    context.metrics.containers.startsPod()
    try {
      const { runtimeClassName } = pod.spec
      const handler = runtimeClassName ? await this.#parts.runtimeHandler(runtimeClassName) : ""
      await context.runtime.files.makeFolder(config.logDirectory!)
      const id = await starting.run(async () => {
        signal.throwIfAborted()
        return context.runtime.containers.runPodSandbox(config, handler)
      })
      return await cache.refreshSandbox(id, this.#identity)
    } catch (err) {
      signal.throwIfAborted()
      const why = err instanceof Error ? err.message : String(err)
      context.events.event(pod, "Warning", "FailedCreatePodSandBox", `Failed to create pod sandbox: ${why}`)
      context.log.warn("Failed to create a sandbox", {
        pod: `${pod.metadata.namespace ?? ""}/${pod.metadata.name ?? ""}`,
        err,
      })
      // One that an earlier kubelet began may be there by now, and hold the name.
      await cache.relist().catch((failure: unknown) => context.log.debug("Failed to list sandboxes", { err: failure }))
      return undefined
    }
  }
}
