import type { ClusterTrustBundle } from "../../../pkg/api/certificates/v1beta1/clustertrustbundle.ts"
import { isNotFound } from "../../../pkg/apimachinery/errors.ts"
import type { Informer } from "../../../pkg/client/informer.ts"
import { loaded } from "../../../pkg/clock/clock.ts"
import type { KubeletContext } from "../context.ts"
import type { ObjectUse, ObjectUser } from "./watched-objects.ts"

/**
 * The ClusterTrustBundles of the cluster, which a node follows as soon as one of its volumes has had a part of them.
 * Source: pkg/kubelet/clustertrustbundle, whose informer starts at the first request too.
 */
export class TrustBundles {
  readonly #context: Pick<KubeletContext, "clock" | "informers" | "client">
  #informer: Promise<Informer<ClusterTrustBundle>> | undefined

  constructor(context: Pick<KubeletContext, "clock" | "informers" | "client">) {
    this.#context = context
  }

  /** Begins the use of all bundles, which the user calls `about`. */
  use(user: ObjectUser, about: string): ObjectUse<readonly ClusterTrustBundle[]> {
    const changed = () => user.objectChanged(about, { exists: true, existed: true })
    let off: (() => void) | undefined
    let isOver = false
    return {
      about,
      read: async () => {
        const informer = await this.#started()
        if (!isOver) off ??= onChange(informer, changed)
        return informer.list()
      },
      release() {
        isOver = true
        off?.()
      },
    }
  }

  /** @throws Error when the cluster does not serve the kind */
  async #started(): Promise<Informer<ClusterTrustBundle>> {
    const starting = (this.#informer ??= this.#start())
    try {
      return await starting
    } catch (err) {
      if (this.#informer === starting) this.#informer = undefined
      throw isNotFound(err) ? new Error("ClusterTrustBundles are not served in this cluster", { cause: err }) : err
    }
  }

  async #start(): Promise<Informer<ClusterTrustBundle>> {
    const { ClusterTrustBundle } = await loaded(
      this.#context.clock,
      import("../../../pkg/api/certificates/v1beta1/clustertrustbundle.ts"),
    )
    // The informer of a kind that is not served would ask for it again and again.
    await this.#context.client.list(ClusterTrustBundle, { limit: 1 })
    const informer = this.#context.informers.of(ClusterTrustBundle)
    await informer.whenSynced()
    return informer
  }
}

/** Calls `changed` at each change from now on. Returns a function that ends this. */
function onChange(informer: Informer<ClusterTrustBundle>, changed: () => void): () => void {
  let isPresent = true
  const off = informer.on({ added: () => (isPresent ? undefined : changed()), updated: changed, deleted: changed })
  isPresent = false
  return off
}
