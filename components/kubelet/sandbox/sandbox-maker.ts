import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import type { PodSandboxConfig } from "../../../pkg/cri/sandbox.ts"
import { errorMessage } from "../../../pkg/errors/error-message.ts"
import type { KubeletContext } from "../context.ts"
import type { Resolver } from "./dns.ts"
import type { RuntimeCache } from "../pleg/runtime-cache.ts"
import type { PodIdentity } from "../model/pod-identity.ts"
import type { RuntimeSandbox } from "../model/runtime-pod.ts"
import { podCgroup, sandboxConfig } from "./sandbox-config.ts"
import type { Slots } from "../model/slots.ts"
import type { UserNamespaces } from "../security/user-namespaces.ts"

export interface SandboxParts {
  readonly context: KubeletContext
  readonly cache: RuntimeCache
  /** How many sandboxes are made at a time. */
  readonly starting: Slots
  hostResolver(): Promise<Resolver>
  /** The handler of a RuntimeClass. @throws Error when there is none of that name */
  runtimeHandler(runtimeClass: string): Promise<string>
  readonly userNamespaces: Pick<UserNamespaces, "of">
}

/** A sandbox, and the configuration with which its containers are created too. */
export interface MadeSandbox {
  readonly sandbox: RuntimeSandbox
  readonly config: PodSandboxConfig
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
   * Returns the configuration of the pod's sandbox number `attempt`. It is made again for containers that start later,
   * as by upstream: it would take half a kilobyte of each pod at rest.
   */
  async config(pod: Pod, attempt: number): Promise<PodSandboxConfig> {
    // The RuntimeClass may have been deleted since the pod started, which only a user namespace must know.
    return this.#config(pod, attempt, pod.spec.hostUsers === false ? await this.#handler(pod) : "")
  }

  async #handler({ spec: { runtimeClassName } }: Pod): Promise<string> {
    return runtimeClassName ? this.#parts.runtimeHandler(runtimeClassName) : ""
  }

  async #config(pod: Pod, attempt: number, handler: string): Promise<PodSandboxConfig> {
    const { context, hostResolver, userNamespaces } = this.#parts
    return sandboxConfig({
      pod,
      attempt,
      config: context.config,
      hostResolver: await hostResolver(),
      nodeHostname: context.runtime.machine.hostname,
      cgroupParent: context.runtime.cgroups.parentName(podCgroup(pod)),
      users: await userNamespaces.of(pod, handler),
    })
  }

  /** Returns undefined when the sandbox could not be created, which an event tells. */
  async create(pod: Pod, attempt: number, signal: AbortSignal): Promise<MadeSandbox | undefined> {
    const { context, cache, starting } = this.#parts
    context.metrics.containers.startsPod()
    try {
      const handler = await this.#handler(pod)
      const config = await this.#config(pod, attempt, handler)
      await context.runtime.files.makeFolder(config.logDirectory!)
      const id = await starting.run(async () => {
        signal.throwIfAborted()
        return context.runtime.containers.runPodSandbox(config, handler)
      })
      const sandbox = await cache.refreshSandbox(id, this.#identity)
      return sandbox === undefined ? undefined : { sandbox, config }
    } catch (err) {
      signal.throwIfAborted()
      const why = errorMessage(err)
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
