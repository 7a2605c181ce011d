/**
 * Records which pod has which address. An address is reused as soon as a pod's sandbox is gone, while the API may still
 * show the previous pod with it. So the kubelet's report about a new sandbox has precedence over any status, and of two
 * statuses that of the younger pod. A pod that has lost an address does not get it back by its status.
 */
export class AddressOwners {
  readonly #owners = new Map<string, Owner>()
  readonly #owned = new Map<string, readonly string[]>()
  /** Pods whose addresses the kubelet has reported; their status is ignored. */
  readonly #claimed = new Set<string>()

  of(pod: string): readonly string[] {
    return this.#owned.get(pod) ?? []
  }

  /**
   * Called when the kubelet has created a sandbox with these addresses. @returns the pods that had one of them before
   */
  claim(pod: string, addresses: readonly string[]): readonly string[] {
    this.#claimed.add(pod)
    return this.#set(pod, addresses, { pod, since: Infinity })
  }

  /**
   * Called when a pod's status shows these addresses; `since` is when the pod was created, in milliseconds since the
   * epoch.
   * @returns the pods that had one of them before
   */
  report(pod: string, addresses: readonly string[], since: number): readonly string[] {
    if (this.#claimed.has(pod)) return []
    const free = addresses.filter((address) => {
      const owner = this.#owners.get(address)
      return owner === undefined || owner.pod === pod || owner.since < since
    })
    return this.#set(pod, free, { pod, since })
  }

  /** Called when the pod has ended, or was deleted. */
  release(pod: string): void {
    this.#claimed.delete(pod)
    for (const address of this.of(pod)) this.#owners.delete(address)
    this.#owned.delete(pod)
  }

  #set(pod: string, addresses: readonly string[], owner: Owner): readonly string[] {
    for (const address of this.of(pod)) this.#owners.delete(address)
    const losers = new Set<string>()
    for (const address of addresses) {
      const loser = this.#owners.get(address)
      if (loser !== undefined) {
        losers.add(loser.pod)
        this.#owned.set(
          loser.pod,
          this.of(loser.pod).filter((one) => one !== address),
        )
      }
      this.#owners.set(address, owner)
    }
    this.#owned.set(pod, addresses)
    return [...losers]
  }
}

interface Owner {
  readonly pod: string
  readonly since: number
}
