/**
 * A scheduler plugin: pods of one gang are bound together or not at all. Each says in its annotations how many there
 * are. A pod that has its node waits in `permit` until the others have theirs, and gives the node back after a minute.
 */
import { definePlugin, type Pod } from "k3ts/scheduler"

const GANG = "example.com/gang"
const SIZE = "example.com/gang-size"

interface Waiting {
  readonly members: Map<string, () => void>
  readonly size: number
}
const gangs = new Map<string, Waiting>()

const gangOf = ({ metadata }: Pod): string => `${metadata.namespace}/${metadata.labels?.[GANG]}`
const sizeOf = ({ metadata }: Pod): number => Number(metadata.annotations?.[SIZE] ?? 1)
const isIn = (pod: Pod): boolean => pod.metadata.labels?.[GANG] !== undefined

export default definePlugin({
  name: "Gangs",
  deadlines: { permit: "1m" },
  reserve(pod) {
    if (!isIn(pod)) return
    const gang = gangs.get(gangOf(pod)) ?? { members: new Map<string, () => void>(), size: sizeOf(pod) }
    gangs.set(gangOf(pod), gang)
  },
  unreserve(pod) {
    const gang = gangs.get(gangOf(pod))
    gang?.members.delete(pod.metadata.uid ?? "")
    if (gang?.members.size === 0) gangs.delete(gangOf(pod))
  },
  async permit(pod, _node, { nodes }) {
    const gang = gangs.get(gangOf(pod))
    if (gang === undefined) return
    const { promise, resolve } = Promise.withResolvers<void>()
    gang.members.set(pod.metadata.uid ?? "", resolve)
    // Members that are bound already are on their nodes.
    const bound = nodes
      .flatMap(({ pods }) => pods)
      .filter((other) => isIn(other) && gangOf(other) === gangOf(pod) && other.spec.nodeName !== undefined)
    if (gang.members.size + bound.length >= gang.size) for (const release of gang.members.values()) release()
    await promise
  },
  postBind(pod) {
    const gang = gangs.get(gangOf(pod))
    gang?.members.delete(pod.metadata.uid ?? "")
    if (gang?.members.size === 0) gangs.delete(gangOf(pod))
  },
})
