import { mkdirSync } from "node:fs"
import type { Component } from "../../../pkg/component/component.ts"
import { Containerd } from "../../containerd/containerd.ts"
import { findCniBinDir } from "../../containerd/host.ts"
import { installPlugins } from "../../containerd/network/plugin/install-plugins.ts"
import { containerdPaths } from "../../containerd/paths.ts"
import { linkUsualSockets } from "../../containerd/usual-sockets.ts"
import type { Registries } from "../../containerd/registries/registries.ts"
import { RegistryHosts } from "../../containerd/registries/registry-hosts.ts"
import type { Tools } from "../clients.ts"

/** What the containerd of a node must know. */
export interface NodeContainerdConfig {
  readonly dataDir: string
  readonly pauseImage?: string
  /** Settings of image registries. */
  readonly registries?: Registries
  /** Whether pods are held to their own addresses. */
  readonly sourceGuard: boolean
}

/** Returns the containerd of this node, with our CNI plugins in place. */
export function nodeContainerd(
  { clock, random, log, tracing }: Tools,
  { dataDir, pauseImage, registries, sourceGuard }: NodeContainerdConfig,
): Containerd {
  const paths = containerdPaths(dataDir)
  mkdirSync(paths.cniConfig, { recursive: true })
  installPlugins(paths, findCniBinDir())
  const containerd = new Containerd({
    paths,
    clock,
    log,
    tracing,
    guardsSources: sourceGuard,
    registries: new RegistryHosts({ folder: paths.registries, registries, random, log }),
    ...(pauseImage === undefined ? {} : { pauseImage }),
  })
  containerd.onState((state) => {
    if (state !== "ready") return
    try {
      linkUsualSockets(paths)
    } catch (err) {
      log.warn("Failed to link the socket of containerd where others look for it", { err })
    }
  })
  return containerd
}

/** A containerd that starts while the machine joins, before the other components of the node are known. */
export class EarlyContainerd {
  readonly containerd: Containerd
  readonly guardsSources: boolean
  readonly #started: Promise<void>

  constructor(tools: Tools, config: NodeContainerdConfig, signal: AbortSignal) {
    this.containerd = nodeContainerd(tools, config)
    this.guardsSources = config.sourceGuard
    this.#started = this.containerd.start(signal)
    this.#started.catch(() => undefined) // told by the start of the component
  }

  /** Its component, whose start waits for the start that is under way. */
  get component(): Component {
    return {
      name: this.containerd.name,
      problem: () => this.containerd.problem(),
      start: () => this.#started,
      stop: () => this.containerd.stop(),
    }
  }
}
