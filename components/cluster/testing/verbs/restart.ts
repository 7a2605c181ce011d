import { DaemonSet } from "../../../../pkg/api/apps/v1/daemonset.ts"
import { Deployment } from "../../../../pkg/api/apps/v1/deployment.ts"
import { StatefulSet } from "../../../../pkg/api/apps/v1/statefulset.ts"
import type { KubeObject, Resource } from "../../../../pkg/apimachinery/resource.ts"
import { timestamp, type Clock } from "../../../../pkg/clock/clock.ts"
import { TestClusterError } from "../caller.ts"
import type { Reference } from "./selection.ts"
import type { TestClient } from "./test-client.ts"

/** The annotation that `kubectl rollout restart` sets, so that the pod template changes. */
const RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"

/** The kinds that roll out a changed pod template. */
const ROLLING: readonly Resource[] = [Deployment, DaemonSet, StatefulSet]

/** The fields of these kinds that are read here. */
interface Rolling {
  readonly spec?: {
    readonly paused?: boolean
    readonly template?: { readonly metadata?: { readonly annotations?: Readonly<Record<string, string>> } }
  }
}

/**
 * Replaces all pods of a workload. Source: kubectl pkg/polymorphichelpers/objectrestarter.go,
 * pkg/cmd/rollout/rollout_restart.go.
 */
export async function restart<T extends KubeObject>(
  resource: Resource<T>,
  ref: Reference,
  client: TestClient,
  clock: Clock,
): Promise<T> {
  if (!ROLLING.some(({ prefix }) => prefix === resource.prefix))
    throw new TestClusterError(
      `Cannot restart a ${resource.kind}: restarting is not supported. Restart a Deployment, DaemonSet or StatefulSet`,
    )
  const current = await client.get(resource, ref)
  // The object is of one of the kinds above.
  const { spec } = current as unknown as Rolling
  if (spec?.paused === true) throw new TestClusterError("Cannot restart a paused deployment: resume it first")
  const now = timestamp(clock)
  if (spec?.template?.metadata?.annotations?.[RESTARTED_AT] === now)
    throw new TestClusterError(
      `Cannot restart ${resource.kind} ${current.metadata.name} twice within one second: let time pass first`,
    )
  const body = { spec: { template: { metadata: { annotations: { [RESTARTED_AT]: now } } } } }
  return client.patch(resource, current, { type: "strategic", body }, { fieldManager: "kubectl-rollout" })
}
