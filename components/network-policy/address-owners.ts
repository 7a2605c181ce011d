/**
 * Which pod has which address. Addresses are used again as soon as a pod's sandbox is gone, while the API may still
 * show the pod that had them before: so what the kubelet says of a sandbox that it has just made holds against any
 * status, and of two statuses that of the younger pod. A pod that has lost an address does not get it back by a
 * status.
 */
export class AddressOwners {
  readonly #owners = new Map<string, Owner>()
  readonly #owned = new Map<string, readonly string[]>()
  /** Pods whose addresses the kubelet has said: their status is not asked any more. */
  readonly #claimed = new Set<string>()

  of(pod: string): readonly string[] {
    return this.#owned.get(pod) ?? []
  }

  /** The kubelet has made a sandbox with these addresses. @returns the pods that had one of them until now */
  claim(pod: string, addresses: readonly string[]): readonly string[] {
    this.#claimed.add(pod)
    return this.#set(pod, addresses, { pod, since: Infinity })
  }

  /**
   * A pod's status shows these addresses; `since` is when the pod was created, in milliseconds since the epoch.
   *
   * @returns the pods that had one of them until now
   */
  report(pod: string, addresses: readonly string[], since: number): readonly string[] {
    if (this.#claimed.has(pod)) return []
    const free = addresses.filter((address) => {
      const owner = this.#owners.get(address)
      return owner === undefined || owner.pod === pod || owner.since < since
    })
    return this.#set(pod, free, { pod, since })
  }

  /** The pod has ended, or is gone. */
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
