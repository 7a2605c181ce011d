import { fromLabelSelector } from "../../../apimachinery/selectors/labels.ts"
import type { ControllerRevision } from "../../../api/apps/v1/controllerrevision.ts"
import type { DaemonSet } from "../../../api/apps/v1/daemonset.ts"
import type { Deployment } from "../../../api/apps/v1/deployment.ts"
import type { ReplicaSet } from "../../../api/apps/v1/replicaset.ts"
import type { StatefulSet } from "../../../api/apps/v1/statefulset.ts"
import type { PodTemplateSpec } from "../../../api/core/v1/podtemplate/podtemplatespec.ts"
import { errorMessage } from "../../../errors/error-message.ts"
import type { DescribeClient, ObjectList } from "../../describe/describe-client.ts"
import { replicaSetsOf } from "../../describe/replica-sets.ts"

/** The revisions of workloads. Source: kubectl pkg/polymorphichelpers/history.go. */

const of = (resource: string) => ({ group: "apps", version: "v1", resource })
const REVISION = "deployment.kubernetes.io/revision"

/** Where a workload is. */
export interface Place {
  readonly namespace: string
  readonly name: string
}

export interface DeploymentRevisions {
  readonly deployment: Deployment
  /** Those that have a revision, the old ones first. */
  readonly replicaSets: readonly { readonly revision: number; readonly replicaSet: ReplicaSet }[]
}

export async function deploymentRevisions(
  client: DescribeClient,
  { namespace, name }: Place,
  as: "deployment" | "Deployment",
): Promise<DeploymentRevisions> {
  const deployment = await client.get<Deployment>(of("deployments"), namespace, name).catch((err: unknown) => {
    throw new Error(`failed to retrieve ${as} ${name}: ${errorMessage(err)}`, { cause: err })
  })
  const { old, newest } = await replicaSetsOf({ client, chunkSize: 0 }, deployment).catch((err: unknown) => {
    throw new Error(`failed to retrieve replica sets from deployment ${name}: ${errorMessage(err)}`, { cause: err })
  })
  const replicaSets = [...old, ...newest].flatMap((replicaSet) => {
    const text = replicaSet.metadata.annotations?.[REVISION] ?? "0"
    return /^[+-]?\d+$/.test(text) ? [{ revision: Number(text), replicaSet }] : []
  })
  return { deployment, replicaSets }
}

/** A workload whose history is in ControllerRevisions. */
export type Controlled = DaemonSet | StatefulSet

export interface ControllerRevisions {
  readonly controlled: Controlled
  readonly revisions: readonly ControllerRevision[]
}

export async function controllerRevisions(
  client: DescribeClient,
  kind: "DaemonSet" | "StatefulSet",
  { namespace, name }: Place,
): Promise<ControllerRevisions> {
  // Upstream's words have another S in each place.
  const word = kind === "DaemonSet" ? kind : "Statefulset"
  const resource = kind === "DaemonSet" ? "daemonsets" : "statefulsets"
  const controlled = await client.get<Controlled>(of(resource), namespace, name).catch((err: unknown) => {
    throw new Error(`failed to retrieve ${word} ${name}: ${errorMessage(err)}`, { cause: err })
  })
  const labelSelector = fromLabelSelector(controlled.spec.selector).toString()
  const list: ObjectList<ControllerRevision> = await client
    .list<ControllerRevision>(
      of("controllerrevisions"),
      controlled.metadata.namespace ?? "",
      labelSelector === "" ? {} : { labelSelector },
    )
    .catch((err: unknown) => {
      throw new Error(`unable to find history controlled by ${kind} ${name}: ${errorMessage(err)}`, { cause: err })
    })
  const revisions = list.items.filter(({ metadata: { ownerReferences = [] } }) =>
    ownerReferences.some(({ controller, uid }) => controller === true && uid === controlled.metadata.uid),
  )
  return { controlled, revisions }
}

/** Returns the pod template that a revision has kept. */
export function templateOf({ data }: ControllerRevision): PodTemplateSpec {
  const { spec } = data as unknown as { readonly spec: { readonly template: PodTemplateSpec & { $patch?: string } } }
  const { $patch: _, ...template } = spec.template
  return template as PodTemplateSpec
}
