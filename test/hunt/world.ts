import {
  ConfigMap,
  ControllerRevision,
  CronJob,
  DaemonSet,
  Deployment,
  Endpoints,
  EndpointSlice,
  Job,
  Lease,
  LimitRange,
  Namespace,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  ReplicaSet,
  ReplicationController,
  ResourceQuota,
  Secret,
  Service,
  ServiceAccount,
  StatefulSet,
  type Cluster,
  type KubeObject,
  type Resource,
} from "../../components/cluster/testing/testing.ts"

/** A container that runs on a machine, whether or not the API knows it. */
export interface RunningContainer {
  readonly node: string
  readonly namespace: string
  readonly pod: string
  readonly uid: string
  readonly name: string
}

/** Everything that the invariants read. */
export interface World {
  readonly nodes: readonly Node[]
  readonly pods: readonly Pod[]
  readonly deployments: readonly Deployment[]
  readonly replicaSets: readonly ReplicaSet[]
  readonly replicationControllers: readonly ReplicationController[]
  readonly statefulSets: readonly StatefulSet[]
  readonly daemonSets: readonly DaemonSet[]
  readonly jobs: readonly Job[]
  readonly cronJobs: readonly CronJob[]
  readonly services: readonly Service[]
  readonly endpoints: readonly Endpoints[]
  readonly slices: readonly EndpointSlice[]
  readonly budgets: readonly PodDisruptionBudget[]
  readonly quotas: readonly ResourceQuota[]
  readonly claims: readonly PersistentVolumeClaim[]
  readonly volumes: readonly PersistentVolume[]
  readonly accounts: readonly ServiceAccount[]
  readonly secrets: readonly Secret[]
  readonly leases: readonly Lease[]
  readonly revisions: readonly ControllerRevision[]
  readonly maps: readonly ConfigMap[]
  readonly limits: readonly LimitRange[]
  readonly namespaces: readonly Namespace[]
  readonly containers: readonly RunningContainer[]
}

/** Reads the objects for the invariants, from a cluster in memory or from a server. */
export interface WorldReader {
  list<T extends KubeObject>(resource: Resource<T>): Promise<readonly T[]>
  containers(): Promise<readonly RunningContainer[]>
}

export const readerOf = (cluster: Cluster): WorldReader => ({
  list: (resource) => cluster.list(resource),
  containers: () => runningContainers(cluster),
})

export async function worldOf(cluster: WorldReader): Promise<World> {
  return {
    nodes: await cluster.list(Node),
    pods: await cluster.list(Pod),
    deployments: await cluster.list(Deployment),
    replicaSets: await cluster.list(ReplicaSet),
    replicationControllers: await cluster.list(ReplicationController),
    statefulSets: await cluster.list(StatefulSet),
    daemonSets: await cluster.list(DaemonSet),
    jobs: await cluster.list(Job),
    cronJobs: await cluster.list(CronJob),
    services: await cluster.list(Service),
    endpoints: await cluster.list(Endpoints),
    slices: await cluster.list(EndpointSlice),
    budgets: await cluster.list(PodDisruptionBudget),
    quotas: await cluster.list(ResourceQuota),
    claims: await cluster.list(PersistentVolumeClaim),
    volumes: await cluster.list(PersistentVolume),
    accounts: await cluster.list(ServiceAccount),
    secrets: await cluster.list(Secret),
    leases: await cluster.list(Lease),
    revisions: await cluster.list(ControllerRevision),
    maps: await cluster.list(ConfigMap),
    limits: await cluster.list(LimitRange),
    namespaces: await cluster.list(Namespace),
    containers: await cluster.containers(),
  }
}

/** Returns the containers on the machines that are switched on. */
export async function runningContainers(cluster: Cluster): Promise<readonly RunningContainer[]> {
  const running: RunningContainer[] = []
  for (const node of cluster.nodes) {
    const { containers, faults } = cluster.machine(node)
    if (faults.off) continue
    for (const { state, labels } of await containers.listContainers())
      if (state === "CONTAINER_RUNNING")
        running.push({
          node,
          namespace: labels["io.kubernetes.pod.namespace"] ?? "",
          pod: labels["io.kubernetes.pod.name"] ?? "",
          uid: labels["io.kubernetes.pod.uid"] ?? "",
          name: labels["io.kubernetes.container.name"] ?? "",
        })
  }
  return running
}

export const nameOf = ({ kind, metadata: { namespace, name } }: KubeObject): string =>
  `${kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`

export const ownedBy = (owner: KubeObject, object: KubeObject): boolean =>
  object.metadata.ownerReferences?.some(({ controller, uid }) => controller === true && uid === owner.metadata.uid) ===
  true
