import { unlessAborted } from "../../../../../pkg/flow/unless-aborted.ts"
import { added } from "../faults.ts"

/** What a simulated CSI driver does. Times are in milliseconds of the cluster's clock. */
export interface SimulatedDriverSpec {
  readonly name: string
  readonly provisionMs: number
  readonly attachMs: number
  readonly detachMs: number
  readonly mountMs: number
  /** Whether its volumes are attached to nodes. */
  readonly attachRequired: boolean
  /** How many of its volumes a node can have; undefined for no limit. */
  readonly mostVolumes: number | undefined
}

/** Where a driver fails: on one node, or on all. */
interface Failure {
  readonly node: string | undefined
  readonly message: string
}

interface Hang {
  readonly node: string | undefined
  readonly over: PromiseWithResolvers<void>
}

/** A CSI driver with its disks, which all nodes of a simulated cluster reach. */
export class SimulatedDriver {
  readonly spec: SimulatedDriverSpec
  /** The nodes that have a disk, by its handle. */
  readonly #attached = new Map<string, Set<string>>()
  readonly #attachFailures: Failure[] = []
  readonly #mountFailures: Failure[] = []
  readonly #hangs: Hang[] = []

  constructor(spec: SimulatedDriverSpec) {
    this.spec = spec
  }

  /** Returns the nodes that have a disk. */
  nodesWith(handle: string): readonly string[] {
    return [...(this.#attached.get(handle) ?? [])]
  }

  /** Attaches a disk to a node. @throws Error in gRPC's words, as while a disk for one node is attached to another */
  attach(handle: string, node: string, { isShared }: { readonly isShared: boolean }): void {
    fail(this.#attachFailures, node)
    const there = this.#attached.get(handle) ?? new Set()
    const other = [...there].find((name) => name !== node)
    if (other !== undefined && !isShared)
      throw rpcError("FailedPrecondition", `volume ${handle} is attached to node ${other}`)
    this.#attached.set(handle, there.add(node))
  }

  detach(handle: string, node: string): void {
    const there = this.#attached.get(handle)
    there?.delete(node)
    if (there?.size === 0) this.#attached.delete(handle)
  }

  /** Mounts a disk on a node. @throws Error in gRPC's words */
  async mount(handle: string, node: string, signal: AbortSignal): Promise<void> {
    for (;;) {
      const hang = this.#hangs.find((one) => concerns(one, node))
      if (hang === undefined) break
      await unlessAborted(hang.over.promise, signal)
    }
    fail(this.#mountFailures, node)
    if (this.spec.attachRequired && this.#attached.get(handle)?.has(node) !== true)
      throw rpcError("NotFound", `volume ${handle} is not attached to node ${node}`)
  }

  /** Makes attaching fail; returns a function that ends this. */
  failAttaching(node: string | undefined, message: string): () => void {
    return added(this.#attachFailures, { node, message })
  }

  /** Makes mounting fail; returns a function that ends this. */
  failMounting(node: string | undefined, message: string): () => void {
    return added(this.#mountFailures, { node, message })
  }

  /** Lets mounting wait; returns a function that ends this. */
  hangMounting(node: string | undefined): () => void {
    const hang = { node, over: Promise.withResolvers<void>() }
    const remove = added(this.#hangs, hang)
    return () => {
      remove()
      hang.over.resolve()
    }
  }
}

export const rpcError = (code: string, message: string): Error =>
  new Error(`rpc error: code = ${code} desc = ${message}`)

const concerns = (failure: { readonly node: string | undefined }, node: string): boolean =>
  failure.node === undefined || failure.node === node

function fail(failures: readonly Failure[], node: string): void {
  const found = failures.find((failure) => concerns(failure, node))
  if (found !== undefined) throw rpcError("Internal", found.message)
}
