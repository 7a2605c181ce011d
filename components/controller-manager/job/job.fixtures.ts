import { Job } from "../../../pkg/api/batch/v1/job.ts"
import { Pod } from "../../../pkg/api/core/v1/pod/pod.ts"
import { startCluster, type Cluster, type ContainerHandle, type ImageBehaviour } from "../../cluster/testing/testing.ts"

export const START = Date.parse("2026-01-01T00:00:00Z")
/** Exit code of a program that SIGTERM ended. */
export const STOPPED = 143
export const NAME = { name: "work", namespace: "default" }

export const job = (spec: object, pod: object = {}) => ({
  metadata: NAME,
  spec: {
    ...spec,
    template: { spec: { restartPolicy: "Never" as const, containers: [{ name: "main", image: "work" }], ...pod } },
  },
})

/** A node with room for many pods, which do as `work` says; without it they run until they are stopped. */
export const start = (work: ImageBehaviour = {}) =>
  startCluster({ nodes: [{ capacity: { pods: 2000, cpu: 1000, memory: "1000Gi" } }], images: { work } })
/**
 * Each pod as `endingOf` says: how long it runs and its exit code (0 unless given). One without runs until it is
 * stopped.
 */
export const ending = (
  endingOf: (container: ContainerHandle) => readonly [runsMs: number, exitCode?: number] | undefined,
): ImageBehaviour => ({
  async run(container) {
    const [runsMs, exitCode = 0] = endingOf(container) ?? []
    if (runsMs === undefined) await new Promise((resolve) => container.stopping.addEventListener("abort", resolve))
    else await container.sleep(runsMs)
    return runsMs === undefined ? STOPPED : exitCode
  },
})
export const completionIndex = ({ env }: ContainerHandle): number => Number(env["JOB_COMPLETION_INDEX"])

export const pods = (cluster: Cluster): Promise<readonly Pod[]> => cluster.list(Pod)
/** When pods were created, in seconds since the start, of all there ever were, with what `more` says of each. */
export const created = <T>(cluster: Cluster, more: (pod: Pod) => T) =>
  cluster
    .history({ kind: "Pod" })
    .flatMap(({ type, object, time }) =>
      type === "create" ? [[(Date.parse(time) - START) / 1000, more(object as Pod)] as const] : [],
    )
export const active = async (cluster: Cluster): Promise<readonly Pod[]> =>
  (await pods(cluster)).filter(
    ({ status, metadata }) => status.phase === "Running" && metadata.deletionTimestamp === undefined,
  )
export const read = (cluster: Cluster): Promise<Job> => cluster.get(Job, NAME)
export const conditions = ({ status }: Job): readonly (readonly (string | undefined)[])[] =>
  (status.conditions ?? []).map(({ type, status: value, reason }) => [type, value, reason])
