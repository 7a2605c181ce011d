import type { KubeObject } from "../../apimachinery/resource.ts"
import { nameOf, type Mend } from "../answer.ts"
import type { Ward } from "../doctor.ts"
import { CLAIMS, PODS, refOf } from "../reading/kinds.ts"
import { command, type Command } from "../command.ts"
import { CLEANUP, cleanupSays } from "./definition-objects.ts"

/** Who should remove a finalizer, and what it waits for. */
export interface FinalizerOwner {
  readonly says: string
  readonly hints: readonly string[]
  readonly mends: readonly Mend[]
  /** Whether the one who removes the finalizer is a part of the cluster, which is at work. */
  readonly works: boolean
}

export async function finalizerOwner(name: string, object: KubeObject, ward: Ward): Promise<FinalizerOwner> {
  const { metadata } = object
  const { namespace = "" } = metadata
  switch (name) {
    case "kubernetes.io/pvc-protection": {
      const pods = (await ward.reader.list(PODS, metadata.namespace)).filter(
        ({ spec, status }) =>
          spec.volumes?.some(({ persistentVolumeClaim: claim }) => claim?.claimName === metadata.name) === true &&
          !["Succeeded", "Failed"].includes(status.phase ?? ""),
      )
      const names = pods.map((pod) => pod.metadata.name ?? "")
      return {
        says:
          names.length === 0
            ? "no pod uses it, so it will be removed"
            : `${podsIn(names)} still ${names.length === 1 ? "uses" : "use"} it`,
        hints: names.map(
          (pod) =>
            `${command`kubectl delete pod ${pod} -n ${namespace}`} ends the pod; then the claim goes, with its data`,
        ),
        mends: [],
        works: names.length === 0,
      }
    }
    case "kubernetes.io/pv-protection": {
      const claims = await ward.reader.list(CLAIMS)
      const bound = claims.find(({ spec }) => spec.volumeName === metadata.name)
      return {
        says:
          bound === undefined
            ? "no claim is bound to it, so it will be removed"
            : `it is bound to ${nameOf(refOf(bound))}`,
        hints: bound === undefined ? [] : ["the volume goes when its claim is deleted"],
        mends: [],
        works: bound === undefined,
      }
    }
    case "foregroundDeletion":
      return {
        says: "it waits for the objects that it owns, which are deleted first",
        hints: ["look at the objects that it owns: one of them is held"],
        mends: [],
        works: true,
      }
    case CLEANUP:
      return { says: await cleanupSays(object, ward), hints: [], mends: [], works: true }
    case "batch.kubernetes.io/job-tracking":
      return {
        says: "the Job controller removes it when it has counted the pod",
        hints: ["if it stays, see whether the controller-manager runs"],
        mends: [],
        works: true,
      }
    case "service.kubernetes.io/load-balancer-cleanup":
      return {
        says: "the controller of load balancers removes it when it has given the load balancer back",
        hints: [
          "see whether that controller (of the cloud, or of loadBalancerClass) runs, and what it logs",
          `if it is gone for good: ${removal(object, name)} (the load balancer stays, and costs)`,
        ],
        mends: [],
        works: false,
      }
    case "orphan":
      return { says: "the garbage collector removes it", hints: [], mends: [], works: true }
    default:
      return {
        says: `only the controller that set it removes it${name.includes("/") ? `, that of ${name.split("/")[0]!}` : ""}`,
        hints: [
          "see whether that controller runs, and what it logs",
          `if it is gone for good: ${removal(object, name)} (what it would have cleaned up stays)`,
        ],
        mends: [],
        works: false,
      }
  }
}

const podsIn = (names: readonly string[]): string =>
  names.length === 1 ? `pod ${names[0]!}` : `pods ${names.join(", ")}`

/** The command that takes a finalizer away by hand. */
function removal(object: KubeObject, name: string): Command {
  const { metadata, kind } = object
  const rest = (metadata.finalizers ?? []).filter((one) => one !== name)
  const where = metadata.namespace === undefined ? [] : command` -n ${metadata.namespace}`
  const patch = JSON.stringify({ metadata: { finalizers: rest.length === 0 ? null : rest } })
  return command`kubectl patch ${kind.toLowerCase()} ${metadata.name ?? ""}${where} --type=merge -p ${patch}`
}
