import type { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { groupOf } from "../../../pkg/pods/pods-by-group.ts"

const NOBODY: ReadonlyMap<string, Pod> = new Map()

/**
 * The pods of each group that have not ended, whether they have a node or not. Source:
 * pkg/scheduler/backend/cache/podgroupstate.go.
 */
export class GroupMembers {
  /** Key of the group → UID → pod. */
  readonly #groups = new Map<string, Map<string, Pod>>()

  /** Returns the members of a group, by UID. */
  of(group: string): ReadonlyMap<string, Pod> {
    return this.#groups.get(group) ?? NOBODY
  }

  set(pod: Pod): void {
    const group = groupOf(pod)
    if (group === undefined) return
    const members = this.#groups.get(group)
    if (members === undefined) this.#groups.set(group, new Map([[pod.metadata.uid ?? "", pod]]))
    else members.set(pod.metadata.uid ?? "", pod)
  }

  delete(pod: Pod): void {
    const group = groupOf(pod)
    const members = group === undefined ? undefined : this.#groups.get(group)
    if (members === undefined) return
    members.delete(pod.metadata.uid ?? "")
    if (members.size === 0) this.#groups.delete(group!)
  }
}
