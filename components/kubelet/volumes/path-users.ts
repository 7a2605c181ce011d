/** Which pods of the node use a path of it as a local volume. Several may, if they use the same claim. */
export class PathUsers {
  readonly #users = new Map<string, Set<string>>()

  /** Notes that a pod uses the path. Returns whether another pod does so already. */
  add(path: string, podUid: string): boolean {
    const users = this.#users.get(path) ?? new Set()
    this.#users.set(path, users)
    users.add(podUid)
    return users.size > 1
  }

  /** Forgets a pod that uses no path any more. */
  delete(podUid: string): void {
    for (const [path, users] of this.#users) if (users.delete(podUid) && users.size === 0) this.#users.delete(path)
  }
}
